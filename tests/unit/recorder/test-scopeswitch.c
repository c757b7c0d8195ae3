/* Decisions from totals: 1 kHz, one CPU. */

#include "recorder/kinds/scopeswitch.h"
#include "tests/unit/tap.h"

#define MS UINT64_C(1000000)

static struct scopeswitch w;
static struct scopeswitch_seen now;
static unsigned percent;

static void begin(void)
{
	w = (struct scopeswitch){ .is_cpu = false };
	now = (struct scopeswitch_seen){ .now_ns = 1000 * MS, .period = MS, .used_known = true };
	percent = 0;
}

/* A tenth of a second of `used` ms, of which `covered` ms were sampled. */
static enum scopeswitch_verdict look(uint64_t used, uint64_t covered, uint64_t n_born,
				     uint64_t n_foreign)
{
	now.now_ns += 100 * MS;
	now.used += used * MS;
	now.covered += covered * MS;
	now.n_samples += covered;
	now.n_born += n_born;
	now.n_foreign += n_foreign;
	if (!w.is_cpu && !scopeswitch_wants_account(&w, &now))
		return SCOPESWITCH_STAY;
	return scopeswitch_look(&w, &now, &percent);
}

/* How many looks until a change; 0: none in n. */
static int looks_until(int n, uint64_t used, uint64_t covered, uint64_t n_born, uint64_t n_foreign,
		       enum scopeswitch_verdict wanted)
{
	for (int i = 1; i <= n; i++)
		if (look(used, covered, n_born, n_foreign) == wanted)
			return i;
	return 0;
}

static void change(bool is_cpu)
{
	scopeswitch_changed(&w, &now, is_cpu);
}

static void test_to_cpu(void)
{
	begin();
	tap_int(looks_until(50, 100, 100, 0, 0, SCOPESWITCH_TO_CPU), 0, "no births: no change");
	tap_int(looks_until(50, 100, 100, 50, 0, SCOPESWITCH_TO_CPU), 0,
		"births, but nothing is missing");
	tap_int(looks_until(50, 100, 94, 1, 0, SCOPESWITCH_TO_CPU), 0,
		"6 % are missing, but one thread cannot hide them");
	tap_int(looks_until(5, 100, 20, 500, 0, SCOPESWITCH_TO_CPU), 2,
		"short threads: at the second look");
	tap_int(percent, 80, "with the part that is missing");
	begin();
	look(100, 100, 0, 0);
	look(100, 20, 100, 0);
	tap_int(looks_until(50, 100, 100, 0, 0, SCOPESWITCH_TO_CPU), 0,
		"a pool of threads is born once: no change");
	begin();
	now.used_known = false;
	tap_int(looks_until(5, 0, 20, 500, 0, SCOPESWITCH_TO_CPU), 3,
		"no account: the births decide");
	begin();
	now.used_error = 90 * MS;
	tap_int(looks_until(3, 100, 20, 500, 0, SCOPESWITCH_TO_CPU), 0,
		"a coarse account: not after a tenth of a second");
	tap_ok(looks_until(30, 100, 20, 500, 0, SCOPESWITCH_TO_CPU) > 0, "but after several");
	begin();
	now.used_error = 90 * MS;
	now.counted_known = true;
	for (int i = 0; i < 3; i++) {
		now.counted += 100 * MS;
		tap_int(look(100, 20, 500, 0), i == 2 ? SCOPESWITCH_TO_CPU : SCOPESWITCH_STAY,
			"exact counters decide at the third look");
	}
	tap_int(percent, 80, "with the part that they counted and samples miss");
	begin();
	now.used_error = 90 * MS;
	now.counted_known = true;
	int n = 0;
	for (int k = 0; k < 30 && !n; k++) {
		now.counted += 100 * MS;
		n = look(20, 20, 500, 80) == SCOPESWITCH_TO_CPU;
	}
	tap_int(n, 0, "counters with threads that are no targets: no change");
	begin();
	tap_ok(looks_until(100, 100, 10, 0, 0, SCOPESWITCH_TO_CPU) > 19,
	       "events that the kernel has removed: after seconds");
	begin();
	tap_int(looks_until(50, 0, 0, 0, 0, SCOPESWITCH_TO_CPU), 0, "an idle target: no change");
}

