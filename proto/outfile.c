/*
 * If the file system supports it (O_TMPFILE), a file has no name while it is written, so nothing
 * remains even if the process is killed.  Once complete, it gets a temporary name in the final
 * folder, and rename(2) moves it into place in one step.  The steps that usually fail (write,
 * close) are done for all files of a set before the first rename.  If a rename fails, the earlier
 * ones are undone: with RENAME_EXCHANGE (renameat2(2)), a replaced file keeps existing under the
 * temporary name until the whole set is in place.
 *
 * The folder is found by a walk that checks each link, and stays open: all names are relative to
 * it.  A file that already has the final name is checked when the output is opened, and once more
 * after the exchange, because others may have replaced it in between.
 */

#include "proto/outfile.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/pathwalk.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_NAME_TRIES 100
#define MODE_ALL 0777u
#define MODE_OWNER 0600u

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
		err_hint(e, "the directory '%s' does not exist; create it, or choose another place",
			 folder);
		break;
	case ENOTDIR:
		err_hint(e, "'%s' is not a directory; choose another place", folder);
		break;
	case EISDIR:
		err_hint(e, "this is a directory; name a file in it");
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

/* ---- what belongs to others -------------------------------------------------------- */

static int refuse(struct err *e, const char *path, const char *fmt, uid_t uid)
{
	char why[200];
	snprintf(why, sizeof(why), fmt, (unsigned)uid);
	err_set(e, EPERM, "cannot write '%s': %s, and others can write to its directory", path,
		why);
	err_hint(e, "remove it, or choose another place");
	return -EPERM;
}

static int check_link(void *ctx, const struct pathwalk_link *link, struct err *e)
{
	uid_t uid = link->st->st_uid;
	if (!pathwalk_is_foreign(uid, link->folder))
		return 0;
	err_set(e, EPERM, "cannot write '%s': the link '%s' on the path belongs to another user "
		"(uid %u), and others can write to its directory", (const char *)ctx, link->name,
		(unsigned)uid);
	err_hint(e, "remove it, or choose another place");
	return -EPERM;
}

/* May the existing entry st of a folder that others can write to be replaced, or written to? */
static int check_entry(const char *path, const struct stat *st, struct err *e)
{
	uid_t uid = st->st_uid;
	if (uid != geteuid() && (S_ISREG(st->st_mode) || S_ISLNK(st->st_mode) || uid != 0))
		return refuse(e, path, "it belongs to another user (uid %u)", uid);
	if (S_ISREG(st->st_mode) && st->st_nlink > 1)
		return refuse(e, path, "it has several names (hard links)", uid);
	return 0;
}

/* ---- opening ----------------------------------------------------------------------- */

static bool choose_name(struct outfile *f, unsigned salt)
{
	snprintf(f->tmp_name, sizeof(f->tmp_name), ".cprof-%ld-%08x.tmp", (long)getpid(),
		 (unsigned)clock_now_ns(CLOCK_REALTIME) + salt);
	struct stat st;
	return fstatat(f->folder_fd, f->tmp_name, &st, AT_SYMLINK_NOFOLLOW) < 0;
}

/* The mode is what the kernel gives a new file: by the umask, or by the folder's default ACL. */
static void note_mode(struct outfile *f, int fd)
{
	struct stat st;
	f->mode = fstat(fd, &st) == 0 ? st.st_mode & MODE_ALL : MODE_OWNER;
}

static int create_nameless(struct outfile *f)
{
	if (access("/proc/self/fd", X_OK) < 0)
		return -ENOTSUP;
	int fd = openat(f->folder_fd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	note_mode(f, fd);
	(void)!fchmod(fd, MODE_OWNER);
	f->fd = fd;
	f->is_nameless = true;
	return 0;
}

/* The first file only shows the mode: one that others may read could be open already when it gets
 * its content. */
static int create_named(struct outfile *f)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(f->folder_fd, f->tmp_name, flags, 0666);
	if (fd < 0)
		return -errno;
	note_mode(f, fd);
	close(fd);
	unlinkat(f->folder_fd, f->tmp_name, 0);
	f->fd = openat(f->folder_fd, f->tmp_name, flags, MODE_OWNER);
	return f->fd < 0 ? -errno : 0;
}

/* A new file in the folder.  Its name has a fixed length, so that it is valid even if the final
 * name has the maximum length. */
