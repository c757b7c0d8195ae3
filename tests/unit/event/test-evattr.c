/* Which options set which bits, and which rates and sides are refused. */
#include "event/evattr.h"

#include "base/err.h"
#include "event/evparse.h"
#include "event/evspec.h"
#include "source/record.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "tap.h"

#define COMMON (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
		PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

static struct evspec spec_of(const char *text)
{
	struct evspec_list l = { NULL, 0 };
	struct evspec s = { .rate = 0 };
	if (tap_ok(evparse_list(&l, NULL, text, NULL) == 0, "%s", text))
		s = l.v[0];
	evspec_list_done(&l);
	return s;
}

static struct perf_event_attr attr_of(const char *text, const struct evattr_options *o)
{
	struct perf_event_attr a;
	struct evspec s = spec_of(text);
	evattr_sampling(&s, o, &a);
	return a;
}

static const struct evattr_options plain = {
	.callgraph = EVATTR_CALLGRAPH_FP,
	.inherit = true,
	.rate_default_hz = 999,
	.rate_max_hz = 50000,
	.wakeup_bytes = 4096,
};

static void counting(void)
{
	struct perf_event_attr a;
	struct evspec s = spec_of("cycles:u");
	evattr_counting(&s, &plain, &a);
	tap_ok(a.type == PERF_TYPE_HARDWARE && !a.sample_period && !a.sample_type && !a.freq,
	       "counting takes no samples");
	tap_int((long long)a.read_format, PERF_FORMAT_TOTAL_TIME_ENABLED |
		PERF_FORMAT_TOTAL_TIME_RUNNING, "and reads how long the event ran");
	tap_ok(a.disabled && a.inherit && a.exclude_kernel && !a.exclude_user,
	       "with the sides and heirs of a sampled event");
}

static void sampling(void)
{
	struct perf_event_attr a = attr_of("cycles", &plain);
	tap_ok(a.type == PERF_TYPE_HARDWARE && a.config == 0 && a.size == sizeof(a), "the event");
	tap_int((long long)a.sample_type, COMMON | PERF_SAMPLE_CALLCHAIN, "what is sampled");
	tap_int((long long)a.read_format, PERF_FORMAT_TOTAL_TIME_ENABLED |
		PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID | PERF_FORMAT_LOST, "what is read");
	tap_ok(a.freq && a.sample_freq == 999, "the session's frequency");
	tap_ok(a.disabled && a.inherit && !a.enable_on_exec, "disabled, inherited");
	tap_ok(a.sample_id_all && a.use_clockid && a.clockid == CLOCK_MONOTONIC,
	       "each record has an id and the monotonic time");
	tap_ok(a.watermark && a.wakeup_watermark == 4096, "wakes up at the watermark");
	tap_ok(!a.exclude_user && !a.exclude_kernel && !a.exclude_hv && !a.exclude_idle &&
	       a.exclude_guest, "both sides of this machine, without its guests");
	tap_ok(!a.mmap && !a.comm && !a.task, "no side band");
	tap_ok(!a.exclude_callchain_user && !a.precise_ip, "user frames by frame pointer");

	struct evattr_options o = plain;
	o.enable_on_exec = true;
	o.inherit = false;
	o.callgraph = EVATTR_CALLGRAPH_NONE;
	o.max_stack = 64;
	o.want_cgroup = true;
	a = attr_of("r1d1:uppp", &o);
	tap_ok(a.type == PERF_TYPE_RAW && a.config == 0x1d1 && a.precise_ip == 3, "a raw event");
	tap_int((long long)a.sample_type, COMMON | PERF_SAMPLE_CGROUP, "cgroup ids instead of a "
		"callchain");
	tap_ok(a.sample_max_stack == 0, "no depth without a callchain");
	tap_ok(a.exclude_kernel && a.exclude_hv && !a.exclude_user, "user code only");
	tap_ok(a.enable_on_exec && a.disabled && !a.inherit, "from exec on, not inherited");

	o = plain;
	o.max_stack = 64;
	o.cpu_wide = true;
	o.rate_default_hz = 0;
	o.rate_default_period = 10007;
	a = attr_of("cpu-clock:k", &o);
	tap_ok(a.type == PERF_TYPE_SOFTWARE && a.config == PERF_COUNT_SW_CPU_CLOCK, "a clock");
	tap_ok(a.exclude_idle && !a.inherit, "of a CPU: not its idle time, not inherited");
	tap_ok(!a.freq && a.sample_period == 10007, "the session's period");
	tap_ok(a.exclude_user && a.exclude_hv && !a.exclude_kernel, "kernel code only");
	tap_ok(a.sample_max_stack == 64, "depth of stacks");
	a = attr_of("cycles", &o);
	tap_ok(!a.exclude_idle, "a PMU does not count idle time, and some refuse the bit");
	o.only_user = true;
	a = attr_of("cycles", &o);
	tap_ok(a.exclude_kernel && !a.exclude_user, "--user");
	o.only_user = false;
	o.only_kernel = true;
	a = attr_of("cycles", &o);
	tap_ok(!a.exclude_kernel && a.exclude_user, "--kernel");
}

