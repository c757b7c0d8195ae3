#ifndef CPROF_ENGINE_THROTTLE_H
#define CPROF_ENGINE_THROTTLE_H

/*
 * How long the kernel has throttled events: the time between the THROTTLE and the UNTHROTTLE record
 * of a stream (one event of a thread or CPU).
 */

#include <stdint.h>

#include "base/vec.h"

struct throttle_open {
	uint64_t stream_id;
	uint64_t since_ns;
	uint32_t event;
};

struct throttle {
	VEC(struct throttle_open) open;
};

void throttle_done(struct throttle *p);

/* A stream is throttled; repeated calls without an end change nothing. */
void throttle_begin(struct throttle *p, uint32_t event, uint64_t stream_id, uint64_t time_ns);

/* The stream continues.  Returns how long it was throttled, in ns; 0 if the start was not seen. */
uint64_t throttle_end(struct throttle *p, uint64_t stream_id, uint64_t time_ns);

/* Ends throttling of all streams of an event, when recording ends; returns the sum. */
uint64_t throttle_end_all(struct throttle *p, uint32_t event, uint64_t time_ns);

/* Drops streams throttled before that time: they ended with their threads, without a record.
 * Throttling lasts for a tick or so. */
void throttle_forget(struct throttle *p, uint64_t before_ns);

#endif
