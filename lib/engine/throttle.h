#ifndef CPROF_ENGINE_THROTTLE_H
#define CPROF_ENGINE_THROTTLE_H

/*
 * How long the kernel has paused events because their rate was too high: between the THROTTLE and
 * the UNTHROTTLE record of a stream (one event of a thread or CPU).
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

/* A stream is paused; a second time without an end in between changes nothing. */
void throttle_begin(struct throttle *p, uint32_t event, uint64_t stream_id, uint64_t time_ns);

/* It goes on: how long it was paused, in ns; 0 when its beginning was not seen. */
uint64_t throttle_end(struct throttle *p, uint64_t stream_id, uint64_t time_ns);

/* The same for all streams of an event that are paused still, when recording ends. */
uint64_t throttle_end_all(struct throttle *p, uint32_t event, uint64_t time_ns);

/* What began before that time has ended unseen, with its thread: a pause lasts for a tick or so. */
void throttle_forget(struct throttle *p, uint64_t before_ns);

#endif
