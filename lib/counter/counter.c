/*
 * One perf event per variant and place, read one by one.  Each file descriptor counts a thread with
 * what it creates (inherit), or a CPU.  The kernel adds the counts of ended children to their
 * parent's, so that nothing has to be followed while the target runs, and short threads are counted
 * exactly.
 */
#include "counter/counter-private.h"

#include "base/cpus.h"
#include "base/err.h"
#include "base/cleanup.h"
#include "event/evparse.h"
#include "probe/probelocate.h"
#include "proc/targetcheck.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* As perf stat has them. */
static const struct {
	const char *name;
	bool of_tasks;             /* for whole CPUs it says nothing: see cprof_counter_busy_ns */
	bool in_kernel;
} default_events[] = {
	{ "task-clock", true, false }, { "context-switches", false, true },
	{ "cpu-migrations", false, true }, { "page-faults", false, false },
	{ "cycles", false, false }, { "instructions", false, false }, { "branches", false, false },
	{ "branch-misses", false, false },
};

static int parse_default_events(struct cprof_counter *c, struct err *e)
{
	const struct cprof_counter_config *config = &c->config;
	for (size_t i = 0; i < sizeof(default_events) / sizeof(*default_events); i++) {
		if ((default_events[i].of_tasks && config->all_processes) ||
		    (default_events[i].in_kernel && config->only_user))
			continue;
		int r = evparse_list(&c->events, c->host, default_events[i].name, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int parse_events(struct cprof_counter *c, struct err *e)
{
	for (size_t i = 0; i < c->config.n_events; i++) {
		int r = evparse_list(&c->events, c->host, c->config.event[i], e);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < c->events.n; i++) {
		const struct evspec *s = &c->events.v[i];
		int r = s->waiting ? 0 : evattr_check_side(s, &c->attr, e);
		if (r < 0)
			return r;
		if (!s->waiting)
			continue;
		err_set(e, EINVAL, "event '%s' is a time that is measured, not an event that is "
			"counted", s->name);
		err_hint(e, "cprof record -e %s measures it", s->name);
		return -EINVAL;
	}
	return c->config.n_events ? 0 : parse_default_events(c, e);
}

static int check_request(struct cprof_counter *c, struct err *e)
{
	const struct cprof_counter_config *config = &c->config;
	size_t n_ids = config->n_pids + config->n_tids;
	if (!n_ids && !config->command_pid && !config->all_processes)
		return err_set(e, EINVAL, "no target: give a process, a thread or a command");
	if (n_ids && (config->command_pid || config->all_processes))
		return err_set(e, EINVAL, "processes exclude other targets");
	if (config->per_thread && config->command_pid)
		return err_set(e, EINVAL, "the threads of a command do not exist yet");
	int *cpus = NULL;
	int n = config->cpus ? cpus_parse(config->cpus, &cpus) : 0;
	free(cpus);
	if (n < 0)
		return err_set(e, EINVAL, "'%s' is not a list of CPUs, as in 0,2 or 0-3,8",
			       config->cpus);
	return parse_events(c, e);
}

/* Probes without a file are in those of the targets. */
static int locate_probes(struct cprof_counter *c, struct err *e)
{
	const struct probelocate_options options = { NULL, false };
	VEC(pid_t) ids = { 0 };
	bool ok = VEC_RESERVE(&ids, c->config.n_pids + c->config.n_tids + 1);
	for (size_t i = 0; ok && i < c->config.n_pids; i++)
		ids.v[ids.n++] = c->config.pid[i];
	for (size_t i = 0; ok && i < c->config.n_tids; i++)
		ids.v[ids.n++] = c->config.tid[i];
	int r = ok ? probelocate_pending(&c->events, c->host, ids.v, ids.n, &options, e)
		   : err_errno(e, ENOMEM, "cannot count events");
	VEC_FREE(&ids);
	return r;
}

static int check_targets(const struct cprof_counter *c, struct err *e)
{
	const struct cprof_counter_config *config = &c->config;
	for (size_t i = 0; i < config->n_pids + config->n_tids; i++) {
		bool is_thread = i >= config->n_pids;
		const pid_t *list = is_thread ? config->tid : config->pid;
		size_t at = is_thread ? i - config->n_pids : i;
		for (size_t k = 0; k < at; k++)
			if (list[k] == list[at])
				return err_set(e, EINVAL, "%s %d is given twice",
					       is_thread ? "thread" : "process", (int)list[at]);
		int r = targetcheck(c->host, list[at], is_thread, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int open_all(struct cprof_counter *c, struct err *e)
{
	int r = check_request(c, e);
	if (r == -EINVAL && e)
		e->is_usage = true;
	if (r == 0)
		r = check_targets(c, e);
	if (r == 0)
		r = locate_probes(c, e);
	return r < 0 ? r : counter_open(c, e);
}

static void explain_line(void *ctx, enum log_level level, const char *text)
{
	const struct cprof_counter *c = ctx;
	c->config.explain(c->config.explain_ctx, level, text);
}

int cprof_counter_new(const struct cprof_counter_config *config, struct cprof_counter **ret,
		      struct err *e)
{
	struct cprof_counter *c = calloc(1, sizeof(*c));
	if (!c)
		return err_errno(e, ENOMEM, "cannot count events");
	c->config = *config;
	c->own_host = (struct host){ .fd = { -1, -1, -1 } };
	c->host = config->host ? config->host : &c->own_host;
	if (config->explain)
		c->log = (struct log){ explain_line, c, (enum log_level)config->explain_max };
	c->attr = (struct evattr_options){
		.inherit = !config->no_inherit, .enable_on_exec = config->command_pid,
		.cpu_wide = config->all_processes && !config->per_thread,
		.only_user = config->only_user, .only_kernel = config->only_kernel,
	};
	c->open = (struct evopen){
		.fn = config->perf_event_open ? config->perf_event_open : evopen_syscall,
		.host = c->host, .log = config->explain ? &c->log : NULL,
		.allow_user_only = !config->only_kernel,
		.counts = true,
	};
	int r = config->host ? 0 : host_open(&c->own_host, NULL, NULL, NULL, e);
	if (r == 0)
		r = open_all(c, e);
	if (r < 0) {
		cprof_counter_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

void cprof_counter_free(struct cprof_counter *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->fds.n; i++)
		if (c->fds.v[i] >= 0)
			close(c->fds.v[i]);
	VEC_FREE(&c->fds);
	VEC_FREE(&c->places);
	evspec_list_done(&c->events);
	free(c->event);
	free(c->row);
	free(c->value);
	if (c->host == &c->own_host)
		host_close(&c->own_host);
	free(c);
}

int cprof_counter_start(struct cprof_counter *c, struct err *e)
{
	if (c->config.command_pid)
		return 0;
	for (size_t i = 0; i < c->fds.n; i++)
		if (c->fds.v[i] >= 0 && ioctl(c->fds.v[i], PERF_EVENT_IOC_ENABLE, 0) < 0)
			return err_errno(e, errno, "cannot start counting");
	return 0;
}

bool cprof_counter_is_over(struct cprof_counter *c)
{
	const struct cprof_counter_config *config = &c->config;
	size_t n = config->n_pids + config->n_tids;
	if (!n)
		return false;
	for (; c->n_ended < n; c->n_ended++) {
		bool is_thread = c->n_ended >= config->n_pids;
		pid_t id = is_thread ? config->tid[c->n_ended - config->n_pids]
				     : config->pid[c->n_ended];
		if (targetcheck(c->host, id, is_thread, NULL) >= 0)
			return false;
	}
	return true;
}

/* Events of a thread exist for each kind of core, and one of them runs at a time: their times are
 * parts of the thread's. */
static uint64_t n_turns(const struct cprof_counter *c, size_t place, size_t i)
{
	uint64_t n = 0;
	if (c->attr.cpu_wide || !c->events.v[i].pmu[0] || !c->events.v[i].cpus)
		return 1;
	for (size_t k = 0; k < c->events.n; k++)
		n += c->events.v[k].output == c->events.v[i].output &&
		     c->fds.v[place * c->events.n + k] >= 0;
	return n;
}

/* A pinned event that got no counter gives nothing to read. */
static int add_count(struct cprof_counter *c, size_t place, size_t i, struct err *e)
{
	uint64_t got[3];
	size_t row = c->config.per_thread ? place : 0;
	int fd = c->fds.v[place * c->events.n + i];
	struct cprof_counter_value *v =
		&c->value[row * c->events.n_outputs + c->events.v[i].output];
	ssize_t n = fd < 0 ? 0 : read(fd, got, sizeof(got));
	if (n < 0)
		return err_errno(e, errno, "cannot read the count of '%s'", c->events.v[i].name);
	if (n != (ssize_t)sizeof(got))
		return 0;
	v->value += got[0];
	v->enabled_ns += got[1] / n_turns(c, place, i);
	v->running_ns += got[2];
	return 0;
}

int cprof_counter_read(struct cprof_counter *c, struct err *e)
{
	memset(c->value, 0, c->n_rows * c->events.n_outputs * sizeof(*c->value));
	for (size_t p = 0; p < c->places.n; p++) {
		for (size_t i = 0; i < c->events.n; i++) {
			int r = add_count(c, p, i, e);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

size_t cprof_counter_n_events(const struct cprof_counter *c)
{
	return c->events.n_outputs;
}

size_t cprof_counter_n_rows(const struct cprof_counter *c)
{
	return c->n_rows;
}

/* The variant that says most: one that was opened, or else the first. */
static size_t variant_of(const struct cprof_counter *c, size_t output)
{
	size_t first = SIZE_MAX;
	for (size_t i = 0; i < c->events.n; i++) {
		if (c->events.v[i].output != output)
			continue;
		first = first == SIZE_MAX ? i : first;
		if (c->event[i].is_found)
			return i;
	}
	return first;
}

void cprof_counter_event(const struct cprof_counter *c, size_t event,
			 struct cprof_counter_event *ret)
{
	size_t i = variant_of(c, event);
	const struct evspec *s = &c->events.v[i];
	const struct counter_event *ev = &c->event[i];
	bool gave_up = ev->given_up & EVOPEN_NO_KERNEL && !s->is_clock;
	*ret = (struct cprof_counter_event){
		.name = s->name,
		.n_plain = s->n_plain ? s->n_plain : strcspn(s->name, ":"),
		.group = s->group, .is_clock = s->is_clock,
		.is_user = s->only_user || c->config.only_user || gave_up,
		.is_kernel = s->only_kernel || c->config.only_kernel,
		.given_up_kernel = gave_up, .scale = s->scale, .unit = s->unit,
		.why_not = ev->is_found ? NULL : ev->why_not,
		.is_denied = !ev->is_found && ev->is_denied,
	};
}

void cprof_counter_row(const struct cprof_counter *c, size_t row, struct cprof_counter_row *ret)
{
	*ret = c->row[row];
}

void cprof_counter_value(const struct cprof_counter *c, size_t row, size_t event,
			 struct cprof_counter_value *ret)
{
	*ret = c->value[row * c->events.n_outputs + event];
}

size_t cprof_counter_n_unsure(const struct cprof_counter *c)
{
	return c->n_unsure;
}

int cprof_counter_busy_ns(const struct cprof_counter *c, uint64_t *ret_ns)
{
	return cpus_busy_ns(c->host, c->config.cpus, ret_ns);
}

size_t cprof_counter_n_cpus(const struct cprof_counter *c)
{
	return c->n_cpus;
}
