/*
 * A wait becomes one piece when it ends, or several if it is counted up to now in between; runs are
 * added up until a sample shows where the thread ran.  Each piece begins where the one before it
 * ended (waits_thread.since_ns), so that no time is counted twice and none is left out.
 */

#include "engine/waits-sum.h"

#include "base/budget.h"
#include "engine/waits-looks.h"
#include "engine/waits-pool.h"

#include <stdlib.h>

/* Counts what is in the thread's pool. */
void waits_sum_flush(struct waits *w, struct waits_thread *t)
{
	if (t->pool)
		waits_pool_flush(t->pool, t->pid, t->tid, w->count, w->count_ctx);
}

uint64_t waits_sum_in_window(const struct waits *w, uint64_t from_ns, uint64_t to_ns)
{
	if (from_ns < w->start_ns)
		from_ns = w->start_ns;
	if (to_ns > w->end_ns)
		to_ns = w->end_ns;
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* Did the thread compete for a CPU when the recording began? */
static bool was_ready(const struct waits_thread *t)
{
	return t->is == WAITS_UNKNOWN && t->look.to_ns && !t->look.is_waiting;
}

static enum waits_state state_of(const struct waits *w, const struct waits_thread *t,
				 struct waits_place at, uint64_t now_ns)
{
	if (t->is_new)
		return WAITS_RUNNABLE;
	if (t->is_preempted || was_ready(t))
		return WAITS_PREEMPTED;
	if (t->is_disk || at.reason == WAITS_FOR_DISK ||
	    (t->look.is_disk && waits_looks_fit(w, t, &t->look, now_ns)))
		return WAITS_DISK;
	return at.reason == WAITS_FOR_TIME ? WAITS_SLEEPING : WAITS_BLOCKED;
}

static bool is_below(const struct waits *w, const struct waits_thread *t, uint64_t now_ns)
{
	return now_ns - t->began_ns < w->min_ns;
}

/* May the wait stand for others, or they for it?  No look shows where a preempted thread is. */
static bool is_pooled(const struct waits *w, const struct waits_thread *t,
		      const struct waits_piece *p, uint64_t now_ns)
{
	uint64_t length_ns = now_ns - t->began_ns;
	if (t->is != WAITS_OFF_CPU || t->is_new || p->is_torn)
		return false;
	if (w->has_readings)
		return !t->is_preempted && length_ns < WAITS_LONG_NS &&
		       (length_ns < WAITS_SHORT_NS || !waits_is_known(p->at));
	return w->is_thinned && (t->is_preempted || length_ns < WAITS_LONG_NS);
}

/* A look that was meant for a longer wait has met this one by its time: it stands for no others. */
static bool add_pooled(const struct waits *w, const struct waits_thread *t, struct waits_pool *pool,
		       const struct waits_piece *p)
{
	struct waits_piece rest = *p;
	if (!w->has_readings)
		return waits_pool_add(pool, w->budget, p);
	if (waits_is_known(p->at) && t->look.is_reading)
		return waits_pool_read(pool, w->budget, p);
	rest.at = waits_nowhere;
	return waits_pool_add(pool, w->budget, &rest);
}

static struct waits_pool *pool_of(struct waits *w, struct waits_thread *t)
{
	if (!t->pool) {
		t->pool = calloc(1, sizeof(*t->pool));
		if (t->pool)
			budget_charge_always(w->budget, sizeof(*t->pool));
	}
	return t->pool;
}

static void count_pooled(struct waits *w, struct waits_thread *t, const struct waits_piece *p)
{
	struct waits_pool *pool = pool_of(w, t);
	t->has_short |= !waits_is_known(p->at);
	w->has_short |= t->has_short;
	if (pool && add_pooled(w, t, pool, p))
		return;
	waits_sum_flush(w, t);
	if (!pool || !add_pooled(w, t, pool, p))
		w->count(w->count_ctx, p);
}

/* Is it known since when it was waiting for a CPU only?  While only some wake-ups are sampled, or a
 * wait stands for others, it is not. */
static bool may_split(const struct waits *w, const struct waits_thread *t)
{
	return t->woken_ns && !w->is_thinned && !w->has_readings && !w->wake_scale;
}

/* The labels of the lock, with its holder if that was read during the wait. */
static uint32_t locks_of(const struct waits *w, const struct waits_thread *t, struct waits_place at,
			 uint64_t now_ns)
{
	bool is_held = at.locks && waits_looks_fit(w, t, &t->holding, now_ns);
	return is_held ? t->holding.at.locks : at.locks;
}

/* Counts the wait, which is known up to now_ns, up to to_ns. */
static void count_wait(struct waits *w, struct waits_thread *t, uint64_t to_ns, uint64_t now_ns,
		       bool is_torn)
{
	struct waits_piece p = {
		.pid = t->pid, .tid = t->tid, .is_below = is_below(w, t, now_ns),
		.ns = waits_sum_in_window(w, t->since_ns, to_ns), .n = !t->is_counted,
		.is_birth = t->is_new, .is_torn = is_torn,
		.at = is_torn ? waits_nowhere : waits_looks_place(w, t, now_ns),
	};
	bool is_ready = may_split(w, t) && t->since_ns >= t->woken_ns;
	p.at.locks = locks_of(w, t, p.at, now_ns);
	p.state = is_ready && !is_torn ? WAITS_RUNNABLE : state_of(w, t, p.at, now_ns);
	if (to_ns > t->since_ns)
		t->since_ns = to_ns;
	if (!p.ns)
		return;
	t->is_counted = true;
	if (is_pooled(w, t, &p, now_ns))
		count_pooled(w, t, &p);
	else
		w->count(w->count_ctx, &p);
}

void waits_sum_wait(struct waits *w, struct waits_thread *t, uint64_t now_ns, bool is_torn)
{
	w->n_torn += is_torn;
	if (!is_torn && may_split(w, t) && t->woken_ns > t->since_ns && t->woken_ns < now_ns)
		count_wait(w, t, t->woken_ns, now_ns, false);
	count_wait(w, t, now_ns, now_ns, is_torn);
}

void waits_sum_run(struct waits *w, struct waits_thread *t, uint64_t now_ns)
{
	t->ran_ns += waits_sum_in_window(w, t->since_ns, now_ns);
	if (now_ns > t->since_ns)
		t->since_ns = now_ns;
}

void waits_sum_count_run(struct waits *w, struct waits_thread *t, uint64_t n)
{
	struct waits_piece p = { .pid = t->pid, .tid = t->tid, .state = WAITS_RUNNING,
				 .ns = t->ran_ns, .n = n, .at = t->ran };
	t->ran_ns = 0;
	if (p.ns && w->has_clock)
		w->count(w->count_ctx, &p);
}

/* A whole wait is counted where another thread ended it. */
void waits_sum_wake(struct waits *w, const struct waits_thread *t, uint64_t now_ns)
{
	const struct waits_place at = waits_looks_place(w, t, now_ns);
	struct waits_piece p = {
		.pid = t->pid, .tid = t->tid, .state = WAITS_BLOCKED, .n = t->weight,
		.is_wake = true, .is_below = is_below(w, t, now_ns), .at = t->waker,
		.ns = waits_sum_in_window(w, t->began_ns, now_ns) * t->weight,
	};
	p.at.locks = at.locks;
	p.wakee = at.stack;
	if (waits_is_known(t->waker) && waits_sum_may_be_lock(w, at) && p.ns)
		w->count(w->count_ctx, &p);
}
