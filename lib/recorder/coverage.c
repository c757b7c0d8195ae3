/*
 * Nothing here costs the target anything.  A counting event, inherited by every thread, would be
 * exact, but makes creating a thread half as expensive again.  So cprof reads accounts that the
 * kernel keeps anyway: process clocks, /proc/PID/stat for children that were waited for, wait4(2)
 * for commands, /proc/stat for whole CPUs.
 */

#include "recorder/coverage.h"

#include "base/cpus.h"
#include "cprof.h"
#include "proc/cputime.h"
#include "proc/procs.h"
#include "proc/cgroup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_task(const struct coverage *c, uint32_t pid)
{
	for (size_t i = 0; i < c->n_tasks; i++)
		if (!c->task[i].is_thread && (uint32_t)c->task[i].id == pid)
			return true;
	return false;
}

/* The children that targets have already, unless they are targets, too. */
static void find_outside(struct coverage *c)
{
	size_t n = 0;
	for (size_t i = 0; i < c->n_tasks; i++)
		if (!c->task[i].is_thread)
			childpids_read(c->host, c->task[i].id, &c->outside);
	for (size_t i = 0; i < c->outside.pids.n; i++)
		if (!is_task(c, (uint32_t)c->outside.pids.v[i]))
			c->outside.pids.v[n++] = c->outside.pids.v[i];
	c->outside.pids.n = n;
}

int coverage_init(struct coverage *c, const struct host *h, const pid_t *pid, size_t n_pids,
		  const pid_t *tid, size_t n_tids, pid_t command_pid, bool follow,
		  const struct cgroup *cgroup)
{
	*c = (struct coverage){
		.host = h, .follow = follow, .cgroup = cgroup,
	};
	c->task = calloc(n_pids + n_tids + 1, sizeof(*c->task));
	if (!c->task)
		return -ENOMEM;
	if (command_pid)
		c->task[c->n_tasks++].id = command_pid;
	for (size_t i = 0; i < n_pids; i++)
		c->task[c->n_tasks++].id = pid[i];
	for (size_t i = 0; i < n_tids; i++)
		c->task[c->n_tasks++] = (struct coverage_task){ .id = tid[i], .is_thread = true };
	if (follow && !cgroup)
		find_outside(c);
	return 0;
}

void coverage_done(struct coverage *c)
{
	free(c->task);
	childpids_done(&c->outside);
	*c = (struct coverage){ 0 };
}

static int task_used(const struct coverage *c, const struct coverage_task *t, uint64_t *ret_ns,
		     uint64_t *ret_children_ns)
{
	*ret_children_ns = 0;
	if (c->command_done && t == &c->task[0]) {
		*ret_ns = c->command_ns;
		return 0;
	}
	if (t->is_thread)
		return cputime_thread_ns(c->host, t->id, t->id, ret_ns);
	if (c->follow)
		cputime_children_ns(c->host, t->id, ret_children_ns);
	return cputime_process_ns(t->id, ret_ns);
}

void coverage_watch_cpus(struct coverage *c, bool all, const char *cpus)
{
	c->all = all;
	c->cpus = cpus;
}

static bool outside_ended(const struct coverage *c)
{
	uint64_t ns;
	for (size_t i = 0; i < c->outside.pids.n; i++)
		if (cputime_process_ns(c->outside.pids.v[i], &ns) < 0)
			return true;
	return false;
}

void coverage_start(struct coverage *c)
{
	if (c->all)
		cpus_busy_ns(c->host, c->cpus, &c->base_cpus_ns);
	if (c->cgroup)
		cgroup_cpu_ns(c->cgroup, &c->base_cgroup_ns);
	for (size_t i = 0; i < c->n_tasks; i++)
		task_used(c, &c->task[i], &c->task[i].base_ns, &c->task[i].base_children_ns);
}

/* What the targets used since recording began; false if an account is missing. */
static bool add_tasks(const struct coverage *c, uint64_t *ret_ns)
{
	uint64_t ns, children_ns;
	bool known = true;
	*ret_ns = 0;
	for (size_t i = 0; i < c->n_tasks; i++) {
		const struct coverage_task *t = &c->task[i];
		/* Without following, a process's clock includes new threads that are not in the
		 * profile; and no account of a thread includes its children. */
		if (task_used(c, t, &ns, &children_ns) < 0 || (!c->follow && !t->is_thread) ||
		    (c->follow && t->is_thread))
			known = false;
		else
			*ret_ns += ns + children_ns - t->base_ns - t->base_children_ns;
	}
	return known && !outside_ended(c);
}

/* What children used that still live; their parents' accounts include the others. */
static uint64_t children_used(const struct coverage *c, const struct procs *procs)
{
	uint64_t ns, children_ns, sum = 0;
	for (size_t i = 0; i < procs->n_processes; i++) {
		const struct procs_process *p = procs->process[i];
		struct coverage_task child = { .id = (pid_t)p->pid };
		if (!p->exited && !is_task(c, p->pid) &&
		    task_used(c, &child, &ns, &children_ns) == 0)
			sum += ns + children_ns;
	}
	return sum;
}

void coverage_stop(struct coverage *c, const struct procs *procs)
{
	uint64_t ns;
	if (c->all) {
		c->known = c->base_cpus_ns && cpus_busy_ns(c->host, c->cpus, &ns) == 0;
		if (c->known)
			c->used_ns = ns - c->base_cpus_ns;
		return;
	}
	if (c->cgroup && cgroup_cpu_ns(c->cgroup, &ns) == 0) {
		c->used_ns = ns - c->base_cgroup_ns;
		/* A descendant that moved to another cgroup was not sampled there. */
		if (c->command_done && c->command_ns - c->task[0].base_ns > c->used_ns)
			c->used_ns = c->command_ns - c->task[0].base_ns;
		c->known = true;
		return;
	}
	c->known = add_tasks(c, &c->used_ns);
	if (c->follow)
		c->used_ns += children_used(c, procs);
}

bool coverage_used(const struct coverage *c, const struct procs *procs, uint64_t *ret_ns)
{
	if (!add_tasks(c, ret_ns))
		return false;
	*ret_ns += c->follow ? children_used(c, procs) : 0;
	return true;
}

void coverage_command_used(struct coverage *c, uint64_t cpu_ns)
{
	c->command_ns = cpu_ns;
	c->command_done = true;
}

bool coverage_is_one_side(const struct cprof_config *config, const char *name,
			  bool given_up_kernel)
{
	return config->only_user || config->only_kernel || given_up_kernel || strchr(name, ':');
}

double coverage_percent(const struct cprof_config *config, const struct cprof_stats *stats,
			const struct cprof_event_stats *event)
{
	uint64_t truth = event->counted;
	bool known = event->counted_target;
	if (event->is_clock) {
		/* The clock counts user and kernel time; samples of one of them stand for only a
		 * part of it. */
		bool one_side = coverage_is_one_side(config, event->name, event->given_up_kernel);
		truth = stats->cpu_used_ns;
		known = stats->cpu_used_known && !one_side && !stats->user_only;
	}
	if (!known || !truth)
		return -1;
	return 100.0 * (double)event->value / (double)truth;
}
