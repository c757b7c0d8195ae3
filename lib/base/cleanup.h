#ifndef CPROF_BASE_CLEANUP_H
#define CPROF_BASE_CLEANUP_H

/* Local variables that own something: the attribute frees it at every exit from the scope. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define CLEANUP_FREE __attribute__((cleanup(cleanup_free)))
#define CLEANUP_CLOSE __attribute__((cleanup(cleanup_close)))
#define CLEANUP_FCLOSE __attribute__((cleanup(cleanup_fclose)))

/* Passes ownership of a pointer or descriptor on, so the local has nothing left to free. */
#define TAKE_PTR(p) ({ __typeof__(p) take_ = (p); (p) = NULL; take_; })
#define TAKE_FD(fd) ({ int take_ = (fd); (fd) = -1; take_; })

#endif