static void default_rates(void)
{
	struct evattr_options o = plain;
	struct perf_event_attr a = attr_of("page-faults", &o);
	tap_ok(!a.freq && a.sample_period == 11,
	       "page faults come in bursts: a period by default");
	a = attr_of("major-faults", &o);
	tap_ok(!a.freq && a.sample_period == 1, "rare events: each one is sampled");
	a = attr_of("task-clock", &o);
	tap_ok(a.freq && a.sample_freq == 999, "clocks by frequency");
	a = attr_of("cycles", &o);
	tap_ok(a.freq && a.sample_freq == 999, "PMU counters by frequency, too");
	a = attr_of("page-faults/freq=50/", &o);
	tap_ok(a.freq && a.sample_freq == 50, "a rate of its own");
	o.rate_given = true;
	a = attr_of("page-faults", &o);
	tap_ok(a.freq && a.sample_freq == 999, "a requested rate applies to all events");
}

static void lbr(void)
{
	struct evattr_options o = plain;
	struct perf_event_attr side;
	o.callgraph = EVATTR_CALLGRAPH_LBR;
	struct perf_event_attr a = attr_of("cycles", &o);
	tap_int((long long)a.sample_type, COMMON | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK,
		"a callchain for the kernel's part, and branches");
	tap_int((long long)a.branch_sample_type, PERF_SAMPLE_BRANCH_USER |
		PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_NO_FLAGS |
		PERF_SAMPLE_BRANCH_NO_CYCLES, "calls of user code");
	evattr_sideband(&o, &side);
	tap_ok(!(side.sample_type & PERF_SAMPLE_BRANCH_STACK) && !side.branch_sample_type,
	       "but not for the side-band event, which has no PMU");
}

static void dwarf(void)
{
	struct evattr_options o = plain;
	o.callgraph = EVATTR_CALLGRAPH_DWARF;
	o.stack_bytes = 8192;
	struct perf_event_attr a = attr_of("cycles", &o);
	tap_int((long long)a.sample_type, COMMON | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
		PERF_SAMPLE_STACK_USER, "registers and a copy of the stack");
	tap_ok(a.exclude_callchain_user && a.sample_stack_user == 8192, "the chain is the "
		"kernel's");
	tap_ok(a.sample_regs_user == evattr_user_regs(), "all general registers");
#if defined(__x86_64__)
	tap_int((long long)a.sample_regs_user, 0xff0fff, "of x86-64");
#elif defined(__aarch64__)
	tap_int((long long)a.sample_regs_user, 0x1ffffffffll, "of arm64");
#endif
	struct perf_event_attr side;
	evattr_sideband(&o, &side);
	tap_ok(side.sample_type == a.sample_type && side.sample_regs_user == a.sample_regs_user &&
	       side.read_format == a.read_format, "the side band has the same layout");
}

