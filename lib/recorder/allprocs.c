/*
 * One event on each CPU, and every task that runs there belongs to the target: only the idle task
 * does not.  What lived before the events did is read from /proc, process after process, while
 * records wait in the rings.  A thousand processes take a tenth of a second; on a machine
 * with far more of them the rings would overflow meanwhile.  So the reading ends in time, and the
 * rest is read as after a loss of records (reread-maps.c): each at its first sample, unless records
 * have told all of it by then, as they do from an exec on.  To read nothing in advance was tried: a
 * process that ends within the tenth of a second in which its samples wait has no maps any more.
 */
#include "recorder/allprocs.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/log.h"
#include "cprof.h"
#include "engine/engine.h"
#include "source/cpus.h"
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

/* "0-1", "3" ...: each part of the list by itself, for the user's order is no matter. */
static int check_part(const char *part, size_t n_bytes, const int *online, int n_online,
		      struct err *e)
{
	char text[32];
	int *cpus = NULL, n = -EINVAL;
	if (n_bytes && n_bytes < sizeof(text)) {
		memcpy(text, part, n_bytes);
		text[n_bytes] = '\0';
		n = cpus_parse(text, &cpus);
	}
	if (n < 0)
		return err_usage(e, "'%.*s' is no list of CPUs: write 0,2 or 0-3,8", (int)n_bytes,
				 part);
	int code = 0;
	for (int i = 0; i < n && code == 0; i++)
		if (!is_online(online, n_online, cpus[i]))
			code = err_set(e, ENODEV, "CPU %d is not online", cpus[i]);
	free(cpus);
	return code;
}

static int check_cpus(const char *list, const struct host *h, struct err *e)
{
	int *online = NULL, code = 0;
	int n = cpus_online(h, &online, e);
	if (n < 0)
		return n;
	for (const char *p = list; code == 0; p++) {
		size_t n_bytes = strcspn(p, ",");
		code = check_part(p, n_bytes, online, n, e);
		p += n_bytes;
		if (!*p)
			break;
	}
	if (code == -ENODEV)
		err_hint(e, "/sys/devices/system/cpu/online tells which are");
	free(online);
	return code;
}

/* The kernel tells ids of the caller's pid namespace, and 0 for who is in none below it. */
static void note_namespace(const struct host *h, const struct log *log)
{
	struct stat st;
	CLEANUP_CLOSE int fd = host_open_file(h, HOST_PROC, O_RDONLY, "self/ns/pid");
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_ino == INIT_PID_NAMESPACE_INODE)
		return;
	log_line(log, LOG_WARN, "processes outside of this pid namespace are left out: the "
		 "kernel does not tell their ids here");
}

int allprocs_check(struct cprof_config *c, const struct host *h, const struct log *log,
		   struct err *e)
{
	if (!c->all_processes)
		return c->cpus ? err_usage(e, "CPUs can be chosen for all processes together only")
			       : 0;
	if (c->n_pids + c->n_tids || c->command_pid)
		return err_usage(e, "all processes and single targets exclude each other");
	if (c->no_inherit)
		return err_usage(e, "with all processes, none can be left out that is made later");
	if (c->scope != CPROF_SCOPE_AUTO && c->scope != CPROF_SCOPE_CPU)
		return err_usage(e, "all processes are recorded in the scope cpu only");
	c->scope = CPROF_SCOPE_CPU;
	int code = c->cpus ? check_cpus(c->cpus, h, e) : 0;
	if (code == 0)
		note_namespace(h, log);
	return code;
}

void allprocs_explain(struct err *e)
{
	char hint[ERR_TEXT_MAX];
	if (!e || (e->code != -EACCES && e->code != -EPERM))
		return;
	snprintf(hint, sizeof(hint), "%s", e->hint);
	err_hint(e, "%.800s%scprof doctor tells what is allowed here: see its line 'Whole CPUs'",
		 hint, hint[0] ? "\n" : "");
}

static void feed(void *ctx, const struct record *record)
{
	engine_feed(ctx, record);
}

void allprocs_read_proc(struct engine *g, const struct host *h, const struct log *log)
{
	pid_t *pid = NULL;
	uint64_t begin_ns = clock_monotonic_ns();
	int n = synth_list(h, 0, &pid), i = 0;
	/* Who is not read here is behind by one loss. */
	g->remap.n_losses++;
	g->remap.is_lazy = true;
	for (; i < n && clock_monotonic_ns() - begin_ns < ALLPROCS_READ_NS; i++) {
		synth_process(h, pid[i], begin_ns, feed, g);
		struct procs_process *p = procs_find(&g->procs, (uint32_t)pid[i]);
		if (p)
			p->n_losses_seen = g->remap.n_losses;
	}
	log_line(log, LOG_EXPLAIN, "%d of %d processes were read from /proc in %.1f ms%s", i,
		 n < 0 ? 0 : n, (double)(clock_monotonic_ns() - begin_ns) / 1e6,
		 i < n ? "; the others follow with their first sample" : "");
	free(pid);
}
