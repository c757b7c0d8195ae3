/*
 * All events of a session, including the side-band event, place the common parts of their records
 * alike: PERF_SAMPLE_IDENTIFIER comes first in a sample and last in other records and says which
 * event a record belongs to; the time has a fixed place; and other records end with the same
 * fields.  What a sample has after those depends on its event.
 *
 * STREAM_ID is the id of this event, which throttle records contain (ID is that of the
 * parent when the event is inherited).  CPU and PERIOD are always sampled: 16 bytes that need no
 * option.
 */
#include "event/evattr.h"

#include "base/err.h"
#include "event/evspec.h"
#include "event/recformat.h"
#include "symbolize/arch/arch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

uint64_t evattr_user_regs(void)
{
	const struct arch *a = arch_native();
	return a ? a->perf_mask : 0;
}

bool evattr_place_regs(struct callregs_numbers *ret)
{
	const struct arch *a = arch_native();
	for (uint8_t i = 0; a && i < a->n_perf_regs; i++) {
		if (a->perf_reg[i] == a->sp)
			ret->sp = i;
		if (a->perf_reg[i] == a->pc)
			ret->pc = i;
		if (a->perf_reg[i] == a->result)
			ret->result = i;
	}
	for (unsigned i = 0; a && i < CALLREGS_ARGS; i++)
		ret->arg[i] = a->perf_syscall_arg[i];
	return a != NULL;
}

/* config3 came with Linux 6.3, after sig_data, which cprof does not use.  Older headers have no
 * field for it, so it travels in sig_data until evopen_syscall puts it in place. */
static void set_config3(struct perf_event_attr *a, uint64_t config3)
{
	if (!config3)
		return;
	a->size = EVATTR_SIZE_CONFIG3;
	a->sig_data = config3;
}

static void common(const struct evattr_options *o, enum evattr_callgraph callgraph,
		   uint32_t stack_bytes, struct perf_event_attr *a)
{
	*a = (struct perf_event_attr){
		.size = sizeof(*a),
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
			       PERF_SAMPLE_PERIOD,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			       PERF_FORMAT_ID | PERF_FORMAT_LOST,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = o->wakeup_bytes,
		.inherit = o->inherit && !o->cpu_wide,
		.exclude_guest = 1,
	};
	if (callgraph != EVATTR_CALLGRAPH_NONE) {
		a->sample_type |= PERF_SAMPLE_CALLCHAIN;
		a->sample_max_stack = o->max_stack;
	}
	if (callgraph == EVATTR_CALLGRAPH_DWARF) {
		/* The callchain holds the kernel's part only, as user frames come from the stack
		 * copy.  But the copy does not hold the stacks of Go's goroutines. */
		a->exclude_callchain_user = !o->user_chain;
		a->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		a->sample_regs_user = evattr_user_regs();
		a->sample_stack_user = stack_bytes;
	}
	if (callgraph == EVATTR_CALLGRAPH_LBR) {
		/* The callchain holds the kernel's part, and where the user's part begins. */
		a->sample_type |= PERF_SAMPLE_BRANCH_STACK;
		a->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK |
					PERF_SAMPLE_BRANCH_NO_CYCLES |
					PERF_SAMPLE_BRANCH_NO_FLAGS;
	}
	if (o->want_cgroup)
		a->sample_type |= PERF_SAMPLE_CGROUP;
}

static uint64_t max_hz(const struct evspec *s, const struct evattr_options *o)
{
	const uint64_t clock_max_hz = 1000000000u / EVATTR_CLOCK_PERIOD_MIN_NS;
	return s->is_clock && o->rate_max_hz > clock_max_hz ? clock_max_hz : o->rate_max_hz;
}

/* What "max" means.  The kernel does not throttle clocks. */
static uint64_t fastest_hz(const struct evspec *s, const struct evattr_options *o)
{
	bool is_slow = s->is_clock && o->rate_max_hz > EVATTR_CLOCK_FASTEST_HZ;
	return is_slow ? EVATTR_CLOCK_FASTEST_HZ : o->rate_max_hz;
}

