/* The catalogue: the abilities of each event on a machine that a function simulates. */
#include "cprof-events.h"

#include "base/err.h"
#include "event/evopen.h"

#include <errno.h>
#include <fcntl.h>

#include "event/machine.h"
#include "tap.h"

static struct {
	bool pmu, kernel_side;
	unsigned n_calls;
} kernel;

static int play(struct perf_event_attr *a, pid_t pid, int cpu, int group, unsigned long flags)
{
	(void)cpu, (void)group, (void)flags;
	kernel.n_calls++;
	errno = EACCES;
	if (!kernel.kernel_side && (pid < 0 || !a->exclude_kernel))
		return -1;
	errno = ENOENT;
	if (!kernel.pmu && a->type != PERF_TYPE_SOFTWARE)
		return -1;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static struct machine m;
static struct cprof_event_probe *probe;

static void machine_is(bool pmu, bool kernel_side)
{
	const struct evopen o = { .fn = play, .host = &m.host, .allow_user_only = true };
	kernel.pmu = pmu;
	kernel.kernel_side = kernel_side;
	cprof_event_probe_free(probe);
	probe = NULL;
	tap_int(cprof_event_probe_new_at(&o, &probe, NULL), 0, "a machine");
}

static void is(const char *event, enum cprof_event_state want, const char *want_reason)
{
	enum cprof_event_state state = 77;
	const char *reason = NULL;
	tap_int(cprof_event_test(probe, event, &state, &reason, NULL), 0, event);
	tap_int(state, want, "  state");
	tap_str(reason, want_reason, "  reason");
}

int main(void)
{
	struct err e = { 0 };
	enum cprof_event_state state = 77;
	const char *reason = NULL;
	machine_open(&m);

	machine_is(false, true);
	machine_rights(&m, 2, 1ull << 38, 0);
	is("cpu-clock", CPROF_EVENT_YES, "");
	is("cs", CPROF_EVENT_YES, "");
	is("cycles", CPROF_EVENT_NO, "there is no PMU");
	is("LLC-load-misses", CPROF_EVENT_NO, "there is no PMU");
	is("r1d1", CPROF_EVENT_NO, "there is no PMU");
	tap_str(cprof_event_machine(probe)->why_no_pmu, "there is no PMU", "no PMU");
	tap_ok(!cprof_event_machine(probe)->why_not_cpus, "whole CPUs");
	tap_int((long long)cprof_event_machine(probe)->max_rate_hz, 50000, "highest rate");

	machine_rights(&m, 2, 0, 0);
	machine_is(false, false);
	is("cpu-clock", CPROF_EVENT_USER_ONLY, "kernel.perf_event_paranoid is above 1");
	is("cpu-clock:u", CPROF_EVENT_YES, "");
	is("cs", CPROF_EVENT_NO, "kernel.perf_event_paranoid is above 1");
	is("off-cpu", CPROF_EVENT_USER_ONLY, "kernel.perf_event_paranoid is above 1");
	is("cycles", CPROF_EVENT_NO, "there is no PMU");
	tap_str(cprof_event_machine(probe)->why_not_cpus, "kernel.perf_event_paranoid is above 0",
		"no whole CPUs");

	machine_is(true, true);
	is("cycles", CPROF_EVENT_NO, "cannot map a ring");
	is("cpu-clock", CPROF_EVENT_YES, "");

	tap_int(cprof_event_test(probe, "nonsense", &state, &reason, &e), -EINVAL, "no event");
	tap_str(e.what, "unknown event 'nonsense'", "  what");
	tap_int(cprof_event_test(probe, "cs,faults", &state, &reason, &e), -EINVAL, "two events");
	tap_str(e.what, "'cs,faults' is more than one event", "  what");
	tap_ok(state == 77 && !reason, "  outputs unchanged");

	struct cprof_event event;
	unsigned n = 0;
	kernel.n_calls = 0;
	bool all = true, known_group = true;
	for (; cprof_event_at(n, &event); n++) {
		all &= cprof_event_test(probe, event.name, &state, &reason, NULL) == 0;
		known_group &= strcmp(event.group,
			n < 13 ? "software" : n < 23 ? "hardware" : "cache") == 0;
	}
	tap_ok(n == 55 && all, "all %u events can be tested", n);
	tap_ok(known_group, "in their groups");
	tap_int(kernel.n_calls, n, "with one system call each");
	cprof_event_probe_free(probe);

	/* The real machine, with any privileges. */
	if (tap_ok(cprof_event_probe_new(&probe, &e) == 0, "this machine"))
		tap_int(cprof_event_test(probe, "cpu-clock", &state, &reason, &e), 0, "its "
			"cpu-clock");
	tap_ok(state <= CPROF_EVENT_NO && (state == CPROF_EVENT_YES) == !*reason,
	       "has a state, and a reason unless it is yes");
	cprof_event_probe_free(probe);
	machine_close(&m);
	return tap_done();
}
