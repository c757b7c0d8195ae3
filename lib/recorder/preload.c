/*
 * The ring belongs to this process, so that what a process of the command wrote is not lost when
 * it ends.  The library opens it by its name in /proc; where that is impossible (another user,
 * another PID namespace), it makes one of its own, which the recorder finds.
 *
 * The library becomes a part of each program that the command starts: it must not be a file that
 * somebody else can change.
 */

#include "recorder/preload.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/pathwalk.h"
#include "cprof.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RING_BYTES (16u << 20)

/* Whoever can change this program can do what the library could. */
struct trust {
	const char *path;
	uid_t user;                    /* the owner of this program */
	gid_t group;                   /* that can write to its folder; 0: none */
};

static void find_trust(struct trust *t)
{
	char path[PATH_MAX];
	struct stat st;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (stat("/proc/self/exe", &st) == 0)
		t->user = st.st_uid;
	while (n > 0 && path[n - 1] != '/')
		n--;
	path[n > 0 ? n : 0] = '\0';
	if (*path && stat(path, &st) == 0 && st.st_mode & S_IWGRP)
		t->group = st.st_gid;
}

/* Can nobody else write to it, or exchange what is in the folder? */
static bool is_trusted(const struct trust *t, const struct stat *st)
{
	bool is_sticky = S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX;
	if (st->st_uid != 0 && st->st_uid != geteuid() && st->st_uid != t->user)
		return false;
	if (st->st_mode & S_IWOTH && !is_sticky)
		return false;
	return !(st->st_mode & S_IWGRP) || is_sticky || st->st_gid == 0 || st->st_gid == t->group;
}

static int check_folder(void *ctx, int fd, const struct stat *st, struct err *e)
{
	const struct trust *t = ctx;
	(void)fd;
	if (is_trusted(t, st))
		return 0;
	err_set(e, EPERM, "'%s': another user can write to a directory in its path", t->path);
	return -EPERM;
}

/* The file and all folders on its path. */
static int check_library(const char *path, struct err *e)
{
	struct pathwalk walk;
	struct trust t = { .path = path };
	const struct pathwalk_policy policy = {
		.root_fd = -1, .folder = check_folder, .ctx = &t,
	};
	find_trust(&t);
	if (path[strcspn(path, ": \t\n$")])
		return err_set(e, EINVAL, "'%s': LD_PRELOAD takes no path with spaces, colons or "
			       "dollar signs", path);
	int r = pathwalk_open(path, &policy, &walk, e);
	if (r < 0)
		return r;
	struct stat st = walk.st;
	bool is_there = walk.fd >= 0;
	pathwalk_close(&walk);
	if (!is_there)
		return err_errno(e, ENOENT, "'%s'", path);
	if (!S_ISREG(st.st_mode) || !is_trusted(&t, &st))
		return err_set(e, EPERM, "'%s': another user can write to the library", path);
	return 0;
}

static char *format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static char *format(const char *fmt, ...)
{
	char *text;
	va_list ap;
	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	return n < 0 ? NULL : text;
}

int cprof_preload_new(const char *library, struct cprof_preload **ret, struct err *e)
{
	const char *others = getenv("LD_PRELOAD");
	int r = check_library(library, e);
	if (r < 0)
		return r;
	struct cprof_preload *p = calloc(1, sizeof(*p));
	if (!p)
		return err_errno(e, ENOMEM, "cannot set up recording");
	p->ring.fd = -1;
	r = allocring_make(&p->ring, RING_BYTES, e);
	if (r == 0) {
		/* Before others: their blocks are counted, too. */
		p->variable[0] = format("LD_PRELOAD=%s%s%s", library,
					others && *others ? ":" : "", others ? others : "");
		p->variable[1] = format("%s=/proc/%d/fd/%d", ALLOCFORMAT_RING_VARIABLE, getpid(),
					p->ring.fd);
		if (!p->variable[0] || !p->variable[1])
			r = err_errno(e, ENOMEM, "cannot set up recording");
	}
	if (r < 0) {
		cprof_preload_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

const char *cprof_preload_variable(const struct cprof_preload *p, size_t i)
{
	return i < PRELOAD_VARIABLES ? p->variable[i] : NULL;
}

void cprof_preload_free(struct cprof_preload *p)
{
	if (!p)
		return;
	allocring_close(&p->ring);
	free(p->variable[0]);
	free(p->variable[1]);
	free(p);
}
