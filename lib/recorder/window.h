#ifndef CPROF_RECORDER_WINDOW_H
#define CPROF_RECORDER_WINDOW_H

/* The time for which a recorder's profile stands; see cprof.h for what a user can do with it. */

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

/* It begins now. */
void window_begin(struct cprof_recorder *r);

/* What comes from now on is another profile's: times and what the counters had begin anew. */
void window_restart(struct cprof_recorder *r);

/* A pause that was meant to be short, and is not, becomes one in which the events rest. */
int window_tend(struct cprof_recorder *r, struct err *e);

/* Everything that the rings held at that time was taken in. */
void window_drained(struct cprof_recorder *r, uint64_t time_ns);

/* Without pauses, up to now or the end. */
uint64_t window_duration_ns(const struct cprof_recorder *r);

/* Reads what the events counted within it, and takes in how many samples were lost. */
void window_count(struct cprof_recorder *r);

/* Of one event that was opened; an event of the user's may have several. */
void window_event_stats(struct cprof_recorder *r, size_t i, struct cprof_event_stats *ret);

#endif
