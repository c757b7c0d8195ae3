#include "recorder/setup.h"

#include "base/err.h"
#include "base/log.h"
#include "event/evopen.h"
#include "recorder/machine.h"
#include "recorder/recorder-private.h"
#include "recorder/allprocs.h"
#include "proc/targetcheck.h"
#include "recorder/targetgo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_FREQ "999"

/*
 * The first size of stack copies, which then follows the stacks (copysize.c): large where
 * samples are few, since a larger copy costs the target some microseconds each, and at
 * most this many bytes a second and CPU.
 */
#define FIRST_STACK_BYTES_MAX 32768u
#define FIRST_STACK_BYTES_MIN 8192u
#define FIRST_STACK_BYTES_PER_S (40u << 20)

/* The kernel's record size, a 16-bit number, has to hold it (perf_event_open(2)). */
#define STACK_BYTES_MAX 65528u

/* ---- checks ------------------------------------------------------------------------ */

static int check_targets(struct cprof_recorder *r, struct err *e)
{
	const struct cprof_config *c = &r->config;
	if (c->all_processes)
		return 0;
	if (c->n_pids + c->n_tids == 0 && !c->command_pid)
		return err_set(e, EINVAL, "no target: neither a process, a thread nor a command");
	if (c->n_pids + c->n_tids && c->command_pid)
		return err_set(e, EINVAL,
			       "a command cannot be recorded together with other targets");
	for (size_t i = 0; i < c->n_pids + c->n_tids; i++) {
		bool is_thread = i >= c->n_pids;
		const pid_t *list = is_thread ? c->tid : c->pid;
		size_t at = is_thread ? i - c->n_pids : i;
		pid_t id = list[at];
		/* Its samples would count twice. */
		for (size_t k = 0; k < at; k++)
			if (list[k] == id)
				return err_set(e, EINVAL, "%s %d is given twice",
					       is_thread ? "thread" : "process", id);
		int kind = targetcheck(r->host, id, is_thread, e);
		if (kind < 0)
			return kind;
		if (kind == TARGETCHECK_KERNEL && c->only_user) {
			err_set(e, EINVAL, "%d is a kernel thread: it runs no user code", id);
			err_hint(e, "leave out --user");
			return -EINVAL;
		}
	}
	return 0;
}

static int check_labels(const struct cprof_config *c, struct err *e)
{
	if (c->n_labels > LABELS_PER_SET_MAX - 7)
		return err_set(e, EINVAL, "%zu labels: at most %d are possible", c->n_labels,
			       LABELS_PER_SET_MAX - 7);
	for (size_t i = 0; i < c->n_labels; i++) {
		const char *eq = strchr(c->label[i], '=');
		if (!eq || eq == c->label[i]) {
			err_set(e, EINVAL, "label '%s' is not KEY=VALUE", c->label[i]);
			return -EINVAL;
		}
		if (!eq[1]) {
			err_set(e, EINVAL, "label '%s' has no value: no reader could tell it from "
				"no label", c->label[i]);
			return -EINVAL;
		}
		if (strncmp(c->label[i], "pprof::", 7) == 0) {
			err_set(e, EINVAL, "label '%s': keys that begin with pprof:: are reserved",
				c->label[i]);
			return -EINVAL;
		}
	}
	return 0;
}

static int check_stack(const struct cprof_config *c, struct err *e)
{
	if (c->stack_bytes % 8 == 0 && c->stack_bytes <= STACK_BYTES_MAX)
		return 0;
	err_set(e, EINVAL, "stack copies of %u bytes: it must be a multiple of 8, at most %u",
		c->stack_bytes, STACK_BYTES_MAX);
	return -EINVAL;
}

static int check_ring(const struct cprof_config *c, struct err *e)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), n = c->ring_bytes / page;
	if (!c->ring_bytes || (c->ring_bytes % page == 0 && n && (n & (n - 1)) == 0))
		return 0;
	err_set(e, EINVAL, "ring size of %llu bytes is not a power of two of pages",
		(unsigned long long)c->ring_bytes);
	err_hint(e, "a page is %llu bytes; for example 512K or 4M", (unsigned long long)page);
	return -EINVAL;
}

unsigned setup_optional_labels(const struct cprof_config *c)
{
	unsigned bits = ENGINE_LABELS_OPTIONAL;
	/* Among all processes there is always another one. */
	if (c->all_processes)
		bits &= ~(unsigned)(ENGINE_LABEL_PID | ENGINE_LABEL_PROCESS_NAME);
	for (unsigned bit = 1; bit <= ENGINE_LABEL_CGROUP; bit <<= 1) {
		const char *key = samplelabels_key(bit);
		for (size_t i = 0; i < c->n_labels; i++)
			if (strncmp(c->label[i], key, strlen(key)) == 0 &&
			    c->label[i][strlen(key)] == '=')
				bits &= ~bit;
	}
	return bits;
}

