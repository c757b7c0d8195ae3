/*
 * An event that the user named and that is not allowed ends the counting, as it ends a recording.
 * One that the machine does not have keeps its row, with the reason: the others are still worth
 * reading.
 *
 * A thread that is created while the events of its process are opened inherits them only if its
 * creator had them already, and nothing shows which is the case.  So everything is opened again
 * until a scan before and one after it find the same threads.
 */
#include "counter/counter-private.h"

#include "base/cleanup.h"
#include "base/cpus.h"
#include "base/err.h"
#include "base/units.h"
#include "event/evadvice.h"
#include "event/evcause.h"
#include "source/synth.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define ATTEMPTS_MAX 10

/* ---- places ------------------------------------------------------------------------- */

static bool add_place(struct cprof_counter *c, pid_t pid, pid_t tid, int cpu)
{
	return VEC_PUSH(&c->places, ((struct counter_place){ .pid = pid, .tid = tid, .cpu = cpu }));
}

/* All threads of a process that exists at this moment. */
static int add_threads(struct cprof_counter *c, pid_t pid, struct err *e)
{
	CLEANUP_FREE pid_t *tids = NULL;
	int n = synth_list(c->host, pid, &tids);
	for (int i = 0; i < n; i++)
		if (!add_place(c, pid, tids[i], -1))
			return err_errno(e, ENOMEM, "cannot count events");
	return 0;
}

