/*
 * Traps, and the rule against each:
 *
 * A sample is lost: SWITCH out begins the wait without a stack.
 *
 * SWITCH in is lost: the next record of the thread is again one of leaving.  Where the wait ended
 * is unknown, so that its stack is dropped.
 *
 * Both and the next departure are lost: nothing in the thread's own records shows it.  So after a
 * LOST record no wait that began before keeps its stack, unless a look confirms it later.
 *
 * A look is read while the thread goes on: it belongs to the wait that contains both the time
 * before it and the time after it, and may arrive before the records that tell which one this is.
 *
 * A thread without any record waits, or runs, all the time: the look shows which.
 */

#include "engine/waits.h"

#include "base/budget.h"
#include "base/hash.h"
#include "engine/waits-cut.h"
#include "engine/waits-looks.h"
#include "engine/waits-pool.h"
#include "engine/waits-sum.h"
#include "source/record.h"

#include <linux/perf_event.h>
#include <stdlib.h>

/* The kernel reports this id for a task that has no ids any more. */
#define NO_TASK UINT32_MAX

const char *waits_state_name(enum waits_state s)
{
	static const char *const name[] = {
		[WAITS_RUNNING] = "running", [WAITS_RUNNABLE] = "runnable",
		[WAITS_PREEMPTED] = "preempted", [WAITS_BLOCKED] = "blocked",
		[WAITS_SLEEPING] = "sleeping", [WAITS_DISK] = "disk",
	};
	return name[s];
}

void waits_init(struct waits *w, struct budget *budget, waits_count_fn *count, void *ctx)
{
	*w = (struct waits){ .budget = budget, .count = count, .count_ctx = ctx,
			     .end_ns = UINT64_MAX, .by_tid.budget = budget };
}

/* What the thread owns. */
static void free_parts(struct waits *w, struct waits_thread *t)
{
	waits_pool_free(t->pool, w->budget);
	waits_cut_free(t->cut, w->budget);
}

void waits_done(struct waits *w)
{
	hashindex_done(&w->by_tid);
	for (size_t i = 0; i < w->thread.n; i++)
		free_parts(w, &w->thread.v[i]);
	if (w->budget)
		budget_release(w->budget, w->thread.n * sizeof(*w->thread.v));
	VEC_FREE(&w->thread);
	waits_tasks_done(w);
	VEC_FREE(&w->unread);
	VEC_FREE(&w->unheld);
}

/* ---- threads ------------------------------------------------------------------------- */

struct waits_thread *waits_find(const struct waits *w, uint32_t tid)
{
	uint64_t hash = hash_u64(tid);
	uint32_t at = HASHINDEX_FIND(&w->by_tid, hash, i, w->thread.v[i].tid == tid);
	return at == HASHINDEX_NONE ? NULL : &w->thread.v[at];
}

bool waits_knows(const struct waits *w, uint32_t tid)
{
	return waits_find(w, tid) != NULL;
}

/* The thread; one that is new is known from that time on.  NULL: no memory. */
static struct waits_thread *thread_of(struct waits *w, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	struct waits_thread *t = waits_find(w, tid);
	struct waits_thread fresh = {
		.pid = pid, .tid = tid, .since_ns = time_ns, .began_ns = time_ns,
		.at = waits_nowhere, .waker = waits_nowhere, .ran = waits_nowhere,
		.look.at = waits_nowhere, .holding.at = waits_nowhere,
	};
	if (tid == NO_TASK || tid == 0)
		return NULL;
	if (t && t->pid == pid) {
		t->doubt_ns = 0;
		return t;
	}
	if (t) {  /* the id was used again, and the EXIT record was lost */
		waits_sum_flush(w, t);
		free_parts(w, t);
		*t = fresh;
		return t;
	}
	if (!hashindex_reserve(&w->by_tid, true) || !VEC_PUSH(&w->thread, fresh))
		return NULL;
	hashindex_put(&w->by_tid, hash_u64(tid), (uint32_t)w->thread.n - 1);
	budget_charge_always(w->budget, sizeof(fresh));
	return &w->thread.v[w->thread.n - 1];
}

static void remove_thread(struct waits *w, struct waits_thread *t)
{
	uint32_t at = (uint32_t)(t - w->thread.v), last = (uint32_t)w->thread.n - 1;
	waits_sum_flush(w, t);
	free_parts(w, t);
	hashindex_remove(&w->by_tid, hash_u64(t->tid), at);
	if (at != last) {
		uint64_t hash = hash_u64(w->thread.v[last].tid);
		hashindex_remove(&w->by_tid, hash, last);
		*t = w->thread.v[last];
		hashindex_put(&w->by_tid, hash, at);
	}
	w->thread.n--;
	budget_release(w->budget, sizeof(*t));
}