static void rates(void)
{
	struct perf_event_attr a = attr_of("cycles/period=100003/", &plain);
	tap_ok(!a.freq && a.sample_period == 100003, "an event's own period");
	a = attr_of("cpu-clock/freq=250/", &plain);
	tap_ok(a.freq && a.sample_freq == 250, "an event's own frequency");
	a = attr_of("cycles/freq=max/", &plain);
	tap_ok(a.freq && a.sample_freq == 50000, "the kernel's limit");
	struct evattr_options fast = plain;
	fast.rate_max_hz = 400000;
	a = attr_of("cpu-clock/freq=max/", &fast);
	tap_ok(a.freq && a.sample_freq == 20000, "a clock's, which the kernel does not throttle");
	a = attr_of("cycles/freq=max/", &fast);
	tap_ok(a.freq && a.sample_freq == 400000, "which does not apply to a PMU");
	fast.rate_default_hz = fast.rate_max_hz;
	fast.rate_default_fastest = true;
	a = attr_of("cpu-clock", &fast);
	tap_ok(a.freq && a.sample_freq == 20000, "the session's rate may be that, too: of a clock");
	a = attr_of("cycles", &fast);
	tap_ok(a.freq && a.sample_freq == 400000, "and of a PMU event");

	static const struct {
		const char *text, *what, *hint;
		uint64_t max_hz;
	} refused[] = {
		{ "cycles/freq=50001/", "event 'cycles': 50001 Hz is above the kernel's limit of "
			"50000 Hz",
		  "request less, or 'max'; root can raise the limit: sysctl "
		  "kernel.perf_event_max_sample_rate=50001", 50000 },
		{ "cpu-clock/freq=100001/", "event 'cpu-clock': 100001 Hz is too fast for a clock",
		  "the kernel's clock events tick every 10000 ns (100000 Hz) at most", 200000 },
		{ "task-clock/period=9999/",
		  "event 'task-clock': a period of 9999 ns is too short for a clock",
		  "the kernel's clock events tick every 10000 ns (50000 Hz) at most", 50000 },
	};
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		struct evattr_options o = plain;
		struct err e = { 0 };
		struct evspec s = spec_of(refused[i].text);
		o.rate_max_hz = refused[i].max_hz;
		tap_int(evattr_check_rate(&s, &o, &e), -EINVAL, "  is refused");
		tap_str(e.what, refused[i].what, "  what");
		tap_str(e.hint, refused[i].hint, "  hint");
	}
	static const char *const fine[] = {
		"cycles", "cycles/freq=50000/", "cycles/freq=max/", "cpu-clock/freq=max/",
		"cpu-clock/period=10000/", "cycles/period=1/", "faults/period=1/",
	};
	for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++) {
		struct evspec s = spec_of(fine[i]);
		tap_int(evattr_check_rate(&s, &plain, NULL), 0, "  is a valid rate");
	}
	struct evattr_options o = plain;
	struct err e = { 0 };
	struct evspec s = spec_of("cycles");
	o.rate_default_hz = 50001;
	tap_int(evattr_check_rate(&s, &o, &e), -EINVAL, "the session's rate is checked, too");
	s = spec_of("cpu-clock");
	o.rate_default_hz = 0;
	o.rate_default_period = 1;
	tap_int(evattr_check_rate(&s, &o, &e), -EINVAL, "so is its period");
}

static void side(const char *text, bool only_user, bool only_kernel, const char *what)
{
	struct evattr_options o = plain;
	struct err e = { 0 };
	struct evspec s = spec_of(text);
	o.only_user = only_user;
	o.only_kernel = only_kernel;
	tap_int(evattr_check_side(&s, &o, &e), what ? -EINVAL : 0, "  side");
	tap_str(e.what, what ? what : "", "  what");
}