/* The event's effective rate: *ret_hz or, if that is 0, *ret_period. */
static void effective_rate(const struct evspec *s, const struct evattr_options *o,
			   uint64_t *ret_hz, uint64_t *ret_period)
{
	*ret_hz = *ret_period = 0;
	switch (s->rate_kind) {
	case EVSPEC_RATE_DEFAULT:
		*ret_period = o->rate_given ? 0 : evspec_default_period(s);
		if (*ret_period)
			break;
		*ret_hz = o->rate_default_fastest ? fastest_hz(s, o) : o->rate_default_hz;
		*ret_period = o->rate_default_period;
		break;
	case EVSPEC_RATE_FREQ:
		*ret_hz = s->rate;
		break;
	case EVSPEC_RATE_FREQ_MAX:
		*ret_hz = fastest_hz(s, o);
		break;
	case EVSPEC_RATE_PERIOD:
		*ret_period = s->rate;
		break;
	}
}

int evattr_check_rate(const struct evspec *s, const struct evattr_options *o, struct err *e)
{
	uint64_t hz, period;
	effective_rate(s, o, &hz, &period);
	if (hz > o->rate_max_hz) {
		int r = err_set(e, EINVAL, "event '%s': %" PRIu64 " Hz is above the kernel's "
				   "limit of %" PRIu64 " Hz", s->name, hz, o->rate_max_hz);
		err_hint(e, "request less, or 'max'; root can raise the limit: sysctl "
			 "kernel.perf_event_max_sample_rate=%" PRIu64, hz);
		return r;
	}
	if (hz > max_hz(s, o) || (!hz && s->is_clock && period < EVATTR_CLOCK_PERIOD_MIN_NS)) {
		int r = hz ? err_set(e, EINVAL, "event '%s': %" PRIu64 " Hz is too fast for a "
					"clock", s->name, hz)
			      : err_set(e, EINVAL, "event '%s': a period of %" PRIu64 " ns is too "
					"short for a clock", s->name, period);
		err_hint(e, "the kernel's clock events tick every %u ns (%" PRIu64 " Hz) at most",
			 EVATTR_CLOCK_PERIOD_MIN_NS, max_hz(s, o));
		return r;
	}
	return 0;
}

int evattr_check_side(const struct evspec *s, const struct evattr_options *o, struct err *e)
{
	bool no_kernel = s->only_user || o->only_user, no_user = s->only_kernel || o->only_kernel;
	if (no_kernel && no_user && !s->with_hv) {
		int r = err_set(e, EINVAL, "event '%s': neither user nor kernel code is left to "
				   "sample", s->name);
		err_hint(e, "--user and ':u' exclude the kernel, --kernel and ':k' exclude "
			 "user code; choose one side");
		return r;
	}
	if (no_kernel && evspec_in_kernel(s)) {
		int r = err_set(e, EINVAL, "event '%s' happens inside the kernel: with user "
				   "code only there is never a sample", s->name);
		err_hint(e, "leave out --user for this event");
		return r;
	}
	return 0;
}

enum evattr_callgraph evattr_callgraph_of(const struct evspec *s, const struct evattr_options *o)
{
	switch (s->callgraph) {
	case EVSPEC_CALLGRAPH_NONE:
		return EVATTR_CALLGRAPH_NONE;
	case EVSPEC_CALLGRAPH_FP:
		return EVATTR_CALLGRAPH_FP;
	case EVSPEC_CALLGRAPH_DWARF:
		return evattr_user_regs() ? EVATTR_CALLGRAPH_DWARF : EVATTR_CALLGRAPH_FP;
	case EVSPEC_CALLGRAPH_DEFAULT:
		break;
	}
	return o->callgraph;
}

/* Events that the kernel counts by itself, in perf_swevent_event(). */
static bool is_software(const struct evspec *s)
{
	return s->type == PERF_TYPE_SOFTWARE || evspec_is_mark(s);
}

