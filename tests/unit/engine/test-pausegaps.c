#include "engine/pausegaps.h"

#include "tests/unit/tap.h"

int main(void)
{
	struct pausegaps g = { 0 };
	tap_ok(!pausegaps_contain(&g, 5) && pausegaps_total_ns(&g, 9) == 0,
	       "without pauses no time is in one");
	pausegaps_end(&g, 7);
	tap_ok(!pausegaps_contain(&g, 6), "an end without a start");
	tap_ok(pausegaps_begin(&g, 100), "a pause begins");
	tap_ok(!pausegaps_contain(&g, 99) && pausegaps_contain(&g, 100) &&
		       pausegaps_contain(&g, UINT64_MAX),
	       "times after its start are in the pause");
	tap_int((long long)pausegaps_total_ns(&g, 130), 30, "the length of an unfinished pause");
	tap_int((long long)pausegaps_total_ns(&g, 90), 0, "a clock that lags does no harm");
	pausegaps_end(&g, 150);
	tap_ok(pausegaps_contain(&g, 100) && pausegaps_contain(&g, 150) &&
		       !pausegaps_contain(&g, 151),
	       "both ends are inclusive");
	tap_int((long long)pausegaps_total_ns(&g, 1000), 50, "the length of a finished pause");
	for (uint64_t i = 1; i <= 1000; i++) {
		pausegaps_begin(&g, 1000 * i);
		pausegaps_end(&g, 1000 * i + 500);
	}
	bool right = true;
	for (uint64_t i = 1; i <= 1000; i++)
		right &= !pausegaps_contain(&g, 1000 * i - 1) && pausegaps_contain(&g, 1000 * i) &&
			 pausegaps_contain(&g, 1000 * i + 500) &&
			 !pausegaps_contain(&g, 1000 * i + 501);
	tap_ok(right, "a thousand gaps are found");
	pausegaps_forget(&g, 0);
	tap_int((long long)g.list.n, 1001, "no gap is dropped too early");
	pausegaps_forget(&g, 500 * 1000 + 500);
	tap_ok(g.list.n == 501 && g.list.v[0].from_ns == 500000, "older gaps are dropped");
	tap_ok(!pausegaps_contain(&g, 499100) && pausegaps_contain(&g, 500100) &&
		       pausegaps_contain(&g, 1000100),
	       "and no others");
	pausegaps_forget(&g, UINT64_MAX);
	tap_ok(g.list.n == 0 && pausegaps_total_ns(&g, 0) == 50 + 1000 * 500, "the sum stays");
	pausegaps_begin(&g, 2000000);
	pausegaps_forget(&g, UINT64_MAX);
	tap_ok(pausegaps_contain(&g, 2000000), "the present gap is not dropped");
	pausegaps_end(&g, 2000100);
	pausegaps_skip(&g, 2000200, 2000300);
	tap_ok(pausegaps_contain(&g, 2000200) && pausegaps_contain(&g, 2000300) &&
		       !pausegaps_contain(&g, 2000199) && !pausegaps_contain(&g, 2000301) &&
		       pausegaps_total_ns(&g, 0) == 50 + 1000 * 500 + 100,
	       "time that is skipped does not count for the total");
	pausegaps_done(&g);
	return tap_done();
}
