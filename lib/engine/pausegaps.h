#ifndef CPROF_ENGINE_PAUSEGAPS_H
#define CPROF_ENGINE_PAUSEGAPS_H

/*
 * Short pauses in which events go on: what they deliver is recognised by its time, and passed
 * over.  All times are CLOCK_MONOTONIC, as those of records.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct pausegaps_one {
	uint64_t from_ns, to_ns;       /* both belong to it */
};

struct pausegaps {
	VEC(struct pausegaps_one) list;     /* that have ended, the oldest first */
	uint64_t open_ns;              /* since when one lasts; 0: none does */
	uint64_t ended_ns;             /* of all that have ended */
};

void pausegaps_done(struct pausegaps *g);

/* One begins.  False, without memory to remember it: then it does not. */
bool pausegaps_begin(struct pausegaps *g, uint64_t now_ns);

/* It ends; without one nothing happens. */
void pausegaps_end(struct pausegaps *g, uint64_t now_ns);

bool pausegaps_contain(const struct pausegaps *g, uint64_t time_ns);

/* How long they were up to now, together; forgotten ones, too. */
uint64_t pausegaps_total_ns(const struct pausegaps *g, uint64_t now_ns);

/* No record from before that time is to come. */
void pausegaps_forget(struct pausegaps *g, uint64_t time_ns);

#endif