/* What happens, on which side, and when it is enabled. */
static void set_event(const struct evspec *s, const struct evattr_options *o,
		      struct perf_event_attr *a)
{
	a->type = s->type;
	a->config = s->config;
	a->config1 = s->path ? (uintptr_t)s->path : s->config1;
	a->config2 = s->config2;
	a->bp_type = s->bp_type;
	set_config3(a, s->config3);
	a->exclude_kernel = s->only_user || o->only_user;
	a->exclude_user = s->only_kernel || o->only_kernel;
	a->exclude_hv = (a->exclude_kernel || a->exclude_user) && !s->with_hv;
	a->exclude_idle = s->no_idle;
	a->exclude_guest = !s->with_guests;
	a->exclude_host = s->no_host;
	a->pinned = s->pinned;
	a->disabled = 1;
	a->enable_on_exec = o->enable_on_exec && !o->start_paused;
}

void evattr_counting(const struct evspec *s, const struct evattr_options *o,
		     struct perf_event_attr *ret_attr)
{
	struct perf_event_attr a = {
		.size = sizeof(a),
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.inherit = o->inherit && !o->cpu_wide,
	};
	set_event(s, o, &a);
	*ret_attr = a;
}

void evattr_sampling(const struct evspec *s, const struct evattr_options *o,
		     struct perf_event_attr *ret_attr)
{
	uint64_t hz, period;
	struct perf_event_attr a;
	uint32_t stack_bytes = s->stack_bytes ? s->stack_bytes
			       : o->stack_bytes ? o->stack_bytes : EVATTR_STACK_BYTES_DEFAULT;
	common(o, evattr_callgraph_of(s, o), stack_bytes, &a);
	set_event(s, o, &a);
	effective_rate(s, o, &hz, &period);
	a.freq = hz != 0;
	if (hz)
		a.sample_freq = hz;
	else
		a.sample_period = period;
	if (!hz && is_software(s) && !s->is_clock)
		a.sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
	if (hz && o->want_count && !a.inherit && !s->is_clock)
		a.sample_type |= PERF_SAMPLE_READ;
	if (s->group_sample) {
		a.sample_type |= PERF_SAMPLE_READ;
		a.read_format |= PERF_FORMAT_GROUP;
	}
	a.context_switch = s->has_switches;
	if (s->has_raw)
		a.sample_type |= PERF_SAMPLE_RAW;
	a.exclude_idle = s->no_idle || (o->cpu_wide && s->is_clock);
	a.precise_ip = s->precise_ip & 3;
	*ret_attr = a;
}

void evattr_member(struct perf_event_attr *a, bool counts)
{
	a->disabled = a->enable_on_exec = a->pinned = 0;
	if (!counts)
		return;
	a->freq = 0;
	a->sample_period = 0;
	a->precise_ip = 0;
	a->read_format &= ~(uint64_t)PERF_FORMAT_GROUP;
	a->sample_type &= ~(uint64_t)(PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN |
				      PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
				      PERF_SAMPLE_BRANCH_STACK);
	a->branch_sample_type = 0;
	a->sample_regs_user = 0;
	a->sample_stack_user = 0;
	a->sample_max_stack = 0;
	a->exclude_callchain_user = 0;
}

void evattr_sideband(const struct evattr_options *o, struct perf_event_attr *ret_attr)
{
	struct perf_event_attr a;
	common(o, o->callgraph, o->stack_bytes, &a);
	/* Software events cannot have a branch stack.  It only adds fields to samples, and this
	 * event has no samples. */
	a.sample_type &= ~(uint64_t)PERF_SAMPLE_BRANCH_STACK;
	a.branch_sample_type = 0;
	a.type = PERF_TYPE_SOFTWARE;
	a.config = PERF_COUNT_SW_DUMMY;
	a.mmap = a.mmap2 = a.comm = a.comm_exec = a.task = 1;
	a.ksymbol = o->cpu_wide;
	a.context_switch = o->want_switches;
	a.cgroup = o->want_cgroup;
	a.exclude_kernel = a.exclude_hv = 1;
	a.disabled = o->enable_on_exec;
	a.enable_on_exec = o->enable_on_exec;
	*ret_attr = a;
}

void evattr_format(const struct perf_event_attr *attr, struct record_format *ret_format)
{
	*ret_format = (struct record_format){
		.sample_type = attr->sample_type,
		.read_format = attr->read_format,
		.branch_sample_type = attr->branch_sample_type,
		.sample_regs_user = attr->sample_regs_user,
		.sample_regs_intr = attr->sample_regs_intr,
		.sample_id_all = attr->sample_id_all,
	};
}

