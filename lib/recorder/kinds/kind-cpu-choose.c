/* What the CPU kind checks and chooses before anything is opened: events, rates, stacks, scope. */

#include "recorder/kinds/kind-cpu-ops.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/log.h"
#include "event/evparse.h"
#include "event/evusdt.h"
#include "proc/targetcheck.h"
#include "recorder/commandgroup.h"
#include "recorder/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_FREQ "999"

/* More have their waits recorded by events per CPU. */
#define THREADS_MANY 200u

/*
 * The initial size of stack copies, which then adapts to the stacks (copysize.c): large if samples
 * are few, since a larger copy costs the target some microseconds each.  Together the copies take
 * at most FIRST_STACK_BYTES_PER_S on each CPU.
 */
#define FIRST_STACK_BYTES_MAX 32768u
#define FIRST_STACK_BYTES_MIN 8192u
#define FIRST_STACK_BYTES_PER_S (40u << 20)

/* ---- checks ------------------------------------------------------------------------ */

static int check_stack(const struct cprof_config *c, struct err *e)
{
	if (c->stack_bytes % 8 == 0 && c->stack_bytes <= COPYSIZE_BYTES_MAX)
		return 0;
	err_set(e, EINVAL, "stack copies of %u bytes: it must be a multiple of 8, at most %u",
		c->stack_bytes, COPYSIZE_BYTES_MAX);
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

/* ---- events ------------------------------------------------------------------------ */

void kind_cpu_describe(struct kind_session *k, size_t i)
{
	struct kind_cpu *c = k->state;
	const struct evspec *s = &c->events.v[i];
	struct kind_event *ev = &k->event[i];
	evspec_sample_type(s, c->names[i].sample_type, &ev->unit);
	evspec_file_part(s, c->names[i].file_part);
	ev->name = s->name;
	ev->sample_type = c->names[i].sample_type;
	ev->file_part = c->names[i].file_part;
	ev->output = s->output;
	ev->group = s->group;
	ev->is_member = evspec_is_member(&c->events, i);
	ev->count_type = evspec_count_type(s);
	ev->is_clock = s->is_clock && !s->waiting;
	ev->pmu = s->pmu[0] ? s->pmu : NULL;
	ev->args = evusdt_args(s);
	ev->by_argument = ev->args && ev->args->has_value;
	ev->unit_each = s->bytes_each;
	ev->count_scale = s->scale;
	ev->count_unit = s->unit;
	ev->precise_asked = s->precise_ip;
}

static int choose_default_event(struct kind_session *k, struct err *e)
{
	struct kind_cpu *c = k->state;
	const char *why = "";
	bool pmu = evopen_pmu_interrupts(&c->open, &why);
	int r = evparse_list(&c->events, k->host, pmu ? "cycles" : "cpu-clock", e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < c->events.n; i++)
		c->events.v[i].by_default = true;
	if (pmu)
		log_line(k->log, LOG_EXPLAIN, "event: cycles (the PMU counts and interrupts)");
	else
		log_line(k->log, LOG_NOTE, "event: cpu-clock, because %s", why);
	return 0;
}

/* A period that is a time fits only what is measured in time. */
static int check_time(const struct kind_cpu *c, struct err *e)
{
	for (size_t i = 0; c->quantum_ns && i < c->events.n; i++) {
		const struct evspec *s = &c->events.v[i];
		if (s->waiting || s->is_clock || s->rate_kind != EVSPEC_RATE_DEFAULT)
			continue;
		err_set(e, EINVAL, "event '%s' counts events: its period is not a time", s->name);
		err_hint(e, "give it a period of its own: '%.60s/period=N/'", s->name);
		return -EINVAL;
	}
	return 0;
}

static int use_bytes(struct kind_cpu *c, struct err *e)
{
	bool any = false;
	for (size_t i = 0; i < c->events.n; i++)
		any |= evspec_use_bytes(&c->events.v[i]);
	if (any)
		return 0;
	err_set(e, EINVAL, "none of the events can be counted in bytes");
	err_hint(e, "page-faults can, and --growth records it");
	return -EINVAL;
}

/* USDT probes without a file are in those of the targets. */
static int locate_probes(struct kind_session *k, struct err *e)
{
	const struct cprof_config *config = k->config;
	struct kind_cpu *c = k->state;
	CLEANUP_FREE pid_t *ids = calloc(config->n_pids + config->n_tids + 1, sizeof(*ids));
	size_t n = 0;
	bool any = false;
	for (size_t i = 0; i < c->events.n; i++)
		any |= c->events.v[i].usdt && !c->events.v[i].usdt->is_located;
	if (!any)
		return 0;
	if (!ids)
		return err_errno(e, ENOMEM, "cannot set up recording");
	for (size_t i = 0; i < config->n_pids + config->n_tids; i++) {
		bool is_thread = i >= config->n_pids;
		ids[n++] = is_thread ? config->tid[i - config->n_pids] : config->pid[i];
		int r = targetcheck(k->host, ids[i], is_thread, e);
		if (r < 0)
			return r;
	}
	return probelocate_pending(&c->events, k->host, ids, n, &c->probes, e);
}

static int choose_events(struct kind_session *k, struct err *e)
{
	struct kind_cpu *c = k->state;
	for (size_t i = 0; i < k->config->n_events; i++) {
		int r = evparse_list(&c->events, k->host, k->config->event[i], e);
		if (r < 0)
			return r;
	}
	if (k->config->n_events == 0) {
		int r = c->only_event ? evparse_list(&c->events, k->host, c->only_event, e)
				      : choose_default_event(k, e);
		if (r < 0)
			return r;
	}
	int r = k->config->page_bytes ? use_bytes(c, e) : 0;
	if (r == 0)
		r = locate_probes(k, e);
	if (r < 0)
		return r;
	k->event = calloc(c->events.n, sizeof(*k->event));
	c->names = calloc(c->events.n, sizeof(*c->names));
	if (!k->event || !c->names)
		return err_errno(e, ENOMEM, "cannot set up recording");
	k->n_events = c->events.n;
	k->n_outputs = c->events.n_outputs;
	for (size_t i = 0; i < k->n_events; i++)
		kind_cpu_describe(k, i);
	r = check_time(c, e);
	return r < 0 ? r : kind_cpu_waits_check(k, e);
}

static int choose_rate(const struct cprof_config *c, struct evattr_options *o,
		       uint64_t *ret_quantum_ns, struct err *e)
{
	enum evspec_rate kind;
	uint64_t rate;
	bool is_freq = !c->period;
	o->rate_given = c->freq || c->period;
	int r = evparse_rate(is_freq ? c->freq ? c->freq : DEFAULT_FREQ : c->period,
				     is_freq, &kind, &rate, e);
	if (r < 0)
		return r;
	if (c->period && evparse_is_time(c->period))
		*ret_quantum_ns = rate;
	o->rate_default_fastest = kind == EVSPEC_RATE_FREQ_MAX;
	if (is_freq)
		o->rate_default_hz = o->rate_default_fastest ? o->rate_max_hz : rate;
	else
		o->rate_default_period = rate;
	return 0;
}

static void read_limits(struct kind_session *k)
{
	long max_stack, max_branches;
	if (host_read_long(k->host, HOST_PROC, &max_stack, "sys/kernel/perf_event_max_stack") == 0)
		k->max_stack = (uint32_t)max_stack;
	if (host_read_long(k->host, HOST_SYS, &max_branches,
			   "bus/event_source/devices/cpu/caps/branches") == 0)
		k->max_branches = (uint32_t)max_branches;
}

int kind_cpu_choose_only(struct kind_session *k, const struct kind_cpu_only *only, struct err *e)
{
	const struct cprof_config *config = k->config;
	const struct cprof_machine *m = config->machine;
	struct kind_cpu *c = calloc(1, sizeof(*c));
	if (!c)
		return err_errno(e, ENOMEM, "cannot set up recording");
	k->state = c;
	c->only_event = only->event;
	c->one_of = only->one_of;
	c->probes = only->probes;
	c->cgroup = (struct cgroup){ .fd = -1, .parent_fd = -1 };
	c->attr.rate_max_hz = evopen_max_rate_hz(k->host);
	c->open = (struct evopen){
		.fn = m && m->perf_event_open ? m->perf_event_open : evopen_syscall,
		.host = k->host, .log = k->log, .allow_user_only = !config->only_kernel,
	};
	read_limits(k);
	int r = choose_rate(config, &c->attr, &c->quantum_ns, e);
	if (r == 0)
		r = check_ring(config, e);
	if (r == 0)
		r = check_stack(config, e);
	return r < 0 ? r : choose_events(k, e);
}

int kind_cpu_choose(struct kind_session *k, struct err *e)
{
	return kind_cpu_choose_only(k, &(struct kind_cpu_only){ NULL }, e);
}

/* ---- stacks and scope -------------------------------------------------------------- */

static uint32_t first_stack_bytes(const struct evattr_options *o)
{
	uint32_t bytes = FIRST_STACK_BYTES_MAX;
	while (bytes > FIRST_STACK_BYTES_MIN &&
	       (!o->rate_default_hz || o->rate_default_hz * bytes > FIRST_STACK_BYTES_PER_S))
		bytes /= 2;
	return bytes;
}

void kind_cpu_choose_callgraph(struct kind_session *k)
{
	const struct cprof_config *c = k->config;
	struct evattr_options *o = &((struct kind_cpu *)k->state)->attr;
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
		/* The program may drain its rings only at the end. */
		if (!c->stack_bytes && c->self != CPROF_SELF_NONE)
			o->stack_bytes = FIRST_STACK_BYTES_MIN;
	}
}

