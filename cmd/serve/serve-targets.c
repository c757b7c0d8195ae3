/* Names and groups are looked up when a request comes; a group is read with those below it. */
#include "cmd/serve/serve-targets.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "cmd/record/findprocs.h"
#include "cmd/serve/peer.h"
#include "cmd/serve/request.h"

#include <errno.h>
#include <fts.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TARGETS_MAX 4096u
#define CGROUPS_MAX 4096u

static int fail_memory(struct err *e)
{
	err_errno(e, ENOMEM, "cannot find the processes");
	return 500;
}

static int join_ids(const struct findprocs_ids *ids, char **ret, struct err *e)
{
	char *text = NULL;
	size_t n = 0;
	if (ids->pids.n > TARGETS_MAX) {
		err_usage(e, "these are %zu processes, of at most %u", ids->pids.n, TARGETS_MAX);
		return 400;
	}
	FILE *to = open_memstream(&text, &n);
	if (!to)
		return fail_memory(e);
	for (size_t i = 0; i < ids->pids.n; i++)
		fprintf(to, "%s%d", i ? "," : "", (int)ids->pids.v[i]);
	if (fclose(to) != 0) {
		free(text);
		return fail_memory(e);
	}
	*ret = text;
	return 0;
}

static int find_id(const char *text, struct findprocs_ids *ids, struct err *e)
{
	pid_t pid = (pid_t)strtol(text, NULL, 0);
	if (kill(pid, 0) < 0 && errno == ESRCH) {
		err_set(e, ESRCH, "there is no process %d", (int)pid);
		return 404;
	}
	return VEC_PUSH(&ids->pids, pid) ? 0 : fail_memory(e);
}

static int find_named(const char *name, uid_t uid, struct findprocs_ids *ids, struct err *e)
{
	struct host h = { .fd = { -1, -1, -1 } };
	struct findprocs f = { 0 };
	int status = 500;
	if (host_open(&h, NULL, NULL, NULL, e) == 0 && findprocs_read(&f, &h, e) == 0)
		status = findprocs_add_named(&f, name, getpid(), uid, ids) ? 0 : fail_memory(e);
	findprocs_done(&f);
	host_close(&h);
	if (status == 0 && ids->pids.n == 0) {
		err_set(e, ESRCH, "no process has the name '%.200s'", name);
		return 404;
	}
	return status;
}

static bool read_processes(const char *folder, struct findprocs_ids *ids)
{
	char path[4096];
	int pid, n = snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	CLEANUP_FCLOSE FILE *f = n < (int)sizeof(path) ? fopen(path, "re") : NULL;
	/* 0 is a process outside of our pid namespace. */
	while (f && fscanf(f, "%d", &pid) == 1)
		if (pid > 0 && ids->pids.n <= TARGETS_MAX && !VEC_PUSH(&ids->pids, (pid_t)pid))
			return false;
	return true;
}

/* Where the groups of version 2 are, or those of systemd where that uses version 1. */
static bool find_mount(char *ret, size_t n_bytes)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	bool is_found = false, is_v2 = false;
	for (struct mntent *m; f && !is_v2 && (m = getmntent(f));) {
		is_v2 = strcmp(m->mnt_type, "cgroup2") == 0;
		bool is_v1 = strcmp(m->mnt_type, "cgroup") == 0 && hasmntopt(m, "name");
		if (!is_v2 && !is_v1)
			continue;
		snprintf(ret, n_bytes, "%s", m->mnt_dir);
		is_found = true;
	}
	if (f)
		endmntent(f);
	return is_found;
}

static int compare_ids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
	return (x > y) - (x < y);
}

/* A process that moves meanwhile may be in two groups. */
static void remove_twins(struct findprocs_ids *ids)
{
	size_t n = 0;
	if (ids->pids.n > 1)
		qsort(ids->pids.v, ids->pids.n, sizeof(*ids->pids.v), compare_ids);
	for (size_t i = 0; i < ids->pids.n; i++)
		if (i == 0 || ids->pids.v[i] != ids->pids.v[n - 1])
			ids->pids.v[n++] = ids->pids.v[i];
	ids->pids.n = n;
}

/* The processes of the group and of those below it. */
static int find_cgroup(const char *name, struct findprocs_ids *ids, struct err *e)
{
	char mount[256], path[600];
	if (!find_mount(mount, sizeof(mount))) {
		err_set(e, ENOENT, "no cgroups are mounted");
		return 404;
	}
	snprintf(path, sizeof(path), "%s/%s", mount, name + strspn(name, "/"));
	char *roots[] = { path, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	bool ok = walk;
	size_t n = 0;
	for (FTSENT *at; ok && n < CGROUPS_MAX && (at = fts_read(walk));)
		if (at->fts_info == FTS_D) {
			ok = read_processes(at->fts_path, ids);
			n++;
		}
	if (walk)
		fts_close(walk);
	if (!ok)
		return fail_memory(e);
	remove_twins(ids);
	if (ids->pids.n)
		return 0;
	err_set(e, ESRCH, n ? "the cgroup '%.200s' has no processes" :
		"there is no cgroup '%.200s'", name);
	return 404;
}

static bool is_id(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

int serve_targets_find(const struct request *r, const char *process, const struct peer *p,
		       char **ret, struct err *e)
{
	struct findprocs_ids ids = { .pids = { 0 } };
	int status = 0;
	switch (r->target) {
	case REQUEST_PID: status = find_id(r->target_text, &ids, e); break;
	case REQUEST_COMM: status = find_named(r->target_text, p->uid, &ids, e); break;
	case REQUEST_CGROUP: status = find_cgroup(r->target_text, &ids, e); break;
	case REQUEST_DEFAULT:
		if (process)
			status = is_id(process) ? find_id(process, &ids, e) :
						  find_named(process, p->uid, &ids, e);
		break;
	}
	bool needs_target = r->what == REQUEST_ALLOC || r->what == REQUEST_HEAP ||
			    r->what == REQUEST_GOROUTINES;
	if (status == 0 && ids.pids.n == 0 && needs_target) {
		err_usage(e, "whose profile? Add pid=PID, comm=NAME or cgroup=PATH");
		status = 400;
	}
	if (status == 0)
		status = join_ids(&ids, ret, e);
	VEC_FREE(&ids.pids);
	return status;
}
