#ifndef CPROF_SOURCE_LIVE_LIVESTACK_H
#define CPROF_SOURCE_LIVE_LIVESTACK_H

/* Changes of stack copies: livestack.c decides and handles events of CPUs, livetask.c those of
 * threads. */

#include "source/live/live-private.h"

struct livestack {
	size_t ring;                   /* or SOURCE_ALL_RINGS */
	uint32_t stack_bytes;          /* 0: unchanged */
	bool user_chain;               /* false: unchanged */
};

bool livestack_is_affected(const struct live *l, const struct livestack *to,
			   const struct live_fd *f);
void livestack_change_attr(struct perf_event_attr *attr, const struct livestack *to);

/* Samples of the event may wait in its ring: its id stays known until livestack_forget. */
void livestack_keep_id(struct live *l, const struct live_fd *f);
void livestack_forget(struct live *l, size_t ring);  /* or SOURCE_ALL_RINGS */

/* Closes the events after the first n_old, which were never enabled. */
void livestack_drop_new(struct live *l, size_t n_old);

/* Stops and closes an event; its counter is kept, and for a while its id. */
void livestack_close(struct live *l, struct live_fd *f);

/*
 * Replaces the events of one ring by changed ones, on all threads that live now.  Nothing is lost
 * or counted twice: see livetask.c.  On failure nothing changes.
 */
int livetask_reopen(struct live *l, const struct livestack *to, size_t ring, struct err *e);

#endif
