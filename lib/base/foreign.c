/*
 * A path is walked with O_PATH, which opens nothing.  The walk itself may wait, too, when it enters
 * a FUSE mount.  Three ways, the cheapest first:
 *
 * 1. RESOLVE_CACHED (Linux 5.12) uses only what the kernel has in memory, and never waits.  It
 *    succeeds for nearly all files that a process has mapped.
 * 2. RESOLVE_NO_XDEV stays on the file system of the folder, whose type is known.
 * 3. The helper process walks.
 *
 * Then the type of the file system decides how the file is read: by the caller with pread(2), or by
 * a helper process (helper.h), which copies it into a memfd.
 */

#include "base/foreign.h"

#include "base/cleanup.h"
#include "base/fstype.h"
#include "base/helper.h"
#include "base/pathwalk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

struct foreign {
	struct fstype_cache types;
	struct helper_cost cost;
};

struct foreign *foreign_new(void)
{
	return calloc(1, sizeof(struct foreign));
}

void foreign_free(struct foreign *f)
{
	if (f)
		helper_reap(&f->cost);
	free(f);
}

int foreign_is_lost(int result)
{
	return result == -ETIMEDOUT || result == -EFBIG || result == -EREMOTE;
}

int foreign_lacks_descriptor(int result)
{
	return result == -EMFILE || result == -ENFILE;
}

/* ---- walking ---------------------------------------------------------------- */