/* ---- choices ------------------------------------------------------------------------- */

static void name_event(struct cprof_recorder *r, size_t i)
{
	evspec_sample_type(&r->events.v[i], r->event[i].sample_type, &r->event[i].unit);
	evspec_file_part(&r->events.v[i], r->event[i].file_part);
}

static int choose_events(struct cprof_recorder *r, const struct evopen *open, struct err *e)
{
	const struct cprof_config *c = &r->config;
	for (size_t i = 0; i < c->n_events; i++) {
		int code = evspec_parse(&r->events, r->host, c->event[i], e);
		if (code < 0)
			return code;
	}
	if (c->n_events == 0) {
		const char *why = "";
		bool pmu = evopen_pmu_interrupts(open, &why);
		int code = evspec_parse(&r->events, r->host, pmu ? "cycles" : "cpu-clock", e);
		if (code < 0)
			return code;
		for (size_t i = 0; i < r->events.n; i++)
			r->events.v[i].by_default = true;
		if (pmu)
			log_line(r->log, LOG_EXPLAIN,
				 "event: cycles (the PMU counts and interrupts)");
		else
			log_line(r->log, LOG_NOTE, "event: cpu-clock, because %s", why);
	}
	r->event = calloc(r->events.n, sizeof(*r->event));
	r->output = calloc(r->events.n, sizeof(*r->output));
	r->pmu = calloc(r->events.n, sizeof(*r->pmu));
	if (!r->event || !r->output || !r->pmu)
		return err_errno(e, ENOMEM, "cannot set up recording");
	for (size_t i = 0; i < r->events.n; i++) {
		name_event(r, i);
		r->output[i] = r->events.v[i].output;
		r->pmu[i] = r->events.v[i].pmu[0] ? r->events.v[i].pmu : NULL;
	}
	return 0;
}

static int choose_rate(const struct cprof_config *c, struct evattr_options *o, struct err *e)
{
	enum evspec_rate kind;
	uint64_t rate;
	bool is_freq = !c->period;
	o->rate_given = c->freq || c->period;
	int code = evspec_parse_rate(is_freq ? c->freq ? c->freq : DEFAULT_FREQ : c->period,
				     is_freq, &kind, &rate, e);
	if (code < 0)
		return code;
	if (kind == EVSPEC_RATE_FREQ_MAX)
		o->rate_default_hz = o->rate_max_hz;
	else if (is_freq)
		o->rate_default_hz = rate;
	else
		o->rate_default_period = rate;
	return 0;
}

static uint32_t first_stack_bytes(const struct evattr_options *o)
{
	uint32_t bytes = FIRST_STACK_BYTES_MAX;
	while (bytes > FIRST_STACK_BYTES_MIN &&
	       (!o->rate_default_hz || o->rate_default_hz * bytes > FIRST_STACK_BYTES_PER_S))
		bytes /= 2;
	return bytes;
}

static void choose_callgraph(const struct cprof_config *c, struct evattr_options *o)
{
	bool has_regs = evattr_user_regs() != 0;
	if (c->callgraph == CPROF_CALLGRAPH_NONE) {
		o->callgraph = EVATTR_CALLGRAPH_NONE;
	} else if (c->callgraph == CPROF_CALLGRAPH_LBR && !c->only_kernel) {
		o->callgraph = EVATTR_CALLGRAPH_LBR;
	} else if (c->callgraph != CPROF_CALLGRAPH_AUTO &&
		   c->callgraph != CPROF_CALLGRAPH_DWARF) {
		o->callgraph = EVATTR_CALLGRAPH_FP;
	} else if (!has_regs) {
		o->callgraph = EVATTR_CALLGRAPH_FP;
	} else {
		o->callgraph = EVATTR_CALLGRAPH_DWARF;
		o->stack_bytes = c->stack_bytes ? c->stack_bytes : first_stack_bytes(o);
		/* Its ring may have to last until the end. */
		if (!c->stack_bytes && c->self != CPROF_SELF_NONE)
			o->stack_bytes = FIRST_STACK_BYTES_MIN;
	}
}

