#ifndef CPROF_RECORDER_WINDOW_H
#define CPROF_RECORDER_WINDOW_H

/* The time that a recorder's profile covers, its pauses, and what its events counted within it;
 * cprof.h describes what users can do with it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/lostshare.h"
#include "source/source.h"

struct engine_event;
struct engine_window;
struct err;
struct kind_session;

/* The counters of an event of the session. */
struct window_event {
	struct source_count read;      /* since the event was opened; set by window_read */
	struct source_count base;      /* when the window began */
	struct source_count count;     /* within the window, as is n_lost; set by window_count */
	uint64_t n_lost;               /* samples that the kernel could not deliver */
	struct lostshare lost;         /* those of the target; set by recorder_count */
};

struct window {
	/* Borrowed by window_init. */
	const struct kind_session *session;  /* whose events are counted and paused */
	struct engine_window *samples; /* which samples the engine ignores */
	struct window_event *event;    /* per event of the session */

	int64_t start_realtime_ns;
	uint64_t start_ns;             /* CLOCK_MONOTONIC, like all that follow */
	uint64_t end_ns;               /* 0: has not ended */
	uint64_t taken_ns;             /* all records up to then were processed, and no others */
	uint64_t resumed_ns;           /* end of the last pause, or start of the first window */
	uint64_t paused_ns;            /* when the present pause began */
	/* Time without pauses since the first window began: up to resumed_ns, to start_ns and to
	 * taken_ns. */
	uint64_t active_ns, start_active_ns, taken_active_ns;
	uint64_t gaps_ns;              /* private: total of the pauses by time at window_read */
	uint64_t counted_ns;           /* taken_ns at window_count; 0: not since it began */
	bool paused;
	bool pauses_are_short;         /* the last one was */
	bool some_paused;              /* single events are */
	bool is_partial;               /* kernel CPU accounts cover more time than the window */
	bool is_open;
};

/* The session is open.  -ENOMEM. */
int window_init(struct window *w, const struct kind_session *k, struct engine_window *samples);
void window_done(struct window *w);

/* The window begins now. */
void window_begin(struct window *w);

/* Another window begins where this one ends, at taken_ns: no time is in neither, or in both. */
void window_restart(struct window *w);

/* Likewise; its counters begin where window_count ended. */
void window_restart_counted(struct window *w);

/* The window ends now, for good. */
void window_end(struct window *w);

/* Where it ends: at end_ns, at taken_ns after window_count, or at the present time. */
uint64_t window_end_ns(const struct window *w);

int64_t window_end_realtime_ns(const struct window *w);

/* The length without pauses, up to that end. */
uint64_t window_duration_ns(const struct window *w);

/*
 * Pauses or resumes one of the user's events, or all (CPROF_ALL_EVENTS).  A pause begins at
 * time_ns, which may be a little earlier than now.  -errno with e set.
 */
int window_pause(struct window *w, size_t event, uint64_t time_ns, struct err *e);
int window_resume(struct window *w, size_t event, struct err *e);

/* Has a pause that left the events on become too long? */
bool window_is_overdue(const struct window *w);

/* Disables the events in that case.  -errno with e set. */
int window_tend(struct window *w, struct err *e);

/* All records up to time_ns have been processed, and no younger ones. */
void window_drained(struct window *w, uint64_t time_ns);

/* Must the rings be drained before another pause?  Otherwise the list of pauses would grow without
 * bound. */
bool window_is_full(const struct window *w);

/* Reads the counters.  An interrupt that a CPU had been handling has written its sample then. */
void window_read(struct window *w);

/* From the counters as read, what happened in the window up to taken_ns.  seen: what the engine saw
 * of each event, for kernels that do not count lost samples. */
void window_count(struct window *w, const struct engine_event *seen);

#endif
