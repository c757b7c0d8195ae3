#include "engine/throttle.h"

#include "tests/unit/tap.h"

int main(void)
{
	struct throttle p = { 0 };
	tap_int((long long)throttle_end(&p, 7, 100), 0, "an end without a start");
	throttle_begin(&p, 0, 7, 100);
	throttle_begin(&p, 0, 8, 150);
	throttle_begin(&p, 1, 9, 160);
	throttle_begin(&p, 0, 7, 180);
	tap_int((long long)throttle_end(&p, 7, 300), 200, "from the first start to the end");
	tap_int((long long)throttle_end(&p, 7, 400), 0, "which counts once");
	throttle_begin(&p, 0, 7, 500);
	tap_int((long long)throttle_end_all(&p, 0, 600), 450 + 100,
		"streams still throttled at the end");
	tap_int((long long)throttle_end_all(&p, 0, 700), 0, "also counts once");
	tap_int((long long)throttle_end(&p, 9, 150), 0, "time that goes backwards counts as zero");
	tap_int((long long)p.open.n, 0, "nothing remains");
	for (uint64_t i = 0; i < 1000; i++)
		throttle_begin(&p, 0, i, i);
	uint64_t sum = 0;
	for (uint64_t i = 0; i < 1000; i += 2)
		sum += throttle_end(&p, i, 1000);
	tap_int((long long)sum, 500 * 1000 - 249500, "a thousand at once");
	throttle_done(&p);
	return tap_done();
}
