#ifndef CPROF_BASE_CLOCK_H
#define CPROF_BASE_CLOCK_H

/* Reads a clock of clock_gettime(2) in nanoseconds; 0 when there is no such clock.  Kernel records
 * carry CLOCK_MONOTONIC. */

#include <stdint.h>
#include <time.h>

#define CLOCK_SECOND_NS 1000000000u

static inline uint64_t clock_now_ns(clockid_t clock)
{
	struct timespec t = { 0 };
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * CLOCK_SECOND_NS + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_monotonic_ns(void)
{
	return clock_now_ns(CLOCK_MONOTONIC);
}

#endif
