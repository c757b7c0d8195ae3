/*
 * tracefs has been mounted at /sys/kernel/tracing since Linux 4.1 by nearly every distribution.
 * Older systems, and those that mount debugfs only, have it below /sys/kernel/debug/tracing.
 */
#include "event/evtrace.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *const roots[] = { "kernel/tracing/events", "kernel/debug/tracing/events" };

/* The folder of events, as a path below HOST_SYS.  -ENODEV, -EACCES. */
static int find_root(const struct host *h, const char **ret_root)
{
	int r = -ENODEV;
	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++) {
		CLEANUP_CLOSE int fd =
			host_open_file(h, HOST_SYS, O_RDONLY | O_DIRECTORY, "%s", roots[i]);
		if (fd >= 0) {
			*ret_root = roots[i];
			return 0;
		}
		if (fd == -EACCES || fd == -EPERM)
			r = -EACCES;
	}
	return r;
}

static DIR *open_folder(const struct host *h, const char *root, const char *system)
{
	int fd = host_open_file(h, HOST_SYS, O_RDONLY | O_DIRECTORY, "%s/%s", root, system);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

static int compare_points(const void *a, const void *b)
{
	return strcmp(((const struct evtrace_point *)a)->name,
		      ((const struct evtrace_point *)b)->name);
}

static int read_points(const struct host *h, const char *root, const char *system,
		       const char *pattern, struct evtrace_list *l)
{
	CLEANUP_CLOSEDIR DIR *dir = open_folder(h, root, system);
	if (!dir)
		return -ENOENT;
	for (struct dirent *d; (d = readdir(dir));) {
		long id;
		if (d->d_name[0] == '.' || fnmatch(pattern, d->d_name, 0) != 0 ||
		    host_read_long(h, HOST_SYS, &id, "%s/%s/%s/id", root, system, d->d_name) < 0 ||
		    id < 0)
			continue;
		char *name = strdup(d->d_name);
		if (!name || !VEC_PUSH(&l->points,
				       ((struct evtrace_point){ name, (uint64_t)id }))) {
			free(name);
			return -ENOMEM;
		}
	}
	if (l->points.n == 0)
		return -ENOENT;
	qsort(l->points.v, l->points.n, sizeof(*l->points.v), compare_points);
	return 0;
}

static int fail(const char *system, const char *pattern, int r, struct err *e)
{
	switch (r) {
	case -ENODEV:
		err_set(e, ENODEV, "tracepoint '%s:%s': tracefs is not mounted", system, pattern);
		err_hint(e, "mount -t tracefs nodev /sys/kernel/tracing");
		return -ENODEV;
	case -EACCES:
		err_set(e, EACCES, "tracepoint '%s:%s': tracefs may not be read", system, pattern);
		err_hint(e, "run cprof as root, or let all users read the names: mount -o "
			    "remount,mode=755 /sys/kernel/tracing");
		return -EACCES;
	case -ENOENT:
		return err_set(e, ENOENT, "there is no tracepoint '%s:%s'", system, pattern);
	default:
		return err_errno(e, -r, "cannot list tracepoints");
	}
}

int evtrace_find(const struct host *h, const char *system, const char *pattern,
		 struct evtrace_list *ret, struct err *e)
{
	struct evtrace_list l = { 0 };
	const char *root = NULL;
	int r = h ? find_root(h, &root) : -ENODEV;
	if (r < 0)
		return fail(system, pattern, r, e);
	if (strchr(system, '/') || system[0] == '.')
		return fail(system, pattern, -ENOENT, e);
	r = read_points(h, root, system, pattern, &l);
	if (r < 0) {
		evtrace_list_done(&l);
		return fail(system, pattern, r, e);
	}
	*ret = l;
	return 0;
}

void evtrace_list_done(struct evtrace_list *l)
{
	for (size_t i = 0; i < l->points.n; i++)
		free(l->points.v[i].name);
	VEC_FREE(&l->points);
}

/* ---- all files ----------------------------------------------------------------------- */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct all {
	VEC(char *) list;
};

static bool add_system(const struct host *h, const char *root, const char *system, struct all *all)
{
	CLEANUP_CLOSEDIR DIR *dir = open_folder(h, root, system);
	if (!dir)
		return true;
	for (struct dirent *d; (d = readdir(dir));) {
		char *text;
		/* The folders of events have files next to them, "enable" and "filter". */
		if (d->d_name[0] == '.' || d->d_type == DT_REG)
			continue;
		if (asprintf(&text, "%s:%s", system, d->d_name) < 0)
			return false;
		if (!VEC_PUSH(&all->list, text)) {
			free(text);
			return false;
		}
	}
	return true;
}

char *evtrace_names(const struct host *h)
{
	const char *root;
	struct all all = { 0 };
	CLEANUP_CLOSEDIR DIR *dir =
		h && find_root(h, &root) == 0 ? open_folder(h, root, ".") : NULL;
	bool ok = true;
	if (!dir)
		return strdup("");
	for (struct dirent *d; ok && (d = readdir(dir));)
		if (d->d_name[0] != '.' && d->d_type != DT_REG)
			ok = add_system(h, root, d->d_name, &all);
	if (all.list.n)
		qsort(all.list.v, all.list.n, sizeof(char *), compare_texts);
	size_t n_bytes = 1, at = 0;
	for (size_t i = 0; i < all.list.n; i++)
		n_bytes += strlen(all.list.v[i]) + 1;
	char *text = ok ? calloc(1, n_bytes) : NULL;
	for (size_t i = 0; i < all.list.n; i++) {
		if (text)
			at += (size_t)sprintf(text + at, "%s%s", at ? "\n" : "", all.list.v[i]);
		free(all.list.v[i]);
	}
	VEC_FREE(&all.list);
	return text;
}