/* ---- waits and runs --------------------------------------------------------------------- */

static void begin_wait(struct waits *w, struct waits_thread *t, uint64_t time_ns,
		       struct waits_place at)
{
	t->is = WAITS_OFF_CPU;
	t->since_ns = t->began_ns = time_ns;
	t->is_counted = t->is_out = t->is_preempted = t->is_new = t->is_disk = false;
	t->is_cut = false;
	t->woken_ns = 0;
	t->child = 0;
	t->at = at;
	t->waker = waits_nowhere;
	t->lock = (struct lockread_wait){ 0 };
	w->n_partial += waits_is_known(at) && at.is_partial;
	if (!waits_is_known(at) || at.is_partial)
		waits_looks_want(w, t);
	if (waits_is_known(at) && !waits_is_known(t->ran))
		t->ran = at;
}

/* The thread leaves its CPU: ends its run. */
static void end_run(struct waits *w, struct waits_thread *t, uint64_t time_ns)
{
	if (t->is == WAITS_OFF_CPU)
		waits_sum_wait(w, t, time_ns, true);
	else
		waits_sum_run(w, t, time_ns);  /* an unknown thread ran all the time */
}

/* The thread gets a CPU, or was on one at that time. */
static void begin_run(struct waits *w, struct waits_thread *t, uint64_t time_ns)
{
	if (t->is == WAITS_ON_CPU)
		w->n_torn++;
	else
		waits_sum_wait(w, t, time_ns, false);  /* an unknown one waited all the time */
	if (t->is == WAITS_OFF_CPU)
		waits_sum_wake(w, t, time_ns);
	t->is = WAITS_ON_CPU;
	t->since_ns = time_ns;
}

/* ---- records ------------------------------------------------------------------------- */

void waits_sample(struct waits *w, uint32_t pid, uint32_t tid, uint64_t time_ns,
		  struct waits_place at)
{
	struct waits_thread *t = thread_of(w, pid, tid, time_ns);
	if (!t)
		return;
	end_run(w, t, time_ns);
	begin_wait(w, t, time_ns, at);
}

void waits_birth(struct waits *w, uint32_t creator, struct waits_place at)
{
	struct waits_thread *t = waits_find(w, creator);
	struct waits_thread *child = t && t->child ? waits_find(w, t->child) : NULL;
	if (child && child->is == WAITS_OFF_CPU && child->is_new)
		child->at = at;
}

void waits_keep_cut(struct waits *w, uint32_t tid, const struct record *r)
{
	struct waits_thread *t = waits_find(w, tid);
	if (t && t->is == WAITS_OFF_CPU)
		t->is_cut = waits_cut_keep(&t->cut, w->budget, r);
}

void waits_lock(struct waits *w, uint32_t tid, const struct lockread_wait *lock)
{
	struct waits_thread *t = waits_find(w, tid);
	if (!t || t->is != WAITS_OFF_CPU)
		return;
	t->lock = *lock;
	if (w->wants_holders && !t->is_unheld)
		t->is_unheld = VEC_PUSH(&w->unheld, tid);
}

void waits_clock(struct waits *w, uint32_t pid, uint32_t tid, uint64_t time_ns,
		 struct waits_place at)
{
	struct waits_thread *t = thread_of(w, pid, tid, time_ns);
	if (!t)
		return;
	end_run(w, t, time_ns);
	t->is = WAITS_ON_CPU;
	t->since_ns = time_ns;
	t->ran = at;
	waits_sum_count_run(w, t, 1);
}

static void feed_switch(struct waits *w, const struct record *r)
{
	struct waits_thread *t = thread_of(w, r->pid, r->tid, r->time_ns);
	w->n_switches++;
	if (!t)
		return;
	if (!r->context_switch.out) {
		begin_run(w, t, r->time_ns);
		return;
	}
	if (t->is != WAITS_OFF_CPU || t->is_out) {
		end_run(w, t, r->time_ns);
		begin_wait(w, t, r->time_ns, waits_nowhere);
	}
	t->is_out = true;
	t->is_preempted = r->context_switch.preempt;
	t->is_disk = r->context_switch.disk;
}

