#ifndef CPROF_SYMBOLIZE_ELF_SYMDEBUG_H
#define CPROF_SYMBOLIZE_ELF_SYMDEBUG_H

/*
 * Where a stripped file's debug information is kept: by build id, or by the name and CRC in
 * .gnu_debuglink, as gdb searches ("Debugging Information in Separate Files"), below a host's
 * root folder, and before that below the one of the process, if it had its own.  A candidate must
 * be a regular file and prove that it belongs: by its build id, where both have one, and, where
 * the name led to it, by its CRC, too.
 */

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dso;
struct host;

struct symdebug_place {
	const struct host *host;        /* NULL: nothing is found */
	const char *const *dirs;        /* NULL-terminated; NULL: /usr/lib/debug */
	int root_fd;                    /* see struct dso: searched before the host's; 0: none */
	int fetched_fd;                 /* what is taken where nothing is found; 0: none */
	const char *fetched_path;
	const char *cache_dir;          /* for what is unpacked of it; NULL: none */
	uint64_t deadline_ns;           /* of CLOCK_MONOTONIC, for one DSO; 0: none */
};

/* Is the time for this DSO over? */
bool symdebug_is_late(const struct symdebug_place *where);

/* A file that stood where the debug file is looked for, and does not belong. */
struct symdebug_misfit {
	char *path;                     /* NULL: there was none; the caller frees it */
	const char *why;                /* "its build id differs" */
};

/* The debug file of d, whose own file is elf.  A descriptor and a fresh path for messages in
 * *ret_path (NULL when memory is out), or -ENOENT.  The first misfit goes to *ret_misfit
 * (NULL: nobody asks), in either case. */
int symdebug_open(const struct symdebug_place *where, const struct dso *d, Elf *elf,
		  char **ret_path, struct symdebug_misfit *ret_misfit);

/* Any regular file, which the caller must check.  A descriptor or -ENOENT. */
int symdebug_open_file(const struct symdebug_place *where, const char *path);

/* The file that dwz moved common parts to: link and build id as in .gnu_debugaltlink; a relative
 * link counts from the folder of from_path.  A descriptor or -ENOENT. */
int symdebug_open_alt(const struct symdebug_place *where, const char *link, const char *from_path,
		      const uint8_t *build_id, size_t n_build_id);

#endif