/* With --scope auto: per-CPU events where they are allowed, else per-task ones. */
static int choose_scope(struct cprof_recorder *r, const struct evopen *open, struct err *e)
{
	const struct cprof_config *c = &r->config;
	switch (c->scope) {
	case CPROF_SCOPE_TASK:
		r->scope = LIVE_TASK;
		return 0;
	case CPROF_SCOPE_CGROUP:
		if (!c->command_pid) {
			err_set(e, EINVAL, "--scope cgroup needs a command");
			err_hint(e, "a running process stays in the cgroup that it is in; use "
				    "--scope cpu");
			return -EINVAL;
		}
		r->scope = LIVE_CGROUP;
		return cgroup_make(&r->cgroup, r->host, c->command_pid, e);
	case CPROF_SCOPE_CPU:
		r->scope = LIVE_CPU;
		return 0;
	case CPROF_SCOPE_AUTO:
		break;
	}
	if (c->callgraph == CPROF_CALLGRAPH_LBR) {
		/* Without an event of its own the CPU's record of calls is lost at each switch. */
		r->scope = LIVE_TASK;
		log_line(r->log, LOG_EXPLAIN, "scope: task, for --call-graph lbr");
	} else if (evopen_may_sample_cpus(open)) {
		r->scope = LIVE_CPU;
		log_line(r->log, LOG_EXPLAIN, "scope: cpu (events per CPU are allowed)");
	} else {
		r->scope = LIVE_TASK;
		log_line(r->log, LOG_EXPLAIN,
			 "scope: task, because %s; threads that live shorter than a sampling "
			 "period go unseen", evopen_why_not_cpus(open));
	}
	return 0;
}

/* ---- all together ----------------------------------------------------------------------- */

/*
 * What samples stand for.  Events with a frequency are weighed by their counters, but for
 * clocks, whose period is fixed, inherited events, which cannot be, and groups, whose samples
 * tell by themselves.
 */
static void note_weights(struct cprof_recorder *r)
{
	for (size_t i = 0; i < r->events.n && i < 64; i++) {
		const struct perf_event_attr *attr = source_attr(r->source, i);
		if (attr->sample_type & PERF_SAMPLE_READ &&
		    !(attr->read_format & PERF_FORMAT_GROUP))
			r->by_count |= UINT64_C(1) << i;
	}
}

/* As the events were opened; 0 for a frequency that the kernel turns into changing periods. */
static int note_periods(struct cprof_recorder *r)
{
	r->period = calloc(r->events.n, sizeof(*r->period));
	for (size_t i = 0; r->period && i < r->events.n; i++) {
		const struct perf_event_attr *attr = source_attr(r->source, i);
		r->event[i].rate = attr->freq ? attr->sample_freq : attr->sample_period;
		if (!attr->freq)
			r->period[i] = attr->sample_period;
		else if (r->events.v[i].is_clock && attr->sample_freq)
			r->period[i] = 1000000000u / attr->sample_freq;
	}
	return r->period ? 0 : -ENOMEM;
}

/* The event that cprof chose is a clock after all. */
static int become_clock(struct cprof_recorder *r, size_t i, struct err *e)
{
	struct evspec_list clock = { NULL, 0 };
	int code = evspec_parse(&clock, NULL, "cpu-clock", e);
	if (code < 0)
		return code;
	struct evspec *s = &r->events.v[i];
	struct evspec was = *s;
	*s = clock.v[0];
	s->by_default = true;
	s->rate_kind = was.rate_kind;
	s->output = was.output;
	s->cpus = was.cpus;
	memcpy(s->pmu, was.pmu, sizeof(s->pmu));
	evspec_list_done(&clock);
	name_event(r, i);
	r->by_count &= ~(UINT64_C(1) << i);
	return 0;
}

/* What the ladder left out is said, and what follows from it done. */
static int note_fallbacks(struct cprof_recorder *r, struct err *e)
{
	bool user_only = false;
	for (size_t i = 0; i < r->events.n; i++) {
		const struct evspec *s = &r->events.v[i];
		unsigned given_up = live_given_up(r->source, i);
		unsigned precise = source_attr(r->source, i)->precise_ip;
		user_only |= given_up & EVOPEN_NO_KERNEL;
		if (s->precise_max)
			log_line(r->log, LOG_NOTE, "event '%s': precise level %u, the "
				 "highest that this PMU opens", s->name, precise);
		else if (given_up & EVOPEN_NO_PRECISE && s->precise_ip > precise)
			log_line(r->log, LOG_WARN,
				 "event '%s': precise level %u instead of %u: this PMU places "
				 "samples no better", s->name, precise, s->precise_ip);
		if (given_up & EVOPEN_WITH_GUESTS)
			log_line(r->log, LOG_EXPLAIN,
				 "event '%s': virtual machines cannot be left out", s->name);
		if (given_up & EVOPEN_CLOCK) {
			int code = become_clock(r, i, e);
			if (code < 0)
				return code;
		}
	}
	if (user_only)
		log_line(r->log, LOG_WARN,
			 "recording user code only: the kernel may not be sampled "
			 "(kernel.perf_event_paranoid, CAP_PERFMON)");
	return 0;
}

