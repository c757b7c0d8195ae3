#ifndef CPROF_ENGINE_PAUSES_H
#define CPROF_ENGINE_PAUSES_H

/*
 * How long the kernel has paused events because their rate was too high: between the THROTTLE and
 * the UNTHROTTLE record of a stream (one event of a thread or CPU).
 */

#include <stdint.h>

#include "base/vec.h"

struct pauses_open {
	uint64_t stream_id;
	uint64_t since_ns;
	uint32_t event;
};

struct pauses {
	VEC(struct pauses_open) open;
};

void pauses_done(struct pauses *p);

/* A stream is paused; a second time without an end in between changes nothing. */
void pauses_begin(struct pauses *p, uint32_t event, uint64_t stream_id, uint64_t time_ns);

/* It goes on: how long it was paused, in ns; 0 when its beginning was not seen. */
uint64_t pauses_end(struct pauses *p, uint64_t stream_id, uint64_t time_ns);

/* The same for all streams of an event that are paused still, when recording ends. */
uint64_t pauses_end_all(struct pauses *p, uint32_t event, uint64_t time_ns);

/* What began before that time has ended unseen, with its thread: a pause lasts for a tick or so. */
void pauses_forget(struct pauses *p, uint64_t before_ns);

#endif
