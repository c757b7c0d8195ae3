#ifndef CPROF_ENGINE_PAUSEGAPS_H
#define CPROF_ENGINE_PAUSEGAPS_H

/*
 * Short pauses that leave the events on: their samples are recognised by time and ignored.  All
 * times are CLOCK_MONOTONIC, like those of records.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct pausegaps_one {
	uint64_t from_ns, to_ns;       /* both inclusive */
};

struct pausegaps {
	VEC(struct pausegaps_one) list; /* gaps that have ended, oldest first */
	uint64_t open_ns;              /* start of the present gap; 0: none */
	uint64_t ended_ns;             /* total length of all that have ended */
};

void pausegaps_done(struct pausegaps *g);

/* Begins a gap.  False: there is no memory to store it, and no gap begins. */
bool pausegaps_begin(struct pausegaps *g, uint64_t now_ns);

/* Ends the present gap, if there is one. */
void pausegaps_end(struct pausegaps *g, uint64_t now_ns);

/* Ignores samples from a time in which events were being switched on or off: no gap is open.  It
 * does not count for the total, as the counters were partly off.  Without memory, nothing. */
void pausegaps_skip(struct pausegaps *g, uint64_t from_ns, uint64_t to_ns);

bool pausegaps_contain(const struct pausegaps *g, uint64_t time_ns);

/* Total length of all gaps up to now, including those dropped by pausegaps_forget. */
uint64_t pausegaps_total_ns(const struct pausegaps *g, uint64_t now_ns);

/* Drops gaps before time_ns: no earlier record will come. */
void pausegaps_forget(struct pausegaps *g, uint64_t time_ns);

#endif
