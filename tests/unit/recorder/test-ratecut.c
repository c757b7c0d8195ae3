#include "recorder/ratecut.h"

#include "tests/unit/tap.h"

#define MS 1000000ull

static struct ratecut a;

static enum ratecut_verdict at(uint64_t ms, uint64_t n, uint64_t n_lost, uint64_t n_throttles)
{
	const struct ratecut_seen seen = { n, n_lost, n_throttles };
	return ratecut_judge(&a, &seen, ms * MS);
}

int main(void)
{
	ratecut_init(&a, 1000 * MS);
	tap_ok(at(1199, 10, 10, 10) == RATECUT_KEEP, "no decision before its time");
	tap_ok(at(1200, 10, 0, 1) == RATECUT_THROTTLED, "throttled");
	tap_ok(at(1399, 20, 0, 2) == RATECUT_KEEP, "nor too early after it");
	tap_ok(at(1400, 20, 0, 1) == RATECUT_KEEP, "earlier losses do not count twice");
	tap_ok(at(1600, 119, 1, 1) == RATECUT_KEEP, "one sample in a hundred may be lost");
	tap_ok(at(1800, 217, 3, 1) == RATECUT_LOST, "two are too many");
	tap_ok(at(2000, 217, 3, 1) == RATECUT_KEEP, "no samples");
	tap_ok(at(2200, 217, 4, 1) == RATECUT_LOST, "all samples were lost");
	tap_ok(at(2400, 300, 90, 2) == RATECUT_THROTTLED, "throttled and lost");

	tap_int((long long)ratecut_lower(999, true), 499, "half a frequency");
	tap_int((long long)ratecut_lower(1, true), 1, "not below 1 Hz");
	tap_int((long long)ratecut_lower(1000, false), 2000, "twice a period");
	tap_ok(ratecut_lower(UINT64_C(1) << 62, false) == UINT64_C(1) << 62, "not beyond 2^63");
	return tap_done();
}