static void __attribute__((format(printf, 3, 4)))
set_scope(struct kind_session *k, enum cprof_scope scope, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(k->scope_reason, sizeof(k->scope_reason), fmt, ap);
	va_end(ap);
	k->scope = scope;
	k->cgroup = NULL;
}

void kind_cpu_add_reason(struct kind_session *k, const char *fmt, ...)
{
	size_t n = strlen(k->scope_reason);
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(k->scope_reason + n, sizeof(k->scope_reason) - n, fmt, ap);
	va_end(ap);
}

/* Uses the group that the command was started in, or creates one and moves the command. */
static int use_cgroup(struct kind_session *k, struct err *e)
{
	const struct cprof_config *c = k->config;
	struct kind_cpu *cpu = k->state;
	const char *why_not;
	if (!c->command_pid) {
		err_set(e, EINVAL, "--scope cgroup needs a command");
		err_hint(e, "a running process stays in its cgroup; use --scope cpu");
		return -EINVAL;
	}
	set_scope(k, CPROF_SCOPE_CGROUP, "requested");
	k->cgroup = commandgroup_of(c->command_cgroup, c->command_pid, &why_not);
	if (k->cgroup)
		return 0;
	k->cgroup = &cpu->cgroup;
	return cgroup_make(&cpu->cgroup, k->host, c->command_pid, e);
}

