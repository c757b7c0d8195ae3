#include "cmd/realtime.h"

#include "tests/unit/tap.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#define NOBODY 65534
#define MS 1000000u

static int policy(void)
{
	return sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
}

/* One look of the watchdog, at a time in ms. */
struct look {
	unsigned at, late;
	uint64_t cpu_ns;
	bool is_runnable, starves;
};

static void test_looks(const char *name, const struct look *look, size_t n)
{
	struct realtime_seen seen = { 0 };
	bool as_expected = true;
	for (size_t i = 0; i < n; i++) {
		uint64_t now_ns = look[i].at * (uint64_t)MS, late_ns = look[i].late * (uint64_t)MS;
		bool starves = realtime_look(&seen, look[i].cpu_ns, look[i].is_runnable, now_ns,
					     late_ns);
		as_expected &= look[i].starves == starves;
	}
	tap_ok(as_expected, "%s", name);
}

#define LOOKS(name, ...) test_looks(name, (const struct look[]){ __VA_ARGS__ }, \
				    sizeof((const struct look[]){ __VA_ARGS__ }) / \
				    sizeof(struct look))

static void test_decisions(void)
{
	LOOKS("a reader that sleeps", { 250, 0, 5, false, false }, { 500, 0, 5, false, false },
	      { 1500, 0, 5, false, false }, { 2500, 0, 5, false, false });
	LOOKS("a reader that runs", { 250, 0, 5, true, false }, { 500, 0, 6, true, false },
	      { 1500, 0, 7, true, false }, { 2500, 0, 8, true, false });
	LOOKS("a reader that waits for a CPU", { 250, 0, 5, true, false },
	      { 500, 0, 5, true, false }, { 800, 0, 5, true, false }, { 900, 0, 5, true, true });
	LOOKS("one that waits again", { 250, 0, 5, true, false }, { 800, 0, 5, true, false },
	      { 820, 0, 6, true, false }, { 1300, 0, 6, true, false },
	      { 1430, 0, 6, true, true });
	LOOKS("both wait for a CPU", { 250, 0, 5, true, false },
	      { 1250, 750, 6, true, false },
	      { 1270, 0, 6, true, false }, { 1290, 0, 6, true, true });
	LOOKS("a virtual machine that was stopped", { 250, 0, 5, true, false },
	      { 9000, 8500, 5, true, false }, { 9020, 0, 6, true, false },
	      { 9040, 0, 7, true, false });
}

static void *read_rings(void *ctx)
{
	struct realtime *w = ctx;
	realtime_raise(w);
	bool raised = policy() == SCHED_FIFO;
	realtime_lower(w);
	return raised && policy() == SCHED_OTHER ? w : NULL;
}

static void test_priorities(void)
{
	struct realtime w;
	void *was_raised;
	pthread_t thread;
	realtime_start(&w, false, REALTIME_LOOK_NS);
	realtime_raise(&w);
	tap_int(policy(), SCHED_OTHER, "not wanted: normal priority");
	tap_str(realtime_state_name(realtime_state(&w)), "no", "and the state says so");
	realtime_lower(&w);
	realtime_stop(&w);

	realtime_start(&w, true, REALTIME_LOOK_NS);
	realtime_raise(&w);
	bool allowed = policy() == SCHED_FIFO;
	tap_int(realtime_state(&w), allowed ? REALTIME_YES : REALTIME_NO, "the state");
	realtime_lower(&w);
	tap_int(policy(), SCHED_OTHER, "normal priority again");
	if (!allowed || geteuid() != 0) {
		tap_skip("a user with a limit of real-time priority", "only root can set one up");
		realtime_stop(&w);
		return;
	}
	if (pthread_create(&thread, NULL, read_rings, &w) == 0) {
		pthread_join(thread, &was_raised);
		tap_ok(was_raised, "a second reader");
	}
	/* A process may keep the priority that it has, as with RLIMIT_RTPRIO. */
	realtime_raise(&w);
	if (setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return;
	tap_int(policy(), SCHED_FIFO, "a user at real-time priority");
	realtime_lower(&w);
	tap_int(policy(), SCHED_OTHER, "returns to normal priority without privileges");
	realtime_stop(&w);
}

static void test_hurry(void)
{
	int nice_was = 77;
	if (getpriority(PRIO_PROCESS, 0) != 0 && setpriority(PRIO_PROCESS, 0, 0) < 0) {
		tap_skip("hurrying", "the test may not return to the usual nice value");
		return;
	}
	bool allowed = realtime_hurry(&nice_was);
	tap_int(nice_was, 0, "the test is not nice");
	tap_int(getpriority(PRIO_PROCESS, 0), allowed ? -10 : 0, "opening events hurries");
	realtime_calm(nice_was);
	tap_int(getpriority(PRIO_PROCESS, 0), 0, "but nothing after it");
	setpriority(PRIO_PROCESS, 0, 5);
	tap_ok(!realtime_hurry(&nice_was) && getpriority(PRIO_PROCESS, 0) == 5,
	       "a thread that is nice stays so");
	realtime_calm(nice_was);
	tap_int(getpriority(PRIO_PROCESS, 0), 5, "afterwards, too");
}

int main(void)
{
	test_decisions();
	test_hurry();
	test_priorities();
	return tap_done();
}