static int add_all_threads(struct cprof_counter *c, struct err *e)
{
	CLEANUP_FREE pid_t *pids = NULL;
	int n = synth_list(c->host, 0, &pids);
	if (n < 0)
		return err_errno(e, -n, "cannot list processes");
	for (int i = 0; i < n; i++) {
		int r = pids[i] == getpid() ? 0 : add_threads(c, pids[i], e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_cpus(struct cprof_counter *c, struct err *e)
{
	CLEANUP_FREE int *cpus = NULL;
	int n = cpus_online(c->host, &cpus, e);
	if (n < 0)
		return n;
	for (int i = 0; i < n; i++)
		if (cpus_contain(c->config.cpus, cpus[i]) && !add_place(c, -1, 0, cpus[i]))
			return err_errno(e, ENOMEM, "cannot count events");
	c->n_cpus = c->places.n;
	return c->places.n ? 0 : err_set(e, ENODEV, "none of the CPUs %s is online",
					 c->config.cpus);
}

/* Single threads that are also threads of a process are counted once. */
static bool has_thread(const struct cprof_counter *c, pid_t tid)
{
	for (size_t i = 0; i < c->places.n; i++)
		if (c->places.v[i].tid == tid)
			return true;
	return false;
}

static int find_places(struct cprof_counter *c, struct err *e)
{
	const struct cprof_counter_config *config = &c->config;
	c->places.n = 0;
	if (config->all_processes)
		return config->per_thread ? add_all_threads(c, e) : add_cpus(c, e);
	if (config->command_pid)
		return add_place(c, config->command_pid, 0, -1) ? 0 :
		       err_errno(e, ENOMEM, "cannot count events");
	for (size_t i = 0; i < config->n_pids; i++) {
		int r = add_threads(c, config->pid[i], e);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < config->n_tids; i++)
		if (!has_thread(c, config->tid[i]) &&
		    !add_place(c, config->tid[i], config->tid[i], -1))
			return err_errno(e, ENOMEM, "cannot count events");
	return c->places.n ? 0 : err_set(e, ESRCH, "the processes have ended");
}

/* How many threads of the processes have no events of their own. */
static size_t n_new_threads(const struct cprof_counter *c)
{
	size_t n_new = 0;
	for (size_t i = 0; i < c->config.n_pids; i++) {
		CLEANUP_FREE pid_t *tids = NULL;
		int n = synth_list(c->host, c->config.pid[i], &tids);
		for (int k = 0; k < n; k++)
			n_new += !has_thread(c, tids[k]);
	}
	return n_new;
}

/* ---- events -------------------------------------------------------------------------- */

static bool is_member(const struct cprof_counter *c, size_t i)
{
	const struct evspec *v = c->events.v;
	return i && v[i].group && v[i].group == v[i - 1].group;
}

/* Errors that say what the machine has, not what this user may do. */
static bool is_not_there(int r)
{
	return r == -ENOENT || r == -EOPNOTSUPP || r == -ENODEV || r == -ENXIO || r == -ENOSYS;
}

static const char *brief(const struct cprof_counter *c, size_t i, const struct evopen_place *at,
			 int errnum)
{
	const struct evcause_request r = {
		.spec = &c->events.v[i], .attr = &c->event[i].attr, .pid = at->pid, .cpu = at->cpu,
		.flags = at->flags,
	};
	return evadvice_brief(evcause_find(c->host, &r, errnum));
}

static void set_attr(struct cprof_counter *c, size_t i, bool is_first)
{
	struct counter_event *ev = &c->event[i];
	if (ev->is_found)
		return;
	evattr_counting(&c->events.v[i], &c->attr, &ev->attr);
	/* Members are enabled with the first event of their group. */
	if (!is_first)
		ev->attr.disabled = ev->attr.enable_on_exec = ev->attr.pinned = 0;
}

static int try_open(struct cprof_counter *c, size_t i, const struct evopen_place *at, struct err *e)
{
	struct counter_event *ev = &c->event[i];
	if (ev->is_found) {
		struct perf_event_attr attr = ev->attr;
		/* Its group may lack the first event here, as on CPUs of another PMU. */
		if (at->group_fd < 0) {
			attr.disabled = 1;
			attr.enable_on_exec = c->attr.enable_on_exec;
		}
		return evopen_again(&c->open, &c->events.v[i], &attr, at, e);
	}
	unsigned given_up = 0;
	set_attr(c, i, at->group_fd < 0);
	int fd = evopen_first(&c->open, &c->events.v[i], &ev->attr, at, &given_up, e);
	if (fd >= 0) {
		ev->is_found = true;
		ev->given_up = given_up;
	}
	return fd;
}

/* A member that its group does not accept is counted alone if the user allowed that (modifier W).
 * Otherwise the group is reported as the reason. */
static int open_outside(struct cprof_counter *c, size_t i, struct evopen_place *at, int refused,
			struct err *e)
{
	const struct evspec *s = &c->events.v[i];
	at->group_fd = -1;
	int fd = try_open(c, i, at, NULL);
	if (fd >= 0 && s->weak) {
		c->event[i].is_outside = true;
		log_line(c->open.log, LOG_NOTE, "event '%s': it does not fit into its group, and "
			 "is counted outside of it", s->name);
		return fd;
	}
	if (fd < 0)
		return refused;
	close(fd);
	return evopen_explain_group(s, -refused, e);
}

/* *leader: the descriptor of the group's first event at this place.  A descriptor, or -errno; -1
 * with *ret_missing: it is not counted here, which is no error. */
static int open_event(struct cprof_counter *c, size_t i, const struct counter_place *p,
		      int *leader, bool *ret_missing, struct err *e)
{
	const struct evspec *s = &c->events.v[i];
	struct counter_event *ev = &c->event[i];
	*ret_missing = true;
	if (!is_member(c, i))
		*leader = -1;
	if (ev->why_not || (p->cpu >= 0 && !cpus_contain(s->cpus, p->cpu)))
		return -1;
	struct evopen_place at = {
		c->attr.cpu_wide ? -1 : p->tid ? p->tid : p->pid, p->cpu,
		ev->is_outside ? -1 : *leader, 0,
	};
	int fd = try_open(c, i, &at, e);
	if (fd == -EINVAL && at.group_fd >= 0 && !ev->is_found)
		fd = open_outside(c, i, &at, fd, e);
	if (fd >= 0 && !ev->is_outside && *leader < 0)
		*leader = fd;
	bool is_kept = fd < 0 && !ev->is_found &&
		       (is_not_there(fd) || (!c->config.n_events && fd != -ESRCH && fd != -EMFILE));
	if (is_kept) {
		ev->why_not = brief(c, i, &at, -fd);
		ev->is_denied = fd == -EACCES || fd == -EPERM;
	}
	*ret_missing = is_kept || (fd == -ENODEV && ev->is_found);
	return fd;
}

static int open_place(struct cprof_counter *c, struct counter_place *p, struct err *e)
{
	int leader = -1;
	for (size_t i = 0; i < c->events.n; i++) {
		bool is_missing;
		int fd = open_event(c, i, p, &leader, &is_missing, e);
		/* The thread has ended, or does not answer (base/remotemem.h). */
		p->is_gone |= fd == -ESRCH || fd == -ETIMEDOUT;
		if (fd < 0 && !is_missing && !p->is_gone)
			return fd;
		if (!VEC_PUSH(&c->fds, fd >= 0 ? fd : -1)) {
			if (fd >= 0)
				close(fd);
			return err_errno(e, ENOMEM, "cannot count events");
		}
	}
	return 0;
}

static void close_all(struct cprof_counter *c)
{
	for (size_t i = 0; i < c->fds.n; i++)
		if (c->fds.v[i] >= 0)
			close(c->fds.v[i]);
	c->fds.n = 0;
}

static int open_places(struct cprof_counter *c, struct err *e)
{
	for (size_t p = 0; p < c->places.n; p++) {
		int r = open_place(c, &c->places.v[p], e);
		if (r < 0)
			return r;
	}
	for (size_t p = 0; p < c->places.n; p++)
		if (!c->places.v[p].is_gone)
			return 0;
	return err_set(e, ESRCH, "the processes have ended");
}

static int open_until_stable(struct cprof_counter *c, struct err *e)
{
	for (int i = 0; i < ATTEMPTS_MAX; i++) {
		close_all(c);
		int r = find_places(c, e);
		if (r == 0)
			r = open_places(c, e);
		if (r < 0)
			return r;
		c->n_unsure = c->config.all_processes ? 0 : n_new_threads(c);
		if (!c->n_unsure)
			break;
	}
	return 0;
}

/* ---- all together --------------------------------------------------------------------- */

/* Nothing but events that are missing: reports the first one as an error. */
static int explain_nothing(struct cprof_counter *c, struct err *e)
{
	bool missing;
	int leader = -1;
	struct counter_place at = c->places.v[0];
	c->event[0].why_not = NULL;
	int fd = open_event(c, 0, &at, &leader, &missing, e);
	if (fd < 0)
		return fd;
	close(fd);
	return err_set(e, ENODEV, "none of the events can be counted on these CPUs");
}

static int check_found(struct cprof_counter *c, struct err *e)
{
	bool any = false, user_only = false;
	for (size_t i = 0; i < c->events.n; i++) {
		struct counter_event *ev = &c->event[i];
		any |= ev->is_found;
		user_only |= ev->given_up & EVOPEN_NO_KERNEL && !c->events.v[i].is_clock;
		if (!ev->is_found && !ev->why_not)
			ev->why_not = "its PMU is on other CPUs";
	}
	if (!any)
		return explain_nothing(c, e);
	if (user_only)
		log_line(c->open.log, LOG_WARN, "counting user code only: the kernel's side is not "
			 "allowed (kernel.perf_event_paranoid, CAP_PERFMON)");
	if (c->n_unsure)
		log_line(c->open.log, LOG_WARN, "%zu thread%s %s created while counting began, "
			 "and may be missing", c->n_unsure, units_s(c->n_unsure),
			 units_word(c->n_unsure, "was", "were"));
	return 0;
}

static void name_row(const struct cprof_counter *c, const struct counter_place *p,
		     struct cprof_counter_row *ret)
{
	char text[256] = "";
	ret->tid = p->tid;
	host_read_process_line(c->host, (uint32_t)p->tid, "status", text, sizeof(text));
	const char *tgid = strstr(text, "\nTgid:");
	ret->pid = tgid ? (pid_t)strtol(tgid + 6, NULL, 10) : p->pid;
	if (host_read_process_line(c->host, (uint32_t)p->tid, "comm", ret->name,
				   sizeof(ret->name)) >= 0)
		ret->name[strcspn(ret->name, "\n")] = '\0';
}

static int make_rows(struct cprof_counter *c, struct err *e)
{
	c->n_rows = c->config.per_thread ? c->places.n : 1;
	c->row = calloc(c->n_rows, sizeof(*c->row));
	c->value = calloc(c->n_rows * c->events.n_outputs, sizeof(*c->value));
	if (!c->row || !c->value)
		return err_errno(e, ENOMEM, "cannot count events");
	for (size_t i = 0; c->config.per_thread && i < c->n_rows; i++)
		name_row(c, &c->places.v[i], &c->row[i]);
	return 0;
}

int counter_open(struct cprof_counter *c, struct err *e)
{
	c->event = calloc(c->events.n, sizeof(*c->event));
	if (!c->event)
		return err_errno(e, ENOMEM, "cannot count events");
	int r = open_until_stable(c, e);
	if (r == 0)
		r = check_found(c, e);
	return r < 0 ? r : make_rows(c, e);
}