/* Events per task as long as these see everything. */
static void use_task(struct kind_session *k, const char *why)
{
	const struct kind_cpu *cpu = k->state;
	set_scope(k, CPROF_SCOPE_TASK, "%s; events per CPU only while short threads matter%s%s",
		  why, cpu->no_cgroup ? "; no cgroup for the command: " : "",
		  cpu->no_cgroup ? cpu->no_cgroup : "");
}

/* Of the target now; 0: unknown. */
uint64_t kind_cpu_n_threads(const struct kind_session *k)
{
	uint64_t n = k->config->n_tids;
	struct stat st;
	for (size_t i = 0; i < k->config->n_pids; i++) {
		CLEANUP_CLOSE int fd = host_open_file(k->host, HOST_PROC, O_PATH | O_DIRECTORY,
						      "%d/task", k->config->pid[i]);
		/* fs/proc/base.c, proc_task_getattr */
		if (fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink > 2)
			n += st.st_nlink - 2;
	}
	return n;
}

/*
 * Events per CPU would sample the switches of all other tasks, too, unless the kernel filters them.
 * Events of many threads take long to open, and more descriptors than there may be.
 */
static void choose_for_waits(struct kind_session *k)
{
	struct kind_cpu *c = k->state;
	uint64_t n = kind_cpu_n_threads(k);
	c->needs_filter = n > THREADS_MANY && !k->config->no_bpf;
	if (c->needs_filter)
		set_scope(k, CPROF_SCOPE_CPU, "there are %llu threads", (unsigned long long)n);
	else
		set_scope(k, CPROF_SCOPE_TASK, "events per CPU would sample the switches of all "
			  "other tasks, too");
}

