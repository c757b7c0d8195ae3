#include "base/clock.h"

#include "tap.h"

int main(void)
{
	struct timespec t;
	uint64_t before = clock_monotonic_ns();
	clock_gettime(CLOCK_MONOTONIC, &t);
	uint64_t now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	uint64_t after = clock_now_ns(CLOCK_MONOTONIC);
	tap_ok(before > 0 && before <= now && now <= after, "nanoseconds of the clock");
	tap_ok(clock_now_ns(CLOCK_REALTIME) > UINT64_C(1500000000) * CLOCK_SECOND_NS,
	       "any clock: the real time is after 2017");
	return tap_done();
}
