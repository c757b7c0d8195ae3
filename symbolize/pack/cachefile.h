#ifndef CPROF_SYMBOLIZE_PACK_CACHEFILE_H
#define CPROF_SYMBOLIZE_PACK_CACHEFILE_H

/*
 * Files that are kept from one recording to the next, in a folder of the user's.  Readers check the
 * contents.  This module makes sure that nobody else can have written a file, that a file is
 * complete or absent, and that all files together do not exceed a limit.
 */

#include <stddef.h>
#include <stdint.h>

/* Opens the folder, and creates it and its parent if they are missing (~/.cache may be missing,
 * too).  Only its owner can use it afterwards.  Returns a descriptor or -errno; -EPERM if it is not
 * ours, if the folder that holds it is neither ours nor root's (sudo with another user's HOME), or
 * if this process has privileges that the user who started it lacks. */
int cachefile_open_dir(const char *dir);

/* Opens a regular file that belongs to us and that nobody else may read or write.  Returns a
 * descriptor and the file's size, -EPERM for other files, or -errno. */
int cachefile_open(const char *dir, const char *name, uint64_t *ret_n_bytes);

/* The same for reading and writing.  Creates the file if it is missing. */
int cachefile_open_rw(int dir_fd, const char *name, uint64_t *ret_n_bytes);

struct cachefile_part {
	const void *bytes;
	size_t n_bytes;
};

/* Writes the parts, one after the other, to a temporary file, and renames it.  0 or -errno. */
int cachefile_write(int dir_fd, const char *name, const struct cachefile_part *part,
		    size_t n_parts);

/* Notes that the file was used. */
void cachefile_touch(int fd);

/* Removes old temporary files, and then the least recently used files whose names begin with
 * prefix, until the rest have at most n_bytes_max.  Neither removes nor counts `keep` (may be
 * NULL). */
void cachefile_limit(int dir_fd, const char *prefix, const char *keep, uint64_t n_bytes_max);

#endif
