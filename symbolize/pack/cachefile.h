#ifndef CPROF_SYMBOLIZE_PACK_CACHEFILE_H
#define CPROF_SYMBOLIZE_PACK_CACHEFILE_H

/*
 * Files that are kept from one recording to the next, in a folder of the user's own.  Whoever
 * reads one checks what is in it; here it is made sure that nobody else can have put it there,
 * that a file is there whole or not at all, and that they do not become too many.
 */

#include <stddef.h>
#include <stdint.h>

/* Opens the folder and, where it is missing, makes it and the one that it lies in (~/.cache may be
 * missing, too).  A descriptor or -errno. */
int cachefile_open_dir(const char *dir);

/* Opens a regular file that belongs to us, and that nobody else may write to.  A descriptor, with
 * how long it is; -EPERM for other files, else -errno. */
int cachefile_open(const char *dir, const char *name, uint64_t *ret_n_bytes);

/* The same for writing to it, too; it is made where it is missing. */
int cachefile_open_rw(int dir_fd, const char *name, uint64_t *ret_n_bytes);

struct cachefile_part {
	const void *bytes;
	size_t n_bytes;
};

/* Writes the parts, one behind the other, under a temporary name, and renames that.  0 or
 * -errno. */
int cachefile_write(int dir_fd, const char *name, const struct cachefile_part *part,
		    size_t n_parts);

/* Notes that the file was of use. */
void cachefile_touch(int fd);

/* Removes files whose name begins with prefix (of temporary ones: old ones), those first that were
 * of no use for the longest time, until the others have no more than n_bytes_max; `keep` is none
 * of them, NULL: all may go. */
void cachefile_limit(int dir_fd, const char *prefix, const char *keep, uint64_t n_bytes_max);

#endif
