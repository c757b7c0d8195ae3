/*
 * There is one event on each CPU, and every task that runs there belongs to the target, except the
 * idle task.  Existing processes are read from /proc, one after the other, while records wait in
 * the rings.  A thousand processes take a tenth of a second; with far more of them the rings would
 * overflow.  So reading stops after a time limit, and the remaining processes are handled as after
 * a loss of records (reread-maps.c): each is read at its first sample, unless records since its
 * exec have described all of it.  Reading nothing in advance was tried and rejected: a process that
 * ends within the tenth of a second in which its samples wait has no maps any more.
 */

#include "recorder/allprocs.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cpus.h"
#include "base/err.h"
#include "base/host.h"
#include "base/log.h"
#include "cprof.h"
#include "engine/engine.h"
#include "source/synth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* PROC_PID_INIT_INO of include/linux/proc_ns.h. */
#define INIT_PID_NAMESPACE_INODE 0xEFFFFFFCu

static bool is_online(const int *online, int n, int cpu)
{
	for (int i = 0; i < n; i++)
		if (online[i] == cpu)
			return true;
	return false;
}

/* Checks one part of a list, "0-1" or "3"; the parts may be in any order. */
static int check_part(const char *part, size_t n_bytes, const int *online, int n_online,
		      struct err *e)
{
	char text[32];
	CLEANUP_FREE int *cpus = NULL;
	int n = -EINVAL;
	if (n_bytes && n_bytes < sizeof(text)) {
		memcpy(text, part, n_bytes);
		text[n_bytes] = '\0';
		n = cpus_parse(text, &cpus);
	}
	if (n < 0)
		return err_usage(e, "'%.*s' is not a list of CPUs: write 0,2 or 0-3,8",
				 (int)n_bytes, part);
	for (int i = 0; i < n; i++)
		if (!is_online(online, n_online, cpus[i]))
			return err_set(e, ENODEV, "CPU %d is not online", cpus[i]);
	return 0;
}

static int check_cpus(const char *list, const struct host *h, struct err *e)
{
	CLEANUP_FREE int *online = NULL;
	int n = cpus_online(h, &online, e);
	if (n < 0)
		return n;
	for (const char *p = list;; p++) {
		size_t n_bytes = strcspn(p, ",");
		int r = check_part(p, n_bytes, online, n, e);
		if (r == -ENODEV)
			err_hint(e, "/sys/devices/system/cpu/online lists the CPUs that are");
		if (r < 0)
			return r;
		p += n_bytes;
		if (!*p)
			return 0;
	}
}

/* The kernel reports ids of the caller's pid namespace, and 0 for processes outside of it. */
static void note_namespace(const struct host *h, const struct log *log)
{
	struct stat st;
	CLEANUP_CLOSE int fd = host_open_file(h, HOST_PROC, O_RDONLY, "self/ns/pid");
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_ino == INIT_PID_NAMESPACE_INODE)
		return;
	log_line(log, LOG_WARN, "processes outside of this pid namespace are left out: the "
		 "kernel does not report their ids here");
}

int allprocs_check(struct cprof_config *c, const struct host *h, const struct log *log,
		   struct err *e)
{
	if (!c->all_processes)
		return c->cpus ? err_usage(e, "CPUs can be chosen only for all processes together")
			       : 0;
	if (c->n_pids + c->n_tids || c->command_pid)
		return err_usage(e, "all processes cannot be recorded together with single "
				 "targets");
	if (c->no_inherit)
		return err_usage(e, "all processes include later ones, which cannot be left out");
	if (c->scope != CPROF_SCOPE_AUTO && c->scope != CPROF_SCOPE_CPU)
		return err_usage(e, "all processes can be recorded only in the scope cpu");
	c->scope = CPROF_SCOPE_CPU;
	int r = c->cpus ? check_cpus(c->cpus, h, e) : 0;
	if (r < 0)
		return r;
	note_namespace(h, log);
	return 0;
}

void allprocs_explain(struct err *e)
{
	char hint[ERR_TEXT_MAX];
	if (!e || (e->code != -EACCES && e->code != -EPERM))
		return;
	snprintf(hint, sizeof(hint), "%s", e->hint);
	err_hint(e, "%.800s%scprof doctor shows what is allowed here: see its line 'Whole CPUs'",
		 hint, hint[0] ? "\n" : "");
}

static void feed_engine(void *ctx, const struct record *record)
{
	engine_feed(ctx, record);
}

void allprocs_read_proc(struct engine *g, const struct host *h, const struct log *log)
{
	pid_t *pid = NULL;
	uint64_t begin_ns = clock_monotonic_ns();
	int n = synth_list(h, 0, &pid), i = 0;
	/* Processes that are not read here count as if they had missed one loss of records. */
	g->reread.n_losses++;
	g->reread.is_lazy = true;
	for (; i < n && clock_monotonic_ns() - begin_ns < ALLPROCS_READ_NS; i++) {
		synth_process(h, pid[i], begin_ns, feed_engine, g);
		struct procs_process *p = procs_find(&g->procs, (uint32_t)pid[i]);
		if (p)
			p->n_losses_seen = g->reread.n_losses;
	}
	log_line(log, LOG_EXPLAIN, "%d of %d processes were read from /proc in %.1f ms%s", i,
		 n < 0 ? 0 : n, (double)(clock_monotonic_ns() - begin_ns) / 1e6,
		 i < n ? "; the others follow with their first sample" : "");
	free(pid);
}