/* A new thread waits for its first run.  Without a time the record describes an old one. */
static void feed_fork(struct waits *w, const struct record *r)
{
	if (!r->time_ns)
		return;
	struct waits_thread *t = thread_of(w, r->pid, r->tid, r->time_ns);
	if (!t || t->is != WAITS_UNKNOWN)
		return;
	begin_wait(w, t, r->time_ns, waits_nowhere);
	t->is_new = t->is_counted = t->is_out = true;
	struct waits_thread *creator = waits_find(w, r->fork.ptid);
	if (creator)
		creator->child = r->tid;
}

static void end_thread(struct waits *w, struct waits_thread *t, uint64_t time_ns)
{
	end_run(w, t, time_ns);  /* to end, it must run */
	waits_sum_count_run(w, t, 0);
	remove_thread(w, t);
}

/* Of a process only the thread that called exec goes on, with the id of the first one. */
static void feed_exec(struct waits *w, const struct record *r)
{
	waits_tasks_forget(w, r->pid, r->time_ns);
	for (size_t i = w->thread.n; i-- > 0;)
		if (w->thread.v[i].pid == r->pid)
			end_thread(w, &w->thread.v[i], r->time_ns);
	struct waits_thread *t = thread_of(w, r->pid, r->tid, r->time_ns);
	if (!t)
		return;
	t->is = WAITS_ON_CPU;
	t->since_ns = r->time_ns;
}

void waits_feed(struct waits *w, const struct record *r)
{
	struct waits_thread *t;
	switch (r->type) {
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		feed_switch(w, r);
		break;
	case PERF_RECORD_FORK:
		feed_fork(w, r);
		break;
	case PERF_RECORD_COMM:
		if (r->comm.exec)
			feed_exec(w, r);
		break;
	case PERF_RECORD_EXIT:
		t = waits_find(w, r->tid);
		if (t)
			end_thread(w, t, r->time_ns);
		break;
	case PERF_RECORD_LOST:
		if (r->time_ns > w->lost_ns)
			w->lost_ns = r->time_ns;
		break;
	default:
		break;
	}
}

void waits_add_thread(struct waits *w, uint32_t pid, uint32_t tid)
{
	thread_of(w, pid, tid, 0);
}

void waits_doubt(struct waits *w, const struct record *r)
{
	struct waits_thread *t = waits_find(w, r->tid);
	if (t)
		t->doubt_ns = r->time_ns;
}

/* ---- ends ----------------------------------------------------------------------------- */

/* A thread without records has not changed its state. */
static void settle_unknown(struct waits_thread *t)
{
	t->is = t->look.to_ns && !t->look.is_waiting ? WAITS_ON_CPU : WAITS_OFF_CPU;
	t->is_out = true;
}

void waits_count_until(struct waits *w, struct waits_thread *t, uint64_t time_ns)
{
	if (t->is == WAITS_OFF_CPU)
		waits_sum_wait(w, t, time_ns, false);
	else
		waits_sum_run(w, t, time_ns);
	waits_sum_count_run(w, t, 0);
}

void waits_settle(struct waits *w, uint64_t now_ns)
{
	for (size_t i = 0; i < w->thread.n; i++) {
		struct waits_thread *t = &w->thread.v[i];
		if (t->is == WAITS_UNKNOWN)
			settle_unknown(t);
		bool is_known = !t->doubt_ns || t->doubt_ns > now_ns;
		waits_count_until(w, t, is_known ? now_ns : t->doubt_ns);
		waits_sum_flush(w, t);
	}
	waits_tasks_settle(w, now_ns);
}

static void each_pooled(struct waits_pool *p, void (*each)(void *ctx, struct waits_place *at),
			void *ctx)
{
	for (size_t i = 0; p && i < p->entry.n; i++)
		each(ctx, &p->entry.v[i].at);
}

void waits_each_place(struct waits *w, void (*each)(void *ctx, struct waits_place *at), void *ctx)
{
	for (size_t i = 0; i < w->thread.n; i++) {
		struct waits_thread *t = &w->thread.v[i];
		struct waits_place *place[] = {
			&t->at, &t->waker, &t->look.at, &t->ran, &t->holding.at,
			&t->functions.at, &t->native,
		};
		for (size_t k = 0; k < sizeof(place) / sizeof(*place); k++)
			if (waits_is_known(*place[k]) || place[k]->locks)
				each(ctx, place[k]);
		each_pooled(t->pool, each, ctx);
	}
	waits_tasks_each_place(w, each, ctx);
}
