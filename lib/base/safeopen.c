/*
 * The users who can write to the folders of a path decide where it leads.  So a file that is not
 * world-readable is shown to root only if nobody else could change the path; "it belongs to
 * root" is not enough, since a user's link, or hard link, may lead to it.
 */

#include "base/safeopen.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fstype.h"
#include "base/helper.h"
#include "base/pathwalk.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct safeopen {
	const struct safeopen_rule *rule;
	const char *path;
	bool is_searchable;        /* by everyone: all folders so far */
	bool is_roots;             /* only root could have changed the path so far */
};

static bool is_shown(const struct safeopen *s)
{
	return s->rule->files == SAFEOPEN_SHOWN;
}

static bool is_user(const struct safeopen *s, uid_t uid)
{
	return uid == s->rule->user && uid != SAFEOPEN_NO_USER &&
	       (!is_shown(s) || getuid() == 0);
}

/* May the user with our real ids do this?  access(2) ignores our privileges. */
static int check_caller(int fd, int mode)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return access(path, mode) < 0 ? -errno : 0;
}

static int check_folder(void *ctx, int fd, const struct stat *st, struct err *e)
{
	struct safeopen *s = ctx;
	s->is_searchable &= (st->st_mode & S_IXOTH) != 0;
	s->is_roots &= st->st_uid == 0 && !(st->st_mode & (S_IWGRP | S_IWOTH));
	(void)e;
	return is_shown(s) ? check_caller(fd, X_OK) : 0;
}

static int check_link(void *ctx, const struct pathwalk_link *link, struct err *e)
{
	struct safeopen *s = ctx;
	uid_t uid = link->st->st_uid;
	s->is_roots &= uid == 0;
	if (link->in_proc)
		return err_set(e, EPERM, "'%s' leads through the link '%s' of /proc", s->path,
			       link->name);
	if (uid == 0 || uid == geteuid() || uid == getuid() || is_user(s, uid))
		return 0;
	/* A link of root's seen from a user namespace without root. */
	if (uid == link->folder->st_uid && !pathwalk_is_shared(link->folder))
		return 0;
	return err_set(e, EPERM, "'%s' leads through the link '%s', which belongs to another user "
		       "(uid %u)", s->path, link->name, (unsigned)uid);
}

static int check_owner(const struct safeopen *s, const struct stat *st, struct err *e)
{
	if (st->st_uid == 0 || st->st_uid == geteuid() || is_user(s, st->st_uid))
		return 0;
	return err_set(e, EPERM, "'%s' belongs to another user (uid %u)", s->path,
		       (unsigned)st->st_uid);
}

static int check_shown(const struct safeopen *s, const struct pathwalk *w, bool is_public,
		       struct err *e)
{
	int r = check_caller(w->fd, R_OK);
	if (r < 0)
		return err_errno(e, -r, "'%s'", s->path);
	if (is_public)
		return 0;
	if (w->st.st_nlink > 1 && pathwalk_is_shared(&w->folder))
		return err_set(e, EPERM, "'%s' has several hard links, is not world-readable, and "
			       "others can write to its directory", s->path);
	if (getuid() != 0 || is_user(s, w->st.st_uid))
		return 0;
	if (w->st.st_uid != 0)
		return err_set(e, EPERM, "'%s' belongs to another user (uid %u), and is not "
			       "world-readable", s->path, (unsigned)w->st.st_uid);
	return s->is_roots ? 0
	       : err_set(e, EPERM, "'%s' is not world-readable, and users other than root control "
			 "where its path leads", s->path);
}

static int check_file(const struct safeopen *s, const struct pathwalk *w, bool is_public,
		      struct err *e)
{
	if (w->fd < 0)
		return err_errno(e, ENOENT, "'%s'", s->path);
	if (!S_ISREG(w->st.st_mode))
		return err_set(e, EINVAL, "'%s' is not a regular file", s->path);
	if (s->rule->n_bytes_max && (uint64_t)w->st.st_size > s->rule->n_bytes_max)
		return err_set(e, EFBIG, "'%s' is larger than %llu MiB", s->path,
			       (unsigned long long)(s->rule->n_bytes_max >> 20));
	switch (s->rule->files) {
	case SAFEOPEN_ANY: return 0;
	case SAFEOPEN_OWNED: return check_owner(s, &w->st, e);
	case SAFEOPEN_SHOWN: return check_shown(s, w, is_public, e);
	}
	return -EINVAL;
}