static int walk(const struct foreign_want *w, uint64_t resolve)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | (w->flags & FOREIGN_NO_FOLLOW ? O_NOFOLLOW : 0),
		.resolve = resolve | (w->flags & FOREIGN_IN_ROOT ? RESOLVE_IN_ROOT : 0) |
			   (w->flags & FOREIGN_MAGIC_LINKS ? 0 : RESOLVE_NO_MAGICLINKS),
	};
	long fd = syscall(SYS_openat2, w->dir_fd, w->path, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

/* Kernels before 5.6, and seccomp filters that do not know openat2(2): the walk may wait. */
static int walk_plainly(const struct foreign_want *w)
{
	const char *path = w->path;
	if (w->flags & FOREIGN_IN_ROOT)
		path += strspn(path, "/");
	int fd = openat(w->dir_fd, path, O_PATH | O_CLOEXEC |
			(w->flags & (FOREIGN_NO_FOLLOW | FOREIGN_IN_ROOT) ? O_NOFOLLOW : 0));
	return fd < 0 ? -errno : fd;
}

static bool has_no_openat2(int result)
{
	return result == -ENOSYS || result == -EPERM;
}

static int walk_anyhow(const struct foreign_want *w)
{
	int fd = walk(w, 0);
	return has_no_openat2(fd) ? walk_plainly(w) : fd;
}

/* Is the folder where the walk starts on a file system that answers at once? */
static bool starts_locally(struct foreign *f, const struct foreign_want *w)
{
	mode_t mode;
	return (*w->path == '/' && !(w->flags & FOREIGN_IN_ROOT)) ||
	       fstype_of(f ? &f->types : NULL, w->dir_fd, w->pid, &mode) != FSTYPE_REMOTE;
}

/* Without waiting.  -EAGAIN: impossible. */
static int walk_fast(struct foreign *f, const struct foreign_want *w)
{
	/* A link of /proc leads to an open file, without a walk. */
	if (w->flags & FOREIGN_MAGIC_LINKS)
		return walk_anyhow(w);
	int fd = walk(w, RESOLVE_CACHED);
	if (has_no_openat2(fd))
		return walk_plainly(w);
	if (fd != -EAGAIN && fd != -EINVAL)
		return fd;
	if (!starts_locally(f, w))
		return -EAGAIN;
	fd = walk(w, RESOLVE_NO_XDEV);
	return fd == -EXDEV ? -EAGAIN : fd;
}

static int check_type(mode_t mode)
{
	return S_ISLNK(mode) ? -ELOOP : mode && !S_ISREG(mode) ? -ENXIO : 0;
}

static int reopen(int path_fd, struct stat *ret)
{
	CLEANUP_CLOSE int fd =
		pathwalk_reopen(path_fd, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return fd;
	return fstat(fd, ret) < 0 ? -errno : TAKE_FD(fd);
}

/* ---- in the helper: see struct helper_job ----------------------------------------- */

struct slow_open {
	const struct foreign_want *want;
	int path_fd;               /* -1: the path is still to be walked */
};

struct answer {
	int code;                  /* 0 or -errno */
	bool is_copied;            /* else a descriptor for O_PATH comes with it */
	struct stat st;
};

static int copy_file(int path_fd, int copy_fd, uint64_t n_bytes_max, struct answer *a)
{
	int fd = reopen(path_fd, &a->st);  /* not closed, which may wait, too */
	if (fd < 0)
		return fd;
	a->is_copied = true;
	return helper_copy(fd, copy_fd, n_bytes_max, &a->st);
}

static int run_open(void *ctx, void *answer, int copy_fd, uint64_t n_bytes_max)
{
	const struct slow_open *s = ctx;
	const struct foreign_want *w = s->want;
	struct answer *a = answer;
	mode_t mode;
	int path_fd = s->path_fd < 0 ? walk_anyhow(w) : s->path_fd;
	if (path_fd < 0) {
		a->code = path_fd;
		return -1;
	}
	enum fstype type = fstype_of(NULL, path_fd, w->pid, &mode);
	a->code = check_type(mode);
	if (a->code < 0)
		return -1;
	switch (type) {
	case FSTYPE_LOCAL:
		return path_fd;
	case FSTYPE_PSEUDO:
		a->code = -ENXIO;
		return -1;
	case FSTYPE_REMOTE:
		a->code = w->flags & FOREIGN_NO_COPY
				  ? -EREMOTE : copy_file(path_fd, copy_fd, n_bytes_max, a);
	}
	return -1;
}

/* ---- opening ------------------------------------------------------------------ */

/* path_fd: -1: the path could not be walked without waiting. */
static int open_slowly(struct foreign *f, const struct foreign_want *w, int path_fd,
		       struct stat *ret)
{
	struct slow_open s = { .want = w, .path_fd = path_fd };
	const struct helper_job job = { .run = run_open, .ctx = &s, .keep = { w->dir_fd, path_fd },
		.n_answer_bytes = sizeof(struct answer) };
	struct answer a;
	CLEANUP_CLOSE int there = -1, copy = -1;
	int r = helper_ask(f ? &f->cost : NULL, &job, &a, &there, &copy);
	if (r < 0)
		return r;
	if (a.code < 0)
		return a.code;
	if (there >= 0)
		return reopen(there, ret);
	if (!a.is_copied)
		return -EIO;
	*ret = a.st;
	return TAKE_FD(copy);
}

int foreign_open_path(struct foreign *f, const struct foreign_want *w, int path_fd,
		      struct stat *ret)
{
	struct stat st;
	ret = ret ? ret : &st;
	mode_t mode;
	enum fstype type = fstype_of(f ? &f->types : NULL, path_fd, w->pid, &mode);
	int r = check_type(mode);
	if (r < 0)
		return r;
	switch (type) {
	case FSTYPE_LOCAL:
		return reopen(path_fd, ret);
	case FSTYPE_PSEUDO:
		return -ENXIO;
	case FSTYPE_REMOTE:
		break;
	}
	return w->flags & FOREIGN_NO_COPY ? -EREMOTE : open_slowly(f, w, path_fd, ret);
}

int foreign_open(struct foreign *f, const struct foreign_want *w, struct stat *ret)
{
	struct stat st;
	ret = ret ? ret : &st;
	CLEANUP_CLOSE int fd = walk_fast(f, w);
	if (fd == -EAGAIN)
		return open_slowly(f, w, -1, ret);
	return fd < 0 ? fd : foreign_open_path(f, w, fd, ret);
}

int foreign_open_folder(struct foreign *f, const struct foreign_want *w)
{
	mode_t mode;
	CLEANUP_CLOSE int fd = walk_fast(f, w);
	if (fd < 0)
		return fd == -EAGAIN ? -EREMOTE : fd;
	enum fstype type = fstype_of(f ? &f->types : NULL, fd, w->pid, &mode);
	if (!S_ISDIR(mode))
		return S_ISLNK(mode) ? -ELOOP : -ENOTDIR;
	return type == FSTYPE_LOCAL ? TAKE_FD(fd) : -EREMOTE;
}

/* ---- folders of our own ----------------------------------------------------------- */

#define PATH_BYTES 4096

/* Replaces a path by that of the folder above it.  False: there is none. */
static bool go_up(char *path)
{
	char *slash = strrchr(path, '/');
	if (!slash || slash == path)
		return false;
	*slash = '\0';
	return true;
}

/* Folder by folder: the kernel always has the root of a mounted file system in memory, and what it
 * does not have is in the file system of the folder before it.  0 or -errno. */
static int walk_stepwise(struct foreign *f, const char *path)
{
	char step[NAME_MAX + 1];
	CLEANUP_CLOSE int fd = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t n; fd >= 0 && *(path += strspn(path, "/")); path += n) {
		n = strcspn(path, "/");
		if (n > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(step, path, n);
		step[n] = '\0';
		struct foreign_want want = { .dir_fd = fd, .path = step };
		int next = foreign_open_folder(f, &want);
		if (next < 0)
			return next;
		close(fd);
		fd = next;
	}
	return fd < 0 ? -errno : 0;
}

static bool is_remote(struct foreign *f, const char *folder)
{
	char path[PATH_BYTES];
	const struct foreign_want want = { .dir_fd = AT_FDCWD, .path = path };
	int r;
	snprintf(path, sizeof(path), "%s", folder);
	do {
		CLEANUP_CLOSE int fd = foreign_open_folder(f, &want);
		r = fd == -EREMOTE ? walk_stepwise(f, path) : fd < 0 ? fd : 0;
	} while (r == -ENOENT && go_up(path));
	return r == -EREMOTE;
}

int foreign_check_folder(struct foreign *f, const char *folder)
{
	if (strlen(folder) >= PATH_BYTES)
		return -ENAMETOOLONG;
	return is_remote(f, folder) ? -EREMOTE : 0;
}

int foreign_identify(const struct foreign_want *w, uint64_t *ret_device, uint64_t *ret_inode)
{
	struct statx st;
	int flags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT | (*w->path ? 0 : AT_EMPTY_PATH) |
		    (w->flags & FOREIGN_MAGIC_LINKS ? 0 : AT_SYMLINK_NOFOLLOW);
	if (statx(w->dir_fd, w->path, flags, STATX_INO, &st) < 0)
		return -errno;
	*ret_device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
	*ret_inode = st.stx_ino;
	return 0;
}
