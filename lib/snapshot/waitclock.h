#ifndef CPROF_SNAPSHOT_WAITCLOCK_H
#define CPROF_SNAPSHOT_WAITCLOCK_H

/*
 * For how long threads have been waiting.  The kernel shows when a thread last left its CPU, by
 * that CPU's own clock, which does not count the time that interrupts and the host of a virtual
 * machine took.  So the results are somewhat short: they are rounded to two digits.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct host;

struct waitclock {
	const struct host *host;
	uint64_t at_ns;                 /* CLOCK_MONOTONIC: the end of all waits */
	VEC(struct waitclock_cpu { uint32_t cpu; bool is_known; uint64_t ns; }) cpus;
};

void waitclock_init(struct waitclock *w, const struct host *h, uint64_t at_ns);

void waitclock_done(struct waitclock *w);

/* The wait of a thread that left this CPU at exec_start_ns (threadtext.h); false: unknown.  Moves
 * the calling thread to that CPU for a moment, the first time. */
bool waitclock_of(struct waitclock *w, uint32_t cpu, uint64_t exec_start_ns, uint64_t *ret_ns);

/* Rounds to two significant digits. */
uint64_t waitclock_round(uint64_t ns);

#endif
