/*
 * If the file system supports it (O_TMPFILE), a file has no name while it is written, so that
 * nothing remains even of a process that is killed.  Once complete, it gets a temporary name in the
 * final folder, and rename(2) moves it into place in one step.  The steps that usually fail (write,
 * close) are done for all files of a set before the first rename.  If a rename fails, the earlier
 * ones are undone: with RENAME_EXCHANGE (renameat2(2)), a replaced file keeps existing under the
 * temporary name until the whole set is in place.
 */

#include "proto/outfile.h"

#include "base/cleanup.h"
#include "base/err.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_NAME_TRIES 100

/* The folder part of path, or ".". */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static int open_failed(int errnum, const char *path, struct err *e)
{
	CLEANUP_FREE char *folder = folder_of(path);
	int r = err_errno(e, errnum, "cannot write '%s'", path);
	if (!folder)
		return r;
	switch (errnum) {
	case ENOENT:
		err_hint(e, "the folder '%s' does not exist; create it, or choose another place",
			 folder);
		break;
	case ENOTDIR:
		err_hint(e, "'%s' is not a folder; choose another place", folder);
		break;
	case EISDIR:
		err_hint(e, "this is a folder; name a file in it");
		break;
	case EACCES:
	case EPERM:
		err_hint(e, "no permission to write there; choose another place");
		break;
	case EROFS:
		err_hint(e, "the file system is mounted read-only; choose another place");
		break;
	case ENOSPC:
	case EDQUOT:
		err_hint(e, "free some space, or choose another place");
		break;
	case EFBIG:
		err_hint(e, "the file size limit is reached: see 'ulimit -f', or choose another "
			    "file system");
		break;
	case ENAMETOOLONG:
		err_hint(e, "choose a shorter name");
		break;
	}
	return r;
}

/* A new file next to path.  Its name has a fixed length, so that it is valid even if the final name
 * has the maximum length. */