static void test_timeout(void)
{
	begin();
	tap_ok(scopeswitch_timeout_ms(&w) > 0, "at first it looks often");
	look(100, 100, 0, 0);
	look(100, 100, 0, 0);
	tap_int(scopeswitch_timeout_ms(&w), -1, "without births it does not");
	look(100, 100, 1, 0);
	tap_ok(scopeswitch_timeout_ms(&w) > 0, "after a birth it does again");
	change(true);
	tap_int(scopeswitch_timeout_ms(&w), -1, "events of CPUs can wait");
}

static void test_to_task(void)
{
	begin();
	change(true);
	tap_int(looks_until(100, 100, 100, 500, 500, SCOPESWITCH_TO_TASK), 0,
		"short threads go on: no change back");
	tap_int(looks_until(100, 100, 100, 0, 0, SCOPESWITCH_TO_TASK), 0,
		"no other tasks: events of CPUs cost nothing");
	begin();
	change(true);
	int n = looks_until(100, 100, 100, 0, 100, SCOPESWITCH_TO_TASK);
	tap_ok(n >= 20 && n < 25, "two seconds without short threads: back (%d looks)", n);
	change(false);
	looks_until(5, 100, 20, 500, 0, SCOPESWITCH_TO_CPU);
	change(true);
	n = looks_until(100, 100, 100, 0, 100, SCOPESWITCH_TO_TASK);
	tap_ok(n >= 40 && n < 45, "that was wrong: the next time after four seconds (%d)", n);
	change(false);
	looks_until(600, 100, 100, 0, 0, SCOPESWITCH_TO_CPU);
	change(true);
	n = looks_until(100, 100, 100, 0, 100, SCOPESWITCH_TO_TASK);
	tap_ok(n >= 20 && n < 25, "after a minute that is forgotten (%d)", n);
	begin();
	change(true);
	tap_ok(looks_until(100, 0, 0, 0, 100, SCOPESWITCH_TO_TASK) > 0, "an idle target: back");
}

static void test_others(void)
{
	begin();
	look(100, 20, 500, 0);
	scopeswitch_failed(&w, now.now_ns);
	tap_int(looks_until(9, 100, 20, 500, 0, SCOPESWITCH_TO_CPU), 0,
		"a change that failed is not tried again at once");
	tap_ok(looks_until(5, 100, 20, 500, 0, SCOPESWITCH_TO_CPU) > 0, "but after a second");
	scopeswitch_failed(&w, now.now_ns);
	tap_int(looks_until(18, 100, 20, 500, 0, SCOPESWITCH_TO_CPU), 0,
		"the next time after two seconds");
	begin();
	look(100, 20, 500, 0);
	look(100, 20, 500, 0);
	now.n_born = now.n_samples = now.covered = 0;
	tap_int(look(100, 20, 500, 0), SCOPESWITCH_STAY, "a cleared profile begins a new look");
	tap_ok(looks_until(3, 100, 20, 500, 0, SCOPESWITCH_TO_CPU) > 0, "which decides as before");
}

/* A live view clears its profile every second. */
static void test_cleared(void)
{
	begin();
	change(true);
	int n = 0;
	for (int i = 1; i < 100 && !n; i++) {
		n = look(100, 100, 0, 100) == SCOPESWITCH_TO_TASK ? i : 0;
		if (i % 10 == 0)
			now.n_born = now.n_samples = now.n_foreign = now.covered = 0;
	}
	tap_ok(n >= 20 && n < 40, "a profile that is often cleared: back as well (%d looks)", n);
	begin();
	look(100, 20, 500, 0);
	look(100, 20, 500, 0);
	scopeswitch_interrupt(&w);
	now.used += 5000 * MS;
	now.n_born += 1000;
	tap_int(look(0, 0, 0, 0), SCOPESWITCH_STAY, "what happens in a pause argues for nothing");
	tap_int(looks_until(20, 100, 100, 0, 0, SCOPESWITCH_TO_CPU), 0, "  nor does it later");
}

int main(void)
{
	test_to_cpu();
	test_timeout();
	test_to_task();
	test_others();
	test_cleared();
	return tap_done();
}
