#ifndef CPROF_TESTS_FUZZ_FUZZDIR_H
#define CPROF_TESTS_FUZZ_FUZZDIR_H

/* For fuzzers of files: a folder of their own, removed at exit. */

#include "base/bytes.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char fuzzdir[64];

static inline void fuzzdir_check(bool ok)
{
	if (!ok)
		abort();
}

/* Removes all files in it. */
static inline void fuzzdir_clean(void)
{
	DIR *d = opendir(fuzzdir);
	for (struct dirent *e; d && (e = readdir(d)) != NULL;)
		unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

static inline int fuzzdir_remove_one(const char *path, const struct stat *st, int type,
				     struct FTW *ftw)
{
	return remove(path);
}

static inline void fuzzdir_remove(void)
{
	nftw(fuzzdir, fuzzdir_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Creates it at the first call, in /tmp if it cannot be in parent.  run removes it, too: it ends
 * targets by a signal. */
static inline void fuzzdir_make(const char *parent)
{
	if (fuzzdir[0])
		return;
	snprintf(fuzzdir, sizeof(fuzzdir), "%s/cprof-fuzz-%d-XXXXXX", parent, (int)getpid());
	if (!mkdtemp(fuzzdir)) {
		snprintf(fuzzdir, sizeof(fuzzdir), "/tmp/cprof-fuzz-%d-XXXXXX", (int)getpid());
		fuzzdir_check(mkdtemp(fuzzdir) != NULL);
	}
	atexit(fuzzdir_remove);
}

/* The path of a file in it, until the next call. */
static inline const char *fuzzdir_path(const char *name)
{
	static char path[256];
	fuzzdir_check(snprintf(path, sizeof(path), "%s/%s", fuzzdir, name) < (int)sizeof(path));
	return path;
}

/* Creates a folder in it, in one that exists. */
static inline void fuzzdir_folder(const char *name)
{
	fuzzdir_check(mkdir(fuzzdir_path(name), 0700) == 0);
}

/* Creates or replaces a file in it, in a folder that exists. */
static inline void fuzzdir_put(const char *name, struct bytes b)
{
	int fd = open(fuzzdir_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	fuzzdir_check(fd >= 0 && write(fd, b.p, bytes_left(&b)) == (ssize_t)bytes_left(&b));
	close(fd);
}

/* The next part of an input: its length (u16), and that many bytes, or the rest. */
static inline struct bytes fuzzdir_part(struct bytes *b)
{
	size_t n = bytes_u16(b);
	if (b->bad)
		return bytes_of("", 0);
	if (n > bytes_left(b))
		n = bytes_left(b);
	return bytes_of(bytes_take(b, n), n);
}

/* Overwrites bytes of each file in it. */
static inline void fuzzdir_damage(struct bytes b, uint16_t at)
{
	DIR *d = opendir(fuzzdir);
	for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
		int fd = e->d_name[0] == '.' ? -1 : openat(dirfd(d), e->d_name, O_WRONLY);
		if (fd < 0)
			continue;
		fuzzdir_check(pwrite(fd, b.p, bytes_left(&b), at) >= 0);
		close(fd);
	}
	if (d)
		closedir(d);
}

#endif