static int create_temporary(struct outfile *f)
{
	CLEANUP_FREE char *folder = folder_of(f->path);
	if (!folder)
		return -ENOMEM;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	unsigned int salt = (unsigned int)now.tv_nsec;
	int nameless = access("/proc/self/fd", X_OK) == 0
			       ? open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666) : -1;
	for (int i = 0; i < MAX_NAME_TRIES; i++) {
		char *tmp_path = NULL;
		if (asprintf(&tmp_path, "%s/.cprof-%ld-%08x.tmp", folder, (long)getpid(),
			     salt + (unsigned int)i) < 0) {
			if (nameless >= 0)
				close(nameless);
			return -ENOMEM;
		}
		if (nameless >= 0) {
			f->tmp_path = tmp_path;
			f->fd = nameless;
			f->is_nameless = true;
			return 0;
		}
		int fd = open(tmp_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0) {
			f->tmp_path = tmp_path;
			f->fd = fd;
			return 0;
		}
		free(tmp_path);
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* The end of a chain of symbolic links, even if that file does not exist yet; NULL with errno
 * set. */
static char *follow_links(const char *path)
{
	char *now = strdup(path);
	for (int i = 0; now && i < 40; i++) {
		char target[PATH_MAX];
		ssize_t n = readlink(now, target, sizeof(target) - 1);
		if (n < 0)
			return now;
		target[n] = '\0';
		CLEANUP_FREE char *folder = folder_of(now);
		char *next = NULL;
		if (target[0] == '/')
			next = strdup(target);
		else if (!folder || asprintf(&next, "%s/%s", folder, target) < 0)
			next = NULL;
		free(now);
		now = next;
	}
	if (now) {
		free(now);
		errno = ELOOP;
	} else {
		errno = ENOMEM;
	}
	return NULL;
}

static int open_path(struct outfile *f)
{
	struct stat st;
	if (f->path[0] == '\0')
		return -ENOENT;
	bool exists = stat(f->path, &st) == 0;
	if (!exists && errno != ENOENT)
		return -errno;
	if (exists && S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!exists && f->path[strlen(f->path) - 1] == '/')
		return -EISDIR;
	if (exists && !S_ISREG(st.st_mode)) {
		f->fd = open(f->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		return f->fd < 0 ? -errno : 0;
	}
	if (exists && faccessat(AT_FDCWD, f->path, W_OK, AT_EACCESS) < 0)
		return -errno;
	int r = create_temporary(f);
	/* Losing the mode is better than losing the profile. */
	if (r == 0 && exists)
		(void)!fchmod(f->fd, st.st_mode & 0777);
	return r;
}

int outfile_open(struct outfile *f, const char *path, struct err *e)
{
	struct outfile fresh = { .fd = -1, .path = follow_links(path) };
	int r = fresh.path ? open_path(&fresh) : -errno;
	if (r < 0) {
		free(fresh.path);
		return open_failed(-r, path, e);
	}
	*f = fresh;
	return 0;
}

void outfile_open_fd(struct outfile *f, int fd)
{
	*f = (struct outfile){ .fd = fd };
}

int outfile_write(void *ctx, const void *data, size_t n_bytes)
{
	struct outfile *f = ctx;
	const char *p = data;
	while (n_bytes > 0 && f->code == 0) {
		ssize_t n = write(f->fd, p, n_bytes);
		if (n < 0) {
			if (errno != EINTR)
				f->code = -errno;
			continue;
		}
		p += n;
		n_bytes -= (size_t)n;
	}
	return f->code;
}

int outfile_error(const struct outfile *f, struct err *e)
{
	if (f->code == 0)
		return 0;
	if (f->path)
		return open_failed(-f->code, f->path, e);
	return err_errno(e, -f->code, "cannot write the output");
}

/* Gives a complete file its temporary name. */
static void give_name(struct outfile *f)
{
	char fd_path[64];
	snprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", f->fd);
	if (linkat(AT_FDCWD, fd_path, AT_FDCWD, f->tmp_path, AT_SYMLINK_FOLLOW) < 0)
		f->code = -errno;
	f->is_nameless = false;
}

static int close_file(struct outfile *f, struct err *e)
{
	if (f->is_nameless && f->code == 0)
		give_name(f);
	if (f->path && f->fd >= 0) {
		int r = close(f->fd);
		f->fd = -1;
		if (r < 0 && f->code == 0)
			f->code = -errno;
	}
	return outfile_error(f, e);
}

static int put_in_place(struct outfile *f, bool keep_old)
{
	if (!f->tmp_path)
		return 0;
	if (keep_old && renameat2(AT_FDCWD, f->tmp_path, AT_FDCWD, f->path, RENAME_EXCHANGE) == 0) {
		/* A folder created in the meantime would be exchanged, too. */
		struct stat st;
		f->swapped = true;
		return lstat(f->tmp_path, &st) == 0 && S_ISDIR(st.st_mode) ? -EISDIR : 0;
	}
	bool can_take_back = keep_old && errno == ENOENT;
	if (rename(f->tmp_path, f->path) < 0)
		return -errno;
	if (!can_take_back) {
		free(f->tmp_path);
		f->tmp_path = NULL;
	}
	return 0;
}

static void take_back(struct outfile *f, bool in_place)
{
	if (f->swapped)
		renameat2(AT_FDCWD, f->tmp_path, AT_FDCWD, f->path, RENAME_EXCHANGE);
	else if (f->tmp_path && in_place)
		rename(f->path, f->tmp_path);
	f->swapped = false;
}

int outfile_commit(struct outfile *f, size_t n, struct err *e)
{
	int r = 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		assert(!f[i].committed);
		r = close_file(&f[i], e);
	}
	size_t n_done = 0;
	for (; n_done < n && r == 0; n_done++) {
		r = put_in_place(&f[n_done], n > 1);
		if (r < 0) {
			open_failed(-r, f[n_done].path, e);
			take_back(&f[n_done], false);
			break;
		}
	}
	for (size_t i = n_done; i-- > 0 && r < 0;)
		take_back(&f[i], true);
	for (size_t i = 0; i < n; i++) {
		if (r == 0) {
			if (f[i].swapped)
				unlink(f[i].tmp_path);
			f[i].committed = true;
		}
		outfile_abort(&f[i]);
	}
	return r;
}

void outfile_abort(struct outfile *f)
{
	if (f->path && f->fd >= 0)
		close(f->fd);
	if (f->tmp_path && !f->committed)
		unlink(f->tmp_path);
	free(f->tmp_path);
	free(f->path);
	*f = (struct outfile){ .fd = -1, .committed = f->committed };
}
