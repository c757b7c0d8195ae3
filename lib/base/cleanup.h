#ifndef CPROF_BASE_CLEANUP_H
#define CPROF_BASE_CLEANUP_H

/* Local variables that own something: the attribute frees it at every exit from the scope. */

#include <dirent.h>
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

static inline void cleanup_closedir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Calls function(&variable). */
#define CLEANUP(function) __attribute__((cleanup(function)))

#define CLEANUP_FREE CLEANUP(cleanup_free)
#define CLEANUP_CLOSE CLEANUP(cleanup_close)
#define CLEANUP_FCLOSE CLEANUP(cleanup_fclose)
#define CLEANUP_CLOSEDIR CLEANUP(cleanup_closedir)

/* From a function that frees a T *, which may be NULL, defines one for pointers to it:
 * CLEANUP_DEFINE(struct rows, rows_free)     CLEANUP(rows_freep) struct rows *rows = NULL; */
#define CLEANUP_DEFINE(T, free_function) \
	static inline void free_function##p(T **p) \
	{ \
		free_function(*p); \
	}

/* Passes ownership of a pointer or descriptor on, so the local has nothing left to free. */
#define TAKE_PTR(p) ({ __typeof__(p) take_ = (p); (p) = NULL; take_; })
#define TAKE_FD(fd) ({ int take_ = (fd); (fd) = -1; take_; })

#endif