static int create_temporary(struct outfile *f)
{
	unsigned salt = 0;
	while (!choose_name(f, salt) && salt < MAX_NAME_TRIES)
		salt++;
	int r = create_nameless(f);
	for (; r < 0 && salt < MAX_NAME_TRIES; salt++) {
		r = create_named(f);
		if (r != -EEXIST)
			break;
		choose_name(f, salt + 1);
	}
	if (r < 0)
		f->tmp_name[0] = '\0';
	return r;
}

/* The number of our own descriptor that w's name stands for; -1: it is something else. */
static int own_descriptor(const struct pathwalk *w)
{
	struct stat own;
	char *end;
	if (!w->is_proc_link || stat("/proc/self/fd", &own) < 0 || own.st_dev != w->folder.st_dev ||
	    own.st_ino != w->folder.st_ino)
		return -1;
	long n = strtol(w->name, &end, 10);
	return *end == '\0' && n >= 0 && n <= INT_MAX ? (int)n : -1;
}

static int open_directly(struct outfile *f, const struct pathwalk *w)
{
	int own = own_descriptor(w);
	if (own >= 0) {
		int flags = fcntl(own, F_GETFL);
		if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY)
			return -EBADF;
		f->fd = fcntl(own, F_DUPFD_CLOEXEC, 3);
		return f->fd < 0 ? -errno : 0;
	}
	int fd = pathwalk_open_found(w, O_WRONLY | O_NOCTTY);
	f->fd = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

static int open_found(struct outfile *f, struct pathwalk *w, struct err *e)
{
	bool exists = w->fd >= 0;
	if (!w->name[0] || (exists && S_ISDIR(w->st.st_mode)) || (!exists && w->has_slash))
		return -EISDIR;
	if (exists && own_descriptor(w) >= 0)
		return open_directly(f, w);
	f->is_shared = pathwalk_is_shared(&w->folder);
	int r = exists && f->is_shared ? check_entry(f->path, &w->st, e) : 0;
	if (r < 0)
		return r;
	if (exists && !S_ISREG(w->st.st_mode))
		return open_directly(f, w);
	if (w->is_proc_link)
		return err_set(e, EPERM, "cannot write '%s': it is another process's open file; "
			       "name the file itself", f->path);
	if (exists && faccessat(w->folder_fd, w->name, W_OK, AT_EACCESS) < 0)
		return -errno;
	memcpy(f->name, w->name, sizeof(f->name));
	f->folder_fd = TAKE_FD(w->folder_fd);
	r = create_temporary(f);
	if (r < 0)
		return r;
	if (exists && w->st.st_uid == geteuid())
		f->mode = w->st.st_mode & MODE_ALL;
	return 0;
}

static int open_path(struct outfile *f, struct err *e)
{
	const struct pathwalk_policy policy = {
		.root_fd = -1, .link = check_link, .ctx = f->path,
	};
	struct pathwalk w;
	int r = pathwalk_open(f->path, &policy, &w, e);
	if (r < 0)
		return r;
	r = open_found(f, &w, e);
	pathwalk_close(&w);
	return r;
}

static void done(struct outfile *f)
{
	if (f->path && f->fd >= 0)
		close(f->fd);
	if (f->path && f->folder_fd >= 0)
		close(f->folder_fd);
	free(f->path);
	*f = (struct outfile){ .fd = -1, .folder_fd = -1, .committed = f->committed };
}

int outfile_open(struct outfile *f, const char *path, struct err *e)
{
	struct err why = { 0 };
	struct outfile fresh = { .fd = -1, .folder_fd = -1, .path = strdup(path) };
	int r = fresh.path ? open_path(&fresh, &why) : -ENOMEM;
	if (r < 0) {
		done(&fresh);
		if (why.code && e)
			*e = why;
		return why.code ? r : open_failed(-r, path, e);
	}
	*f = fresh;
	return 0;
}

void outfile_open_fd(struct outfile *f, int fd)
{
	*f = (struct outfile){ .fd = fd, .folder_fd = -1 };
}

void outfile_limit_mode(struct outfile *f, mode_t mask)
{
	if (!f->has_mode)
		f->mode &= mask;
}

void outfile_set_mode(struct outfile *f, mode_t mode)
{
	f->mode = mode;
	f->has_mode = true;
}

