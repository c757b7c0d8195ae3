#ifndef CPROF_SOURCE_LIVE_LIVE_IDS_H
#define CPROF_SOURCE_LIVE_LIVE_IDS_H

/* What is known of a sample by its event's id, and by its thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live;
struct live_ring;
struct record;

/* An event's id, as in its samples. */
struct live_id {
	uint64_t id;      /* not 0 */
	uint32_t event;
	uint32_t tid;     /* the thread that it was opened on; 0: none */
	bool is_clock;
	bool is_unproven; /* tid may be no target: other records decide */
	bool has_created; /* tid: a thread or process, by a FORK record of this event */
	bool was_met;     /* live_awaits_proof: it has had a sample of tid */
	uint64_t since_ns, until_ns;   /* only samples of this time count; 0: no limit */
	/* A clock whose period was changed (live_note_period): the period in ns since then, and the
	 * previous one; 0: as in its samples. */
	uint64_t changed_ns, period, period_before;
	uint64_t n_changed;            /* samples since then; several readers do not count them */
};

/* A sample of a software event, whose data several events may share (event_of in live.c). */
struct live_shared {
	uint64_t time_ns;
	uint32_t tid, event;
};

/* source_set_rate: events inherited after the change have larger ids. */
struct live_rate {
	uint32_t event;
	uint64_t after_id, period;
};

/* A thread that a repeated scan found: it may have inherited events already. */
struct live_late {
	uint32_t tid;
	bool inherits;
	bool counts;      /* it does not, as far as samples show */
};

struct live_lates {       /* a VEC, sorted by tid: live_sort_late */
	struct live_late *v;
	size_t n, cap;
};

int live_add_id(struct live *l, struct live_id id);
void live_remove_id(struct live *l, uint64_t id);
/* The thread of the events from number n_old on may be no target. */
void live_mark_unproven(struct live *l, size_t n_old);
struct live_id *live_find_id(const struct live *l, uint64_t id);

void live_sort_late(struct live_late *late, size_t n);  /* by tid */
struct live_late *live_find_late(const struct live *l, const struct live_ring *ring, uint32_t tid);

/* Does the thread have a second set of events, by which the sample is to count?  ring: where the
 * record of the event id was; tid: the thread that was running. */
bool live_is_double(const struct live *l, const struct live_ring *ring, const struct live_id *id,
		    uint32_t tid);

/*
 * Does the sample come too early to know whether the thread has a second set?  If it has, there is
 * a sample of an inherited event between two of its own event: both have the same period.  So the
 * first one of each event of such a thread never counts.
 */
bool live_awaits_proof(const struct live *l, const struct live_ring *ring, struct live_id *id,
		       uint32_t tid);

/* Is the sample within its event's time? */
bool live_is_in_time(const struct live_id *id, const struct record *r);

/* Adds what a sample stands for that does not count to its event's cut_value. */
void live_note_cut(struct live *l, const struct record *r);

#endif
