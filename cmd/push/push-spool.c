/*
 * The recorder may be under somebody else's control, and it may want to see files that only the
 * pusher can read, such as its token.  So only regular files of the folder's owner with one link
 * are read: neither symbolic nor hard links lead to a file of the pusher.
 */

#include "cmd/push/push-spool.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "proto/gzip.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the folder ---------------------------------------------------------------------- */

int push_spool_open(struct push_spool *s, const char *path, struct err *e)
{
	struct stat st;
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, errno, "cannot open the spool '%s'", path);
	if (faccessat(fd, ".", R_OK | W_OK | X_OK, AT_EACCESS) < 0) {
		int code = errno;
		err_errno(e, code, "cannot remove files from the spool '%s'", path);
		err_hint(e, "the recorder has to give the directory this user's group");
		return -code;
	}
	*s = (struct push_spool){ .fd = TAKE_FD(fd), .owner = st.st_uid };
	return 0;
}

void push_spool_close(struct push_spool *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	VEC_FREE(&s->name);
}

static int compare(const void *a, const void *b)
{
	return spool_name_compare(a, b);
}

static void sort_names(struct push_spool *s)
{
	if (s->name.n > 1)
		qsort(s->name.v, s->name.n, sizeof(*s->name.v), compare);
	if (s->name.n > PUSH_SCAN_MAX)
		s->name.n = PUSH_SCAN_MAX;
}

int push_spool_scan(struct push_spool *s, struct err *e)
{
	CLEANUP_CLOSE int fd = openat(s->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *d;
	if (!dir)
		return err_errno(e, errno, "cannot read the spool");
	fd = -1;
	s->name.n = 0;
	while ((errno = 0, d = readdir(dir))) {
		struct spool_name name;
		if (!spool_name_parse(d->d_name, SPOOL_PROFILE, &name))
			continue;
		if (!VEC_PUSH(&s->name, name))
			return err_errno(e, ENOMEM, "cannot read the spool");
		if (s->name.n == 2 * PUSH_SCAN_MAX)
			sort_names(s);
	}
	if (errno)
		return err_errno(e, errno, "cannot read the spool");
	sort_names(s);
	return 0;
}

/* ---- files --------------------------------------------------------------------------- */

/* Opens a file that the recorder can have written; its size is *ret_bytes, and at most max. */
static int open_file(const struct push_spool *s, const char *name, size_t max, size_t *ret_bytes,
		     struct err *e)
{
	struct stat st;
	CLEANUP_CLOSE int fd = openat(s->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
				      O_CLOEXEC);
	if (fd < 0) {
		int code = errno;
		bool is_odd = code == ELOOP || code == ENXIO || code == EISDIR || code == EACCES;
		return err_errno(e, is_odd ? EINVAL : code, "cannot open '%s'", name);
	}
	if (fstat(fd, &st) < 0)
		return err_errno(e, errno, "cannot open '%s'", name);
	if (!S_ISREG(st.st_mode) || st.st_nlink > 1 || st.st_uid != s->owner)
		return err_set(e, EINVAL, "'%s' is not a file of the spool's owner with one link",
			       name);
	if (st.st_size < 0 || (size_t)st.st_size > max)
		return err_set(e, EINVAL, "'%s' has more than %zu bytes", name, max);
	*ret_bytes = (size_t)st.st_size;
	return TAKE_FD(fd);
}

/* The caller frees *ret, which has *ret_n bytes. */
static int read_file(const struct push_spool *s, const char *name, size_t max, uint8_t **ret,
		     size_t *ret_n, struct err *e)
{
	size_t n = 0, done = 0;
	CLEANUP_CLOSE int fd = open_file(s, name, max, &n, e);
	if (fd < 0)
		return fd;
	CLEANUP_FREE uint8_t *data = malloc(n + 1);
	if (!data)
		return err_errno(e, ENOMEM, "cannot read '%s'", name);
	while (done < n) {
		ssize_t r = read(fd, data + done, n - done);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return err_errno(e, errno, "cannot read '%s'", name);
		if (r == 0)
			break;
		done += (size_t)r;
	}
	*ret = TAKE_PTR(data);
	*ret_n = done;
	return 0;
}

static int read_pairs(const struct push_spool *s, const char *name, struct keyvalues *ret,
		      struct err *e)
{
	CLEANUP_FREE uint8_t *text = NULL;
	size_t n;
	int r = read_file(s, name, KEYVALUE_BYTES_MAX, &text, &n, e);
	if (r < 0)
		return r;
	r = keyvalues_parse((const char *)text, n, ret);
	return r < 0 ? err_set(e, -r, "'%s' has a line that is not 'key=value'", name) : 0;
}

CLEANUP_DEFINE(struct push_item, push_item_free)

int push_spool_read(const struct push_spool *s, const struct spool_name *name,
		    struct push_item **ret, struct err *e)
{
	char profile[SPOOL_NAME_MAX], meta[SPOOL_NAME_MAX];
	CLEANUP(push_item_freep) struct push_item *item = calloc(1, sizeof(*item));
	if (!item)
		return err_errno(e, ENOMEM, "cannot read a profile");
	item->name = *name;
	spool_name_text(name, SPOOL_PROFILE, profile);
	spool_name_text(name, SPOOL_META, meta);
	int r = read_file(s, profile, PUSH_PROFILE_BYTES_MAX, &item->data, &item->n_bytes, e);
	if (r < 0)
		return r;
	if (!gzip_is(item->data, item->n_bytes))
		return err_set(e, EINVAL, "'%s' is not compressed by gzip", profile);
	r = read_pairs(s, meta, &item->meta, e);
	/* Labels come before their profile and go after it. */
	if (r == -ENOENT && faccessat(s->fd, profile, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return err_set(e, EINVAL, "'%s' has no labels", profile);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(item);
	return 0;
}

void push_item_free(struct push_item *i)
{
	if (!i)
		return;
	free(i->data);
	keyvalues_done(&i->meta);
	free(i);
}

int push_spool_counters(const struct push_spool *s, struct keyvalues *ret, struct err *e)
{
	return read_pairs(s, SPOOL_COUNTERS, ret, e);
}
