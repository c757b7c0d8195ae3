/*
 * The CPU kind: samples of perf events of any type, from live rings.  This is the only file above
 * lib/source that knows live rings by name.
 */

#include "recorder/kinds/kind-cpu-ops.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "engine/engine.h"
#include "event/evparse.h"
#include "event/evusdt.h"
#include "probe/probecost.h"
#include "recorder/allprocs.h"
#include "recorder/coverage.h"
#include "recorder/kinds/kind-cpu-copies.h"
#include "recorder/kinds/kind-cpu-functions.h"
#include "recorder/kinds/kind-cpu-tasks.h"
#include "recorder/kinds/kind-cpu-polls.h"
#include "recorder/kinds/targetswitch.h"
#include "source/live/live.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RINGS_BYTES_MIN (8u << 20)
#define FILTER_NS 100000000u    /* between two looks at the kernel's filter */

/* ---- opening ----------------------------------------------------------------------- */

/* cprof chose this event, and the kernel offers only a clock. */
static int become_clock(struct kind_session *k, size_t i, struct err *e)
{
	struct kind_cpu *c = k->state;
	struct evspec_list clock = { NULL, 0 };
	int r = evparse_list(&clock, NULL, "cpu-clock", e);
	if (r < 0)
		return r;
	struct evspec *s = &c->events.v[i];
	struct evspec was = *s;
	*s = clock.v[0];
	s->by_default = true;
	s->rate_kind = was.rate_kind;
	s->output = was.output;
	s->cpus = was.cpus;
	memcpy(s->pmu, was.pmu, sizeof(s->pmu));
	evspec_list_done(&clock);
	kind_cpu_describe(k, i);
	k->event[i].by_count = false;
	return 0;
}

/* Reports what the ladder of fallbacks gave up. */
static int note_fallbacks(struct kind_session *k, struct err *e)
{
	struct kind_cpu *c = k->state;
	for (size_t i = 0; i < k->n_events; i++) {
		const struct evspec *s = &c->events.v[i];
		unsigned given_up = live_given_up(k->source, i);
		unsigned precise = source_attr(k->source, i)->precise_ip;
		k->user_only |= given_up & EVOPEN_NO_KERNEL;
		if (s->precise_max)
			log_line(k->log, LOG_NOTE, "event '%s': precise level %u, the "
				 "highest that this PMU opens", s->name, precise);
		else if (given_up & EVOPEN_NO_PRECISE && s->precise_ip > precise)
			log_line(k->log, LOG_WARN,
				 "event '%s': precise level %u instead of %u: this PMU places "
				 "samples no better", s->name, precise, s->precise_ip);
		if (given_up & EVOPEN_WITH_GUESTS)
			log_line(k->log, LOG_EXPLAIN,
				 "event '%s': virtual machines cannot be left out", s->name);
		int r = given_up & EVOPEN_CLOCK ? become_clock(k, i, e) : 0;
		if (r < 0)
			return r;
	}
	if (k->user_only)
		log_line(k->log, LOG_WARN,
			 "recording user code only: the kernel may not be sampled "
			 "(kernel.perf_event_paranoid, CAP_PERFMON)");
	return 0;
}

/*
 * What samples stand for.  Events with a frequency are weighed by their counters, except clocks,
 * whose period is fixed, inherited events, which cannot be, and groups, whose samples carry the
 * counters themselves.
 */
static bool is_weighed(const struct perf_event_attr *attr)
{
	return attr->sample_type & PERF_SAMPLE_READ && !(attr->read_format & PERF_FORMAT_GROUP);
}

/* In ns or events; 0 for a frequency that the kernel turns into changing periods. */
static uint64_t period_of(const struct perf_event_attr *attr, bool is_clock)
{
	if (!attr->freq)
		return attr->sample_period;
	return is_clock && attr->sample_freq ? 1000000000u / attr->sample_freq : 0;
}

/* The kernel does not throttle clocks: their samples can take all of the target's time. */
static void warn_of_cost(struct kind_session *k, size_t event)
{
	const struct kind_event *ev = &k->event[event];
	uint64_t hz = ev->period ? CLOCK_SECOND_NS / ev->period : 0;
	if (ev->is_clock && hz > EVATTR_CLOCK_FASTEST_HZ &&
	    source_attr(k->source, event)->sample_stack_user)
		log_line(k->log, LOG_WARN, "event '%s': copies of the stack at %" PRIu64 " Hz may "
			 "take most of the program's time (-F max: at most %u Hz for clocks)",
			 ev->name, hz, EVATTR_CLOCK_FASTEST_HZ);
}