static void sides(void)
{
	side("cycles", false, false, NULL);
	side("cycles:u", true, false, NULL);
	side("cycles:k", false, true, NULL);
	side("cs", false, true, NULL);
	side("cycles:u", false, true, "event 'cycles:u': neither user nor kernel code is left to "
		"sample");
	side("cycles:k", true, false, "event 'cycles:k': neither user nor kernel code is left to "
		"sample");
	side("cycles", true, true, "event 'cycles': neither user nor kernel code is left to "
		"sample");
	side("cs", true, false, "event 'context-switches' happens inside the kernel: with user "
		"code only "
	     "there is never a sample");
}

static void sideband(void)
{
	struct perf_event_attr a;
	struct evattr_options o = plain;
	evattr_sideband(&o, &a);
	tap_ok(a.type == PERF_TYPE_SOFTWARE && a.config == PERF_COUNT_SW_DUMMY, "a dummy");
	tap_ok(a.mmap && a.mmap2 && a.comm && a.comm_exec && a.task, "with records about tasks and "
		"maps");
	tap_ok(!a.ksymbol && !a.cgroup, "and of nothing else");
	tap_ok(!a.disabled && !a.enable_on_exec && a.inherit, "from the start");
	tap_ok(a.exclude_kernel && a.exclude_hv, "and needs no privilege");
	tap_int((long long)a.sample_type, COMMON | PERF_SAMPLE_CALLCHAIN,
		"the layout of its records is that of the others");
	o.cpu_wide = o.want_cgroup = o.enable_on_exec = true;
	evattr_sideband(&o, &a);
	tap_ok(a.ksymbol && a.cgroup && !a.inherit, "of whole CPUs: kernel symbols, cgroups");
	tap_ok(a.disabled && a.enable_on_exec, "of a command: from exec on");
	tap_ok(a.sample_type & PERF_SAMPLE_CGROUP, "with cgroup ids");
}

static void others(void)
{
	struct perf_event_attr a = attr_of("cycles", &plain), before = a;
	struct record_format f;
	evattr_format(&a, &f);
	tap_ok(f.sample_type == a.sample_type && f.read_format == a.read_format &&
	       f.sample_regs_user == a.sample_regs_user && f.sample_id_all && !f.sample_regs_intr,
	       "how to decode it");
	char text[512], small[10];
	evattr_text(&before, text, sizeof(text));
	tap_str(text, "type 0 config 0x0 freq 999 sample "
		"IP|TID|TIME|CALLCHAIN|CPU|PERIOD|STREAM_ID|IDENTIFIER read "
		"ENABLED|RUNNING|ID|LOST "
		"disabled,inherit,exclude_guest", "an attr as text");
	struct evattr_options o = plain;
	o.callgraph = EVATTR_CALLGRAPH_DWARF;
	o.stack_bytes = 16384;
	a = attr_of("r1/period=7/up", &o);
	a.sample_regs_user = 0xff0fff;
	a.sample_type |= UINT64_C(1) << 60;
	evattr_text(&a, text, sizeof(text));
	tap_str(text, "type 4 config 0x1 period 7 sample "
		"IP|TID|TIME|CALLCHAIN|CPU|PERIOD|STREAM_ID|REGS_USER|STACK_USER|IDENTIFIER|bit60 "
		"read ENABLED|RUNNING|ID|LOST regs 0xff0fff stack 16384 precise 1 "
		"disabled,inherit,exclude_kernel,exclude_hv,exclude_guest,exclude_callchain_user",
		"another");
	evattr_text(&before, small, sizeof(small));
	tap_str(small, "type 0 co", "the text is truncated to the buffer");
}

int main(void)
{
	counting();
	counting();
	sampling();
	dwarf();
	default_rates();
	lbr();
	rates();
	sides();
	sideband();
	others();
	return tap_done();
}
