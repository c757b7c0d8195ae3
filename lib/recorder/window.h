#ifndef CPROF_RECORDER_WINDOW_H
#define CPROF_RECORDER_WINDOW_H

/* The time that a recorder's profile covers; cprof.h says what users can do with it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cprof_event_stats;
struct cprof_recorder;
struct err;

struct window {
	int64_t start_realtime_ns;
	uint64_t start_ns, end_ns;     /* CLOCK_MONOTONIC */
	uint64_t resumed_ns;           /* end of the last pause, or start_ns */
	uint64_t active_ns;            /* recorded before that */
	uint64_t paused_ns;            /* when the present pause began */
	bool paused;
	bool pauses_are_short;         /* the last one was */
	bool some_paused;              /* single events are */
	bool is_partial;               /* kernel CPU accounts cover more time than the window */
	bool is_open;
};

/* The window begins now. */
void window_begin(struct cprof_recorder *r);

/* Starts times and counters of another profile. */
void window_restart(struct cprof_recorder *r);

/* Disables the events if a pause that left them on has become too long. */
int window_tend(struct cprof_recorder *r, struct err *e);

/* All records that were in the rings at time_ns have been processed. */
void window_drained(struct cprof_recorder *r, uint64_t time_ns);

/* The length without pauses, up to now or the end. */
uint64_t window_duration_ns(const struct cprof_recorder *r);

/* Reads the counters of the window and accounts for lost samples. */
void window_count(struct cprof_recorder *r);

/* For one event of the session; one of the user's events may have several. */
void window_event_stats(struct cprof_recorder *r, size_t i, struct cprof_event_stats *ret);

#endif