static int open_source(struct cprof_recorder *r, struct live_options *o, struct err *e)
{
	const struct cprof_config *c = &r->config;
	pid_t command = c->command_pid;
	struct source_usage use;
	o->event = r->events.v;
	o->n_events = r->events.n;
	o->scope = r->scope;
	o->cgroup_fd = r->cgroup.fd;
	o->pid = c->pid;
	o->n_pids = c->n_pids;
	o->tid = command ? &command : c->tid;
	o->n_tids = command ? 1 : c->n_tids;
	o->ring_bytes = c->ring_bytes;
	o->read_seldom = c->self != CPROF_SELF_NONE;
	choose_callgraph(c, &o->attr);
	o->attr.only_user = c->only_user;
	o->attr.only_kernel = c->only_kernel;
	o->attr.cpu_wide = r->scope != LIVE_TASK;
	o->attr.inherit = r->scope == LIVE_TASK && !c->no_inherit;
	if (r->scope == LIVE_TASK && o->attr.callgraph == EVATTR_CALLGRAPH_DWARF)
		o->attr.user_chain = r->has_user_chain = targetgo_any(r->host, c);
	o->attr.enable_on_exec = r->scope == LIVE_TASK && command;
	o->attr.start_paused = c->start_paused;
	o->pausable = c->pausable;
	o->attr.want_count = true;
	for (size_t i = 0; i < r->events.n; i++) {
		int code = evattr_check_rate(&r->events.v[i], &o->attr, e);
		if (code == 0)
			code = evattr_check_side(&r->events.v[i], &o->attr, e);
		if (code < 0)
			return code;
	}
	o->cpus = c->cpus;
	o->expects_files = c->all_processes;
	int code = live_open(o, &r->source, e);
	if (code < 0 && c->all_processes)
		allprocs_explain(e);
	if (code < 0)
		return code;
	note_weights(r);
	code = note_fallbacks(r, e);
	if (code < 0)
		return code;
	if (note_periods(r) < 0)
		return err_errno(e, ENOMEM, "cannot set up recording");
	source_usage(r->source, &use);
	copysize_init(&r->stacksize, o->attr.stack_bytes, use.ring_bytes,
		       c->stack_bytes || !o->attr.stack_bytes || r->scope == LIVE_TASK);
	return 0;
}

int setup_recorder(struct cprof_recorder *r, struct err *e)
{
	const struct cprof_config *c = &r->config;
	int code = 0;
	r->host = c->machine ? c->machine->host : NULL;
	if (!r->host) {
		code = host_open(&r->own_host, NULL, NULL, NULL, e);
		if (code < 0)
			return code;
		r->host = &r->own_host;
	}
	struct live_options o = {
		.attr.rate_max_hz = evopen_max_rate_hz(r->host),
		.open = {
			.fn = c->machine && c->machine->perf_event_open
				? c->machine->perf_event_open : evopen_syscall,
			.host = r->host, .log = r->log, .allow_user_only = !c->only_kernel,
		},
	};
	long max_stack, max_branches;
	if (host_read_long(r->host, HOST_PROC, &max_stack, "sys/kernel/perf_event_max_stack") == 0)
		r->max_stack = (uint32_t)max_stack;
	if (host_read_long(r->host, HOST_SYS, &max_branches,
			   "bus/event_source/devices/cpu/caps/branches") == 0)
		r->max_branches = (uint32_t)max_branches;
	code = allprocs_check(r, e);
	if (code == 0)
		code = choose_rate(c, &o.attr, e);
	if (code == 0)
		code = check_labels(c, e);
	if (code == 0)
		code = check_ring(c, e);
	if (code == 0)
		code = check_stack(c, e);
	if (code == 0)
		code = choose_events(r, &o.open, e);
	/* Up to here only the request was looked at. */
	if (code == -EINVAL && e)
		e->is_usage = true;
	if (code == 0)
		code = check_targets(r, e);
	if (code == 0)
		code = choose_scope(r, &o.open, e);
	return code < 0 ? code : open_source(r, &o, e);
}
