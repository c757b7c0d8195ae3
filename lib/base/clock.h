#ifndef CPROF_BASE_CLOCK_H
#define CPROF_BASE_CLOCK_H

/* The clocks of clock_gettime(2) in nanoseconds.  Kernel records carry CLOCK_MONOTONIC. */

#include <errno.h>
#include <stdint.h>
#include <time.h>

#define CLOCK_SECOND_NS UINT64_C(1000000000)

/* 0, or -errno when there is no such clock. */
static inline int clock_read_ns(clockid_t clock, uint64_t *ret_ns)
{
	struct timespec t;
	if (clock_gettime(clock, &t) < 0)
		return -errno;
	*ret_ns = (uint64_t)t.tv_sec * CLOCK_SECOND_NS + (uint64_t)t.tv_nsec;
	return 0;
}

/* 0 when there is no such clock. */
static inline uint64_t clock_now_ns(clockid_t clock)
{
	uint64_t ns = 0;
	clock_read_ns(clock, &ns);
	return ns;
}

static inline uint64_t clock_monotonic_ns(void)
{
	return clock_now_ns(CLOCK_MONOTONIC);
}

/* The earlier of two times to wait, as in poll(2): -1 is for ever. */
static inline int clock_sooner_ms(int a, int b)
{
	return b < 0 || (a >= 0 && a < b) ? a : b;
}

#endif
