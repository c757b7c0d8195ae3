#ifndef CPROF_SYMBOLIZE_ELF_SYMDEBUG_H
#define CPROF_SYMBOLIZE_ELF_SYMDEBUG_H

/*
 * Finds the debug information of a stripped file, by build id, or by the name and CRC in
 * .gnu_debuglink, in gdb's order ("Debugging Information in Separate Files"): below the root folder
 * of the process, if it has its own, then below the host's.  A candidate must be a regular file and
 * have the same build id, if both have one; one that was found by .gnu_debuglink must also have the
 * right CRC.
 */

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dso;
struct dsokeep;
struct host;

/* Files that were not read although they may exist. */
struct symdebug_unread {
	unsigned n_lost;                /* given up: foreign_is_lost */
	unsigned n_no_descriptor;       /* foreign_lacks_descriptor */
};

struct symdebug_place {
	const struct host *host;        /* NULL: nothing is found */
	const char *const *dirs;        /* NULL-terminated; NULL: /usr/lib/debug */
	int root_fd;                    /* see struct dso; searched before the host's; 0: none */
	int fetched_fd;                 /* used if nothing else is found; 0: none */
	const char *fetched_path;
	const char *cache_dir;          /* for indexes of compressed sections; NULL: none */
	uint64_t deadline_ns;           /* CLOCK_MONOTONIC, for one DSO; 0: none */
	struct symdebug_unread *unread; /* added to; may be NULL */
	struct dsokeep *keep;           /* closes files when descriptors are short; NULL: none */
};

/* Is the time for this DSO used up? */
bool symdebug_is_late(const struct symdebug_place *where);

/* A file in the right place that does not match. */
struct symdebug_misfit {
	char *path;                     /* NULL: none; the caller frees it */
	const char *why;                /* "its build id differs" */
};

/* The debug file of d, whose own file is elf.  Returns a descriptor and, for messages, an allocated
 * path in *ret_path (NULL: out of memory), or -ENOENT.  In both cases the first misfit goes to
 * *ret_misfit (may be NULL). */
int symdebug_open(const struct symdebug_place *where, const struct dso *d, Elf *elf,
		  char **ret_path, struct symdebug_misfit *ret_misfit);

/* Any regular file; the caller must check it.  Returns a descriptor or -ENOENT. */
int symdebug_open_file(const struct symdebug_place *where, const char *path);

/* The file to which dwz moved common parts.  link and build id are those in .gnu_debugaltlink; a
 * relative link is relative to the folder of from_path.  Returns a descriptor or -ENOENT. */
int symdebug_open_alt(const struct symdebug_place *where, const char *link, const char *from_path,
		      const uint8_t *build_id, size_t n_build_id);

#endif
