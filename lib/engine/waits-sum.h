#ifndef CPROF_ENGINE_WAITS_SUM_H
#define CPROF_ENGINE_WAITS_SUM_H

/* Counts the time of waits and runs: in which state a thread waited, and which place gets it. */

#include <stdbool.h>
#include <stdint.h>

#include "engine/waits.h"

/* The part of a time that is in the window. */
uint64_t waits_sum_in_window(const struct waits *w, uint64_t from_ns, uint64_t to_ns);

/* Counts the thread's wait up to now_ns.  Torn: its end is unknown. */
void waits_sum_wait(struct waits *w, struct waits_thread *t, uint64_t now_ns, bool is_torn);

/* Counts the whole wait where another thread ended it. */
void waits_sum_wake(struct waits *w, const struct waits_thread *t, uint64_t now_ns);

/* The thread ran up to now_ns.  This is counted later, at t->ran, as n samples of a clock. */
void waits_sum_run(struct waits *w, struct waits_thread *t, uint64_t now_ns);
void waits_sum_count_run(struct waits *w, struct waits_thread *t, uint64_t n);

/* Counts what is in the thread's pool. */
void waits_sum_flush(struct waits *w, struct waits_thread *t);

/* The code of the waker is that of locks, so that the place of the wait may be unknown. */
static inline bool waits_sum_may_be_lock(const struct waits *w, struct waits_place at)
{
	return at.reason == WAITS_FOR_LOCK || (w->is_thinned && !waits_is_known(at));
}

#endif
