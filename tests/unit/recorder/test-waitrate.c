#include "recorder/kinds/waitrate.h"
#include "tests/unit/tap.h"

#define MS 1000000u

static uint64_t now_ns, n;

/* A second in steps of 10 ms with so many switches, one of r->period of which is sampled. */
static void run(struct waitrate *r, uint64_t rate_hz)
{
	uint64_t period;
	for (int i = 0; i < 100; i++) {
		now_ns += 10 * MS;
		n += rate_hz / 100 / r->period;
		if (waitrate_step(r, n, now_ns, &period))
			waitrate_changed(r, period, 10000);
	}
}

static void test_periods(void)
{
	struct waitrate r;
	waitrate_init(&r, 10000);
	tap_int((long long)waitrate_period(&r, 11000, 1000 * MS), 1, "some more are tolerated");
	tap_int((long long)waitrate_period(&r, 50000, 1000 * MS), 29, "(5 L / L)^2, and prime");
	tap_int((long long)waitrate_period(&r, 100000, 1000 * MS), 127, "ten times L");
	tap_int((long long)waitrate_period(&r, 1000000, 1000 * MS), 1481, "L / 10 samples remain");
	tap_int((long long)waitrate_period(&r, UINT64_MAX / 2, 1), 10007, "there is a largest one");
	tap_int((long long)waitrate_period(&r, 0, 1), 1, "nothing happens");
}

static void test_steps(void)
{
	struct waitrate r;
	uint64_t period;
	now_ns = 5 * MS, n = 0;
	waitrate_init(&r, 10000);
	run(&r, 9000);
	tap_int((long long)r.period, 1, "below the limit");
	run(&r, 100000);
	tap_int((long long)r.period, 127, "a step up");
	run(&r, 80000);
	tap_int((long long)r.period, 127, "a little less changes nothing");
	run(&r, 20000);
	tap_int((long long)r.period, 5, "much less does");
	run(&r, 100);
	run(&r, 100);
	tap_int((long long)r.period, 1, "back to all");
	tap_int((long long)r.period_max, 127, "the maximum is kept");
	waitrate_init(&r, 10000);
	waitrate_step(&r, 0, now_ns, &period);
	tap_ok(!waitrate_step(&r, 399, now_ns + MS, &period), "a millisecond is too short");
	tap_ok(waitrate_step(&r, 400, now_ns + MS, &period), "unless there are many");
	tap_ok(!waitrate_step(&r, 5, now_ns + 100 * MS, &period), "a new profile counts from 0");
}

int main(void)
{
	test_periods();
	test_steps();
	return tap_done();
}
