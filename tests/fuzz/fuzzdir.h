#ifndef CPROF_TESTS_FUZZ_FUZZDIR_H
#define CPROF_TESTS_FUZZ_FUZZDIR_H

/* For fuzzers of files in a cache folder: a folder of their own, removed at exit. */

#include "base/bytes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

static inline void fuzzdir_remove(void)
{
	fuzzdir_clean();
	rmdir(fuzzdir);
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