/* ---- writing ----------------------------------------------------------------------- */

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

/* ---- the final name ----------------------------------------------------------------- */

/* Gives a complete file its temporary name. */
static void give_name(struct outfile *f)
{
	char fd_path[64];
	snprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", f->fd);
	if (linkat(AT_FDCWD, fd_path, f->folder_fd, f->tmp_name, AT_SYMLINK_FOLLOW) < 0)
		f->code = -errno;
	f->is_nameless = false;
}

static int close_file(struct outfile *f, struct err *e)
{
	/* File systems without modes refuse; losing the mode is better than losing the profile. */
	if (f->folder_fd >= 0 && f->fd >= 0)
		(void)!fchmod(f->fd, f->mode);
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

static int rename_to(const struct outfile *f, const char *from, const char *to, unsigned flags)
{
	return renameat2(f->folder_fd, from, f->folder_fd, to, flags) < 0 ? -errno : 0;
}

/* Checks the file that has the name now, or had it until the exchange. */
static int check_replaced(const struct outfile *f, const char *name, struct err *e)
{
	struct stat st;
	if (fstatat(f->folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	return f->is_shared ? check_entry(f->path, &st, e) : 0;
}

/* Exchanges the names, so that nothing is lost and the replaced file can still be checked. */
static int put_carefully(struct outfile *f, struct err *e)
{
	int r = -EEXIST;
	for (int i = 0; i < MAX_NAME_TRIES && (r == -EEXIST || r == -ENOENT); i++) {
		r = rename_to(f, f->tmp_name, f->name, RENAME_NOREPLACE);
		if (r != -EEXIST)
			continue;
		r = rename_to(f, f->tmp_name, f->name, RENAME_EXCHANGE);
		if (r == 0) {
			f->swapped = true;
			return check_replaced(f, f->tmp_name, e);
		}
	}
	return r;
}

static int put_in_place(struct outfile *f, bool keep_old, struct err *e)
{
	struct stat st;
	if (!f->tmp_name[0])
		return 0;
	int r = -EINVAL;
	if (keep_old || f->is_shared)
		r = put_carefully(f, e);
	/* A file system without these flags. */
	if (r != -EINVAL && r != -ENOSYS)
		return r;
	bool is_new = fstatat(f->folder_fd, f->name, &st, AT_SYMLINK_NOFOLLOW) < 0;
	r = f->is_shared ? check_replaced(f, f->name, e) : 0;
	if (r < 0)
		return r;
	r = rename_to(f, f->tmp_name, f->name, 0);
	if (r < 0)
		return r;
	if (!(keep_old && is_new))
		f->tmp_name[0] = '\0';
	return 0;
}

static void take_back(struct outfile *f, bool in_place)
{
	if (f->swapped)
		rename_to(f, f->tmp_name, f->name, RENAME_EXCHANGE);
	else if (f->tmp_name[0] && in_place)
		rename_to(f, f->name, f->tmp_name, 0);
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
		struct err why = { 0 };
		r = put_in_place(&f[n_done], n > 1, &why);
		if (r < 0) {
			if (why.code && e)
				*e = why;
			else
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
				unlinkat(f[i].folder_fd, f[i].tmp_name, 0);
			f[i].committed = true;
		}
		outfile_abort(&f[i]);
	}
	return r;
}

void outfile_unlink_unfinished(const struct outfile *f)
{
	if (f->tmp_name[0] && f->folder_fd >= 0 && !f->is_nameless && !f->committed)
		unlinkat(f->folder_fd, f->tmp_name, 0);
}

void outfile_abort(struct outfile *f)
{
	outfile_unlink_unfinished(f);
	done(f);
}

int outfile_remove(const char *path)
{
	const struct pathwalk_policy policy = {
		.root_fd = -1, .link = check_link, .ctx = (void *)path,
	};
	struct pathwalk w;
	int r = pathwalk_open(path, &policy, &w, NULL);
	if (r < 0)
		return r;
	if (w.fd < 0)
		r = -ENOENT;
	else if (!S_ISREG(w.st.st_mode) || w.st.st_uid != geteuid() || w.is_proc_link)
		r = -EPERM;
	else if (unlinkat(w.folder_fd, w.name, 0) < 0)
		r = -errno;
	pathwalk_close(&w);
	return r;
}