/* ---- for -v -------------------------------------------------------------------- */

struct text {
	char *buf;
	size_t n, cap;
};

static void __attribute__((format(printf, 2, 3))) add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(t->buf + t->n, t->cap - t->n, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->n = t->n + (size_t)n < t->cap ? t->n + (size_t)n : t->cap - 1;
}

static void add_bits(struct text *t, const char *title, uint64_t bits, const char *const *name,
		     size_t n_names)
{
	const char *sep = "";
	if (!bits)
		return;
	add(t, " %s ", title);
	for (size_t i = 0; i < 64; i++) {
		if (!(bits >> i & 1))
			continue;
		if (i < n_names && name[i])
			add(t, "%s%s", sep, name[i]);
		else
			add(t, "%sbit%zu", sep, i);
		sep = "|";
	}
}

void evattr_text(const struct perf_event_attr *a, char *buf, unsigned buf_bytes)
{
	static const char *const sample[] = {
		"IP", "TID", "TIME", "ADDR", "READ", "CALLCHAIN", "ID", "CPU", "PERIOD",
		"STREAM_ID", "RAW", "BRANCH_STACK", "REGS_USER", "STACK_USER", "WEIGHT",
		"DATA_SRC", "IDENTIFIER", "TRANSACTION", "REGS_INTR", "PHYS_ADDR", "AUX",
		"CGROUP", "DATA_PAGE_SIZE", "CODE_PAGE_SIZE", "WEIGHT_STRUCT",
	};
	static const char *const read[] = { "ENABLED", "RUNNING", "ID", "GROUP", "LOST" };
	struct text t = { buf, 0, buf_bytes };
	if (!buf_bytes)
		return;
	add(&t, "type %" PRIu32 " config 0x%" PRIx64, (uint32_t)a->type, (uint64_t)a->config);
	if (a->config1)
		add(&t, " config1 0x%" PRIx64, (uint64_t)a->config1);
	if (a->config2)
		add(&t, " config2 0x%" PRIx64, (uint64_t)a->config2);
	if (a->bp_type)
		add(&t, " bp_type %" PRIu32, (uint32_t)a->bp_type);
	if (a->freq)
		add(&t, " freq %" PRIu64, (uint64_t)a->sample_freq);
	else if (a->sample_period)
		add(&t, " period %" PRIu64, (uint64_t)a->sample_period);
	add_bits(&t, "sample", a->sample_type, sample, sizeof(sample) / sizeof(*sample));
	add_bits(&t, "read", a->read_format, read, sizeof(read) / sizeof(*read));
	if (a->sample_regs_user)
		add(&t, " regs 0x%" PRIx64, (uint64_t)a->sample_regs_user);
	if (a->sample_stack_user)
		add(&t, " stack %" PRIu32, (uint32_t)a->sample_stack_user);
	if (a->precise_ip)
		add(&t, " precise %u", (unsigned)a->precise_ip);
	const struct { const char *name; bool on; } flag[] = {
		{ "disabled", a->disabled }, { "inherit", a->inherit },
		{ "enable_on_exec", a->enable_on_exec }, { "exclude_user", a->exclude_user },
		{ "exclude_kernel", a->exclude_kernel }, { "exclude_hv", a->exclude_hv },
		{ "exclude_idle", a->exclude_idle }, { "exclude_host", a->exclude_host },
		{ "exclude_guest", a->exclude_guest }, { "pinned", a->pinned },
		{ "exclude_callchain_user", a->exclude_callchain_user }, { "mmap", a->mmap },
		{ "mmap2", a->mmap2 }, { "comm", a->comm }, { "comm_exec", a->comm_exec },
		{ "task", a->task }, { "ksymbol", a->ksymbol }, { "cgroup", a->cgroup },
		{ "context_switch", a->context_switch },
	};
	const char *sep = " ";
	for (size_t i = 0; i < sizeof(flag) / sizeof(*flag); i++) {
		if (!flag[i].on)
			continue;
		add(&t, "%s%s", sep, flag[i].name);
		sep = ",";
	}
}