static void note_opened(struct kind_session *k)
{
	const struct kind_cpu *c = k->state;
	for (size_t i = 0; i < k->n_events; i++) {
		struct kind_event *ev = &k->event[i];
		const struct evspec *s = &c->events.v[i];
		const struct perf_event_attr *attr = source_attr(k->source, i);
		ev->is_freq = attr->freq;
		ev->rate = attr->freq ? attr->sample_freq : attr->sample_period;
		ev->period = period_of(attr, s->is_clock);
		ev->given_up_kernel = attr->exclude_kernel && !s->only_user &&
				      !k->config->only_user;
		warn_of_cost(k, i);
	}
}

static enum live_scope live_scope_of(enum cprof_scope scope)
{
	switch (scope) {
	case CPROF_SCOPE_CPU: return LIVE_CPU;
	case CPROF_SCOPE_CGROUP: return LIVE_CGROUP;
	default: return LIVE_TASK;
	}
}

static int check_events(const struct kind_cpu *c, struct err *e)
{
	for (size_t i = 0; i < c->events.n; i++) {
		int r = evattr_check_rate(&c->events.v[i], &c->attr, e);
		if (r == 0)
			r = evattr_check_side(&c->events.v[i], &c->attr, e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Arguments of probes are read from registers and the stack's copy. */
static int check_args(const struct kind_cpu *c, struct err *e)
{
	for (size_t i = 0; i < c->events.n; i++) {
		if (!evusdt_args(&c->events.v[i]) ||
		    evattr_callgraph_of(&c->events.v[i], &c->attr) == EVATTR_CALLGRAPH_DWARF)
			continue;
		err_usage(e, "event '%s': arguments of probes are in registers, which samples have "
			  "only together with copies of the stack", c->events.v[i].name);
		err_hint(e, "leave out --call-graph and the term call-graph");
		return -EINVAL;
	}
	return 0;
}

/* The rings come on top of the memory for the profile, in proportion to it. */
static uint64_t rings_bytes(const struct cprof_config *config)
{
	uint64_t half = kind_max_memory(config) / 2;
	return half > RINGS_BYTES_MIN ? half : RINGS_BYTES_MIN;
}

/* Those that live and have had records: in the scope task, targets only. */
static int list_processes(void *ctx, pid_t **ret_pids)
{
	const struct kind_cpu *c = ctx;
	const struct procs *p = c->procs;
	int n = 0;
	pid_t *pids = calloc(p->n_processes + 1, sizeof(*pids));
	if (!pids)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_processes; i++) {
		const struct procs_process *one = p->process[i];
		if (one->known && !one->exited && one->pid)
			pids[n++] = (pid_t)one->pid;
	}
	*ret_pids = pids;
	return n;
}

static bool is_target(void *ctx, pid_t pid, pid_t tid)
{
	const struct kind_cpu *c = ctx;
	return targets_has(c->targets, (uint32_t)pid, (uint32_t)tid);
}

static int open_rings(struct kind_session *k, struct err *e)
{
	const struct cprof_config *config = k->config;
	const struct kind_cpu *c = k->state;
	pid_t command = config->command_pid;
	const struct live_targets filter = {
		.pid = command ? &command : config->pid, .n_pids = command ? 1 : config->n_pids,
		.tid = config->tid, .n_tids = config->n_tids, .follow = !config->no_inherit,
	};
	bool is_filtered = k->scope == CPROF_SCOPE_CPU && !config->all_processes &&
			   !config->no_bpf;
	const struct live_options o = {
		.event = c->events.v, .n_events = c->events.n,
		.attr = c->attr, .open = c->open,
		.scope = live_scope_of(k->scope), .cgroup_fd = k->cgroup ? k->cgroup->fd : -1,
		.pid = config->pid, .n_pids = config->n_pids,
		.tid = command ? &command : config->tid,
		.n_tids = command ? 1 : config->n_tids,
		.by_time = kind_cpu_waits_any(c),
		.read_seldom = config->self != CPROF_SELF_NONE,
		.pausable = config->pausable || c->waits.in_bursts,
		.cpus = config->cpus,
		.filter = is_filtered ? &filter : NULL, .filter_required = c->needs_filter,
		.ring_bytes = config->ring_bytes,
		.rings_bytes = rings_bytes(config),
		.rings_grow = config->n_readers > 1 && config->self == CPROF_SELF_NONE,
		.processes = list_processes, .processes_ctx = k->state,
		.is_target = config->n_tids ? is_target : NULL,
	};
	int r = live_open(&o, &k->source, e);
	if (r < 0 && config->all_processes)
		allprocs_explain(e);
	return r;
}

/* Reports whether the kernel drops the samples of other tasks. */
static void note_filter(struct kind_session *k)
{
	size_t n = 0;
	for (size_t i = 0; i < k->n_events; i++) {
		enum live_filtered f = live_filtered(k->source, i);
		k->event[i].is_filtered = f == LIVE_FILTERED;
		k->event[i].has_gaps = f != LIVE_UNFILTERED;
		n += f == LIVE_FILTERED;
	}
	if (k->scope != CPROF_SCOPE_CPU || k->config->all_processes)
		return;
	const char *why = k->config->no_bpf ? "--no-bpf" : live_why_unfiltered(k->source);
	if (why)
		kind_cpu_add_reason(k, "; no filter in the kernel: %s", why);
	else if (n == k->n_events)
		kind_cpu_add_reason(k, "; the kernel drops samples of other tasks");
	else
		kind_cpu_add_reason(k, "; the kernel drops samples of other tasks, of %zu of %zu "
				    "events", n, k->n_events);
}

/* The filter accepts everything once it had no room for a task.  It is asked by a system call. */
static void tend_filter(struct kind_session *k, uint64_t now_ns)
{
	struct kind_cpu *c = k->state;
	bool is_full = false;
	if (now_ns - c->filter_seen_ns < FILTER_NS)
		return;
	c->filter_seen_ns = now_ns;
	for (size_t i = 0; i < k->n_events; i++) {
		if (!k->event[i].is_filtered || live_filtered(k->source, i) == LIVE_FILTERED)
			continue;
		k->event[i].is_filtered = false;
		is_full = true;
	}
	if (is_full)
		kind_cpu_add_reason(k, ", until it had no room for more tasks");
}

/* Opens all events in the scope k->scope. */
static int open_in_scope(struct kind_session *k, struct err *e)
{
	const struct cprof_config *config = k->config;
	struct kind_cpu *c = k->state;
	struct evattr_options *attr = &c->attr;
	bool is_task = k->scope == CPROF_SCOPE_TASK;
	k->only_targets = k->scope != CPROF_SCOPE_CPU && !c->may_change;
	k->was_cpu = k->scope == CPROF_SCOPE_CPU;
	attr->cpu_wide = !is_task;
	attr->inherit = is_task && !config->no_inherit;
	if (is_task && attr->callgraph == EVATTR_CALLGRAPH_DWARF)
		attr->user_chain = targetswitch_any(k->host, config);
	attr->enable_on_exec = is_task && config->command_pid;
	kind_cpu_thin_use_bursts(k);
	int r = check_events(c, e);
	return r < 0 ? r : open_rings(k, e);
}

/* The user has chosen a size; a program that records itself reads its rings too seldom to know
 * what they carry; and each switch must have its record, in order to measure waits. */
static bool has_fixed_copies(const struct kind_session *k)
{
	const struct kind_cpu *c = k->state;
	bool is_task = k->scope == CPROF_SCOPE_TASK;
	return k->config->stack_bytes || !c->attr.stack_bytes ||
	       (is_task && (k->config->self != CPROF_SELF_NONE || kind_cpu_waits_any(c)));
}

int kind_cpu_open(struct kind_session *k, struct err *e)
{
	const struct cprof_config *config = k->config;
	struct kind_cpu *c = k->state;
	struct evattr_options *attr = &c->attr;
	int r = kind_cpu_choose_scope(k, e);
	if (r < 0)
		return r;
	kind_cpu_choose_callgraph(k);
	r = check_args(c, e);
	if (r < 0)
		return r;
	probecost_warn(&c->events, k->log);
	r = kind_cpu_waits_choose(k, e);
	if (r < 0 || c->waits.only_polls)
		return r < 0 ? r : kind_cpu_polls_open(k, e);
	attr->only_user = config->only_user;
	attr->only_kernel = config->only_kernel;
	attr->start_paused = config->start_paused;
	attr->want_count = true;
	r = open_in_scope(k, e);
	while (r < 0 && kind_cpu_next_scope(k, r, e))
		r = open_in_scope(k, e);
	if (r < 0)
		return r;
	/* With a filter, events of CPUs are the cheapest scope. */
	c->may_change &= k->scope == CPROF_SCOPE_TASK;
	r = c->may_change ? kind_cpu_scope_init(k, e) : 0;
	if (r < 0)
		return r;
	note_filter(k);
	kind_cpu_log_scope(k);
	for (size_t i = 0; i < k->n_events; i++)
		k->event[i].by_count = is_weighed(source_attr(k->source, i));
	r = note_fallbacks(k, e);
	if (r < 0)
		return r;
	note_opened(k);
	copysize_init(&c->copysize, attr->stack_bytes, has_fixed_copies(k));
	c->copysize.has_chain = attr->user_chain;
	return 0;
}

int kind_cpu_replace_events(struct kind_session *k, enum cprof_scope to, struct err *e)
{
	return livescope_set(k->source, live_scope_of(to), e);
}

bool kind_cpu_is_replacing(const struct kind_session *k)
{
	return livescope_is_changing(k->source);
}

/* ---- while recording --------------------------------------------------------------- */

static uint32_t n_cpus_possible(void)
{
	return (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
}

void kind_cpu_drained(struct kind_session *k, struct engine *g, uint64_t now_ns)
{
	struct kind_cpu *c = k->state;
	c->procs = &g->procs;
	c->targets = &g->targets;
	copysize_step(&c->copysize, k->source, g, k->n_readers, k->log);
	kind_cpu_looks_drained(k, g);
	tend_filter(k, now_ns);
	if (kind_cpu_copies_are_due(k, g))
		kind_cpu_copies_begin(k, g, live_copies(k->source, n_cpus_possible()));
	if (c->may_change)
		kind_cpu_scope_drained(k, g, now_ns);
}

int kind_cpu_timeout_ms(const struct kind_session *k)
{
	int waits_ms = kind_cpu_looks_timeout_ms(k), scope_ms = kind_cpu_scope_timeout_ms(k);
	return scope_ms < 0 || (waits_ms >= 0 && waits_ms < scope_ms) ? waits_ms : scope_ms;
}

int kind_cpu_find_event(const struct kind_session *k, const char *name)
{
	/* Aliases get the name of their event when they are parsed. */
	struct evspec_list other = { 0 };
	struct err ignored;
	int found = -ENOENT;
	if (evparse_list(&other, k->host, name, &ignored) == 0 && other.n_outputs == 1)
		for (size_t i = 0; i < k->n_events && found < 0; i++)
			if (strcmp(k->event[i].name, other.v[0].name) == 0)
				found = (int)i;
	evspec_list_done(&other);
	return found;
}

/* The largest copy of events that have a size of their own; 0: some have that of the recording. */
static uint32_t own_stack_bytes(const struct kind_cpu *c)
{
	uint32_t bytes = 0;
	for (size_t i = 0; i < c->events.n; i++)
		if (!c->events.v[i].stack_bytes)
			return 0;
		else if (c->events.v[i].stack_bytes > bytes)
			bytes = c->events.v[i].stack_bytes;
	return bytes;
}

void kind_cpu_stats(const struct kind_session *k, struct cprof_stats *ret)
{
	const struct kind_cpu *c = k->state;
	kind_cpu_thin_stats(k, ret);
	ret->stack_bytes = c->copysize.bytes_max;
	ret->stack_bytes_min = c->copysize.bytes_min;
	ret->n_stack_cuts = c->copysize.n_cuts;
	uint32_t own_bytes = own_stack_bytes(c);
	if (own_bytes && ret->stack_bytes)
		ret->stack_bytes = ret->stack_bytes_min = own_bytes;
	for (size_t i = 0; i < k->n_events; i++)
		ret->kernel_filter |= k->event[i].is_filtered;
}

double kind_cpu_coverage(const struct kind_session *k, const struct cprof_stats *stats,
			 const struct cprof_event_stats *event)
{
	/* Switches are records: no counter says how long they took.  Nor do counters add up
	 * arguments. */
	if (event->is_waiting || event->is_argument)
		return -1;
	return coverage_percent(k->config, stats, event);
}

void kind_cpu_ended(struct kind_session *k, struct engine *g, uint64_t end_ns)
{
	(void)g;
	(void)end_ns;
	kind_cpu_tasks_ended(k);
}

void kind_cpu_close(struct kind_session *k)
{
	struct kind_cpu *c = k->state;
	if (!c)
		return;
	if (k->owner == getpid())
		cgroup_remove(&c->cgroup, k->host);
	copysize_done(&c->copysize);
	coverage_done(&c->used);
	evspec_list_done(&c->events);
	free(c->names);
	free(c->waits.look);
	kind_cpu_polls_free(c->waits.polls);
	kind_cpu_functions_free(c->waits.functions);
	free(c->copies);
	kind_cpu_tasks_free(k);
	free(c);
	k->state = NULL;
}

const struct cprof_kind *cprof_cpu_recorder(void)
{
	static const struct cprof_kind cpu = {
		.name = "cpu", .choose = kind_cpu_choose, KIND_CPU_OPERATIONS
	};
	return &cpu;
}