/* at_once: as in struct pathwalk_policy. */
static int open_file(const char *path, const struct safeopen_rule *rule,
		     struct fstype_cache *at_once, struct safeopen_file *ret, struct err *e)
{
	struct safeopen s = { .rule = rule, .path = path, .is_searchable = true, .is_roots = true };
	const struct pathwalk_policy policy = {
		.root_fd = rule->root_fd, .folder = check_folder, .link = check_link, .ctx = &s,
		.at_once = at_once,
	};
	struct pathwalk w;
	struct err why = { 0 };
	int fd = pathwalk_open(path, &policy, &w, &why);
	if (fd < 0) {
		if (why.code)
			*e = why;
		else
			err_errno(e, -fd, "'%s'", path);
		return fd;
	}
	*ret = (struct safeopen_file){ .st = w.st };
	memcpy(ret->name, w.name, sizeof(ret->name));
	ret->is_public = s.is_searchable && (w.st.st_mode & S_IROTH);
	fd = check_file(&s, &w, ret->is_public, e);
	if (fd == 0) {
		fd = pathwalk_open_found(&w, O_RDONLY | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			err_errno(e, -fd, "'%s'", path);
	}
	pathwalk_close(&w);
	return fd;
}

/* ---- file systems that may wait --------------------------------------------------- */

struct safeopen_waits {
	struct fstype_cache types;
	struct helper_cost cost;
};

struct safeopen_waits *safeopen_waits_new(void)
{
	return calloc(1, sizeof(struct safeopen_waits));
}

void safeopen_waits_free(struct safeopen_waits *w)
{
	if (w)
		helper_reap(&w->cost);
	free(w);
}

struct slow_open {
	const char *path;
	const struct safeopen_rule *rule;
};

struct answer {
	int code;                  /* 0 or -errno */
	bool is_copied;            /* else a descriptor comes with it */
	struct safeopen_file found;
	struct err why;
};
static_assert(sizeof(struct answer) <= HELPER_ANSWER_BYTES_MAX, "an answer is one message");

static int run_open(void *ctx, void *answer, int copy_fd, uint64_t n_bytes_max)
{
	const struct slow_open *s = ctx;
	struct answer *a = answer;
	struct stat st;
	mode_t mode;
	int fd = open_file(s->path, s->rule, NULL, &a->found, &a->why);
	a->code = fd < 0 ? fd : 0;
	if (fd < 0 || fstype_of(NULL, fd, 0, &mode) == FSTYPE_LOCAL)
		return fd;
	a->is_copied = true;
	a->code = helper_copy(fd, copy_fd, n_bytes_max, &st);
	if (a->code == -EFBIG)
		err_set(&a->why, EFBIG, "'%s' is on a file system that may not answer, and is "
			"larger than the %llu MiB that may be copied", s->path,
			(unsigned long long)n_bytes_max >> 20);
	else if (a->code < 0)
		err_errno(&a->why, -a->code, "'%s'", s->path);
	return -1;
}

static int open_slowly(const char *path, const struct safeopen_rule *rule,
		       struct safeopen_file *ret, struct err *e)
{
	struct slow_open s = { .path = path, .rule = rule };
	const struct helper_job job = { .run = run_open, .ctx = &s, .keep = { rule->root_fd, -1 },
		.n_answer_bytes = sizeof(struct answer) };
	struct answer a;
	CLEANUP_CLOSE int fd = -1, copy = -1;
	int r = helper_ask(&rule->waits->cost, &job, &a, &fd, &copy);
	if (r == -ETIMEDOUT)
		return err_set(e, ETIMEDOUT, "'%s' is on a file system that did not answer in time",
			       path);
	if (r < 0)
		return err_errno(e, -r, "'%s'", path);
	if (a.code < 0) {
		*e = a.why;
		return a.code;
	}
	*ret = a.found;
	return a.is_copied ? TAKE_FD(copy) : TAKE_FD(fd);
}

int safeopen_file(const char *path, const struct safeopen_rule *rule, struct safeopen_file *ret,
		  struct err *e)
{
	struct safeopen_file found;
	struct err why = { 0 };
	int fd = open_file(path, rule, rule->waits ? &rule->waits->types : NULL, &found, &why);
	if (fd == -EREMOTE && rule->waits)
		fd = open_slowly(path, rule, &found, &why);
	if (fd < 0 && e)
		*e = why;
	if (fd >= 0 && ret)
		*ret = found;
	return fd;
}