/* Events per CPU if the kernel drops samples of other tasks. */
static void choose_cpu_or_task(struct kind_session *k)
{
	struct kind_cpu *cpu = k->state;
	cpu->may_change = cpu->needs_filter = false;
	if (kind_cpu_waits_any(cpu)) {
		choose_for_waits(k);
		return;
	}
	cpu->may_change = kind_cpu_scope_possible(k);
	if (k->config->no_bpf && cpu->may_change) {
		use_task(k, "--no-bpf");
		return;
	}
	cpu->needs_filter = cpu->may_change;
	set_scope(k, CPROF_SCOPE_CPU, "events per CPU are allowed%s%s",
		  cpu->no_cgroup ? "; no cgroup for the command: " : "",
		  cpu->no_cgroup ? cpu->no_cgroup : "");
}

/*
 * The cheapest scope that sees everything: a cgroup of the command, whose samples only are read;
 * else events per CPU or per task.
 */
static void choose_auto(struct kind_session *k)
{
	const struct cprof_config *c = k->config;
	const char *why_not, *no_cpus;
	/* Events per CPU would lose the CPU's record of calls at each switch. */
	if (c->callgraph == CPROF_CALLGRAPH_LBR) {
		set_scope(k, CPROF_SCOPE_TASK, "for --call-graph lbr");
		return;
	}
	no_cpus = evopen_why_not_cpus(&((struct kind_cpu *)k->state)->open);
	if (no_cpus) {
		set_scope(k, CPROF_SCOPE_TASK, "because %s", no_cpus);
		return;
	}
	const struct cgroup *g = commandgroup_of(c->command_cgroup, c->command_pid, &why_not);
	if (g && !c->no_inherit) {
		set_scope(k, CPROF_SCOPE_CGROUP, "created for the command");
		k->cgroup = g;
	} else {
		((struct kind_cpu *)k->state)->no_cgroup = why_not;
		choose_cpu_or_task(k);
	}
}

int kind_cpu_choose_scope(struct kind_session *k, struct err *e)
{
	const struct cprof_config *c = k->config;
	if (c->scope == CPROF_SCOPE_CGROUP)
		return use_cgroup(k, e);
	if (c->scope == CPROF_SCOPE_AUTO)
		choose_auto(k);
	else
		set_scope(k, c->scope, "requested");
	return 0;
}

/* Would events of CPUs open where those of threads did not?  Not if there is no such thread. */
static bool is_of_threads(int r)
{
	return r != -ESRCH && r != -ENOMEM && r != -EPERM && r != -EACCES;
}

bool kind_cpu_next_scope(struct kind_session *k, int r, const struct err *e)
{
	struct kind_cpu *c = k->state;
	if (k->config->scope != CPROF_SCOPE_AUTO)
		return false;
	if (k->scope == CPROF_SCOPE_CGROUP) {
		log_line(k->log, LOG_EXPLAIN, "scope: not cgroup: %s", e->what);
		c->no_cgroup = "these events cannot be confined to one";
		choose_cpu_or_task(k);
		return true;
	}
	if (k->scope == CPROF_SCOPE_CPU && c->needs_filter && r == -EOPNOTSUPP) {
		c->needs_filter = false;
		if (kind_cpu_waits_any(c))
			set_scope(k, CPROF_SCOPE_TASK, "%s", e->what);
		else
			use_task(k, e->what);
		return true;
	}
	if (k->scope == CPROF_SCOPE_TASK && c->may_change && is_of_threads(r)) {
		log_line(k->log, LOG_EXPLAIN, "scope: not task: %s", e->what);
		c->may_change = false;
		set_scope(k, CPROF_SCOPE_CPU, "these events cannot be opened per task");
		return true;
	}
	return false;
}

void kind_cpu_log_scope(const struct kind_session *k)
{
	static const char *const name[] = {
		[CPROF_SCOPE_TASK] = "task", [CPROF_SCOPE_CPU] = "cpu",
		[CPROF_SCOPE_CGROUP] = "cgroup",
	};
	const struct kind_cpu *c = k->state;
	const char *but = k->scope == CPROF_SCOPE_TASK && !c->may_change ?
			  "; threads that live for less than one sampling period are not seen" : "";
	log_line(k->log, LOG_EXPLAIN, "scope: %s, %s%s", name[k->scope], k->scope_reason, but);
}
