/*
 * The time of last use is the file's modification time, because not every file system keeps access
 * times.  It is updated once a day at most.
 */

#include "symbolize/pack/cachefile.h"

#include "base/cleanup.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TEMPORARY "."            /* first character of the name */
#define TEMPORARY_S 3600         /* seconds; the writer of an older file has died */
#define TOUCH_S 86400

/* ---- the folder ---------------------------------------------------------- */

/* Have we privileges that the user who started us lacks (set-user-ID, file capabilities)?  That
 * user will read the files that we write. */
static bool is_privileged(void)
{
	return getuid() != geteuid() || getgid() != getegid() || getauxval(AT_SECURE);
}

/* Does the folder, or else the one that will hold it, belong to us or root?  With sudo, HOME may be
 * another user's. */
static int check_parent(const char *dir)
{
	char parent[4096];
	struct stat st;
	snprintf(parent, sizeof(parent), "%s", dir);
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(parent, '/');
		if (!slash || slash == parent)
			return 0;
		*slash = '\0';
		if (stat(parent, &st) == 0)
			return st.st_uid == 0 || st.st_uid == geteuid() ? 0 : -EPERM;
	}
	return 0;
}

static void make_dir(const char *dir)
{
	char parent[4096];
	const char *slash = strrchr(dir, '/');
	if (mkdir(dir, 0700) == 0 || errno != ENOENT || !slash || slash == dir)
		return;
	snprintf(parent, sizeof(parent), "%.*s", (int)(slash - dir), dir);
	if (mkdir(parent, 0700) == 0)
		mkdir(dir, 0700);
}

int cachefile_open_dir(const char *dir)
{
	struct stat st;
	int r = is_privileged() ? -EPERM : check_parent(dir);
	if (r < 0)
		return r;
	make_dir(dir);
	CLEANUP_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid())
		return -EPERM;
	if (st.st_mode & 077 && fchmod(fd, 0700) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* ---- one file ------------------------------------------------------------ */

static bool is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & 077);
}

int cachefile_open(const char *dir, const char *name, uint64_t *ret_n_bytes)
{
	char path[4096];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!is_ours(&st))
		return -EPERM;
	*ret_n_bytes = (uint64_t)st.st_size;
	return TAKE_FD(fd);
}

int cachefile_open_rw(int dir_fd, const char *name, uint64_t *ret_n_bytes)
{
	struct stat st;
	CLEANUP_CLOSE int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK |
				      O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!is_ours(&st))
		return -EPERM;
	*ret_n_bytes = (uint64_t)st.st_size;
	return TAKE_FD(fd);
}

static int write_all(int fd, const void *data, size_t n)
{
	for (const char *p = data; n;) {
		ssize_t got = write(fd, p, n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		p += got;
		n -= (size_t)got;
	}
	return 0;
}

static int write_parts(int fd, const struct cachefile_part *part, size_t n_parts)
{
	for (size_t i = 0; i < n_parts; i++) {
		int r = write_all(fd, part[i].bytes, part[i].n_bytes);
		if (r < 0)
			return r;
	}
	return 0;
}

int cachefile_write(int dir_fd, const char *name, const struct cachefile_part *part,
		    size_t n_parts)
{
	char tmp[300];
	snprintf(tmp, sizeof(tmp), TEMPORARY "%.255s.%d", name, (int)getpid());
	CLEANUP_CLOSE int fd =
		openat(dir_fd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int r = write_parts(fd, part, n_parts);
	if (r < 0) {
		unlinkat(dir_fd, tmp, 0);
		return r;
	}
	if (renameat(dir_fd, tmp, dir_fd, name) < 0) {
		r = -errno;
		unlinkat(dir_fd, tmp, 0);
	}
	return r;
}

void cachefile_touch(int fd)
{
	struct stat st;
	if (fstat(fd, &st) == 0 && st.st_mtime + TOUCH_S < time(NULL))
		futimens(fd, NULL);
}

/* ---- the limit ----------------------------------------------------------- */

struct kept {
	char name[256];
	uint64_t n_bytes;
	int64_t used_s;
};

static int compare_kept(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;
	return x->used_s < y->used_s ? -1 : x->used_s > y->used_s;
}

static bool begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void remove_if_old(int dir_fd, const char *name)
{
	struct stat st;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_mtime + TEMPORARY_S < time(NULL))
		unlinkat(dir_fd, name, 0);
}

void cachefile_limit(int dir_fd, const char *prefix, const char *keep, uint64_t n_bytes_max)
{
	VEC(struct kept) kept = {0};
	uint64_t n_bytes = 0;
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *e; (e = readdir(d)) != NULL;) {
		struct kept k = {0};
		struct stat st;
		if (begins_with(e->d_name, TEMPORARY) && begins_with(e->d_name + 1, prefix))
			remove_if_old(dir_fd, e->d_name);
		if (!begins_with(e->d_name, prefix) || (keep && strcmp(e->d_name, keep) == 0) ||
		    fstatat(dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		snprintf(k.name, sizeof(k.name), "%s", e->d_name);
		k.n_bytes = (uint64_t)st.st_size;
		k.used_s = st.st_mtime;
		n_bytes += k.n_bytes;
		if (!VEC_PUSH(&kept, k))
			break;
	}
	closedir(d);
	if (kept.n)
		qsort(kept.v, kept.n, sizeof(*kept.v), compare_kept);
	for (size_t i = 0; i < kept.n && n_bytes > n_bytes_max; i++) {
		unlinkat(dir_fd, kept.v[i].name, 0);
		n_bytes -= kept.v[i].n_bytes;
	}
	VEC_FREE(&kept);
}
