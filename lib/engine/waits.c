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

#include "agg/stacks.h"
#include "base/budget.h"
#include "base/hash.h"
#include "source/record.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* The kernel reports this id for a task that has no ids any more. */
#define NO_TASK UINT32_MAX

static const struct waits_place nowhere = { .stack = STACKS_NONE };

const char *waits_state_name(enum waits_state s)
{
	static const char *const name[] = {
		[WAITS_RUNNING] = "running", [WAITS_RUNNABLE] = "runnable",
		[WAITS_PREEMPTED] = "preempted", [WAITS_BLOCKED] = "blocked",
		[WAITS_DISK] = "disk",
	};
	return name[s];
}

void waits_init(struct waits *w, struct budget *budget, waits_count_fn *count, void *ctx)
{
	*w = (struct waits){ .budget = budget, .count = count, .count_ctx = ctx,
			     .end_ns = UINT64_MAX, .by_tid.budget = budget };
}

void waits_done(struct waits *w)
{
	hashindex_done(&w->by_tid);
	if (w->budget)
		budget_release(w->budget, w->thread.n * sizeof(*w->thread.v));
	VEC_FREE(&w->thread);
	VEC_FREE(&w->unread);
}

/* ---- threads ------------------------------------------------------------------------- */

static struct waits_thread *find_thread(const struct waits *w, uint32_t tid)
{
	uint64_t hash = hash_u64(tid);
	uint32_t at = HASHINDEX_FIND(&w->by_tid, hash, i, w->thread.v[i].tid == tid);
	return at == HASHINDEX_NONE ? NULL : &w->thread.v[at];
}

bool waits_is_lock(const struct waits *w, const struct record *r)
{
	for (uint64_t i = 0; w->lock_code[0].end && i < r->sample.n_callchain; i++)
		for (size_t k = 0; k < WAITS_CODE_MAX; k++)
			if (r->sample.callchain[i] - w->lock_code[k].start <
			    w->lock_code[k].end - w->lock_code[k].start)
				return true;
	return false;
}

bool waits_knows(const struct waits *w, uint32_t tid)
{
	return find_thread(w, tid) != NULL;
}

/* The thread; one that is new is known from that time on.  NULL: no memory. */
static struct waits_thread *thread_of(struct waits *w, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	struct waits_thread *t = find_thread(w, tid);
	struct waits_thread fresh = {
		.pid = pid, .tid = tid, .since_ns = time_ns, .began_ns = time_ns,
		.at = nowhere, .waker = nowhere, .ran = nowhere, .look.at = nowhere,
	};
	if (tid == NO_TASK || tid == 0)
		return NULL;
	if (t && t->pid == pid)
		return t;
	if (t) {  /* the id was used again, and the EXIT record was lost */
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

/* ---- time ---------------------------------------------------------------------------- */

/* The part of a time that is in the window. */
static uint64_t in_window(const struct waits *w, uint64_t from_ns, uint64_t to_ns)
{
	if (from_ns < w->start_ns)
		from_ns = w->start_ns;
	if (to_ns > w->end_ns)
		to_ns = w->end_ns;
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

static bool is_known(struct waits_place at)
{
	return at.stack != STACKS_NONE;
}

/* Did the thread compete for a CPU when the recording began? */
static bool was_ready(const struct waits_thread *t)
{
	return t->is == WAITS_UNKNOWN && t->look.to_ns && !t->look.is_waiting;
}

/* Does the last look show the present wait, and no other one whose records were lost? */
static bool look_fits(const struct waits *w, const struct waits_thread *t, uint64_t now_ns)
{
	const struct waits_look *look = &t->look;
	return look->to_ns && look->is_waiting && look->from_ns >= t->began_ns &&
	       look->to_ns <= now_ns && (w->lost_ns <= t->began_ns || look->from_ns >= w->lost_ns);
}

static struct waits_place place_of(const struct waits *w, const struct waits_thread *t,
				   uint64_t now_ns)
{
	bool is_sure = w->lost_ns <= t->began_ns || w->lost_ns > now_ns;
	struct waits_place at = is_sure ? t->at : nowhere;
	bool is_better = !is_known(at) || (at.is_partial && !t->look.at.is_partial);
	return is_better && look_fits(w, t, now_ns) && is_known(t->look.at) ? t->look.at : at;
}

static enum waits_state state_of(const struct waits *w, const struct waits_thread *t,
				 uint64_t now_ns)
{
	if (t->is_new)
		return WAITS_RUNNABLE;
	if (t->is_preempted || was_ready(t))
		return WAITS_PREEMPTED;
	return t->look.is_disk && look_fits(w, t, now_ns) ? WAITS_DISK : WAITS_BLOCKED;
}

/* Counts the wait up to now_ns.  Torn: its end is unknown. */
static void count_wait(struct waits *w, struct waits_thread *t, uint64_t now_ns, bool is_torn)
{
	struct waits_piece p = {
		.pid = t->pid, .tid = t->tid, .state = state_of(w, t, now_ns),
		.ns = in_window(w, t->since_ns, now_ns), .n = !t->is_counted,
		.at = is_torn ? nowhere : place_of(w, t, now_ns),
	};
	w->n_torn += is_torn;
	if (now_ns > t->since_ns)
		t->since_ns = now_ns;
	if (!p.ns)
		return;
	t->is_counted = true;
	w->count(w->count_ctx, &p);
}

static void add_run(struct waits *w, struct waits_thread *t, uint64_t now_ns)
{
	t->ran_ns += in_window(w, t->since_ns, now_ns);
	if (now_ns > t->since_ns)
		t->since_ns = now_ns;
}

static void count_run(struct waits *w, struct waits_thread *t, uint64_t n)
{
	struct waits_piece p = { .pid = t->pid, .tid = t->tid, .state = WAITS_RUNNING,
				 .ns = t->ran_ns, .n = n, .at = t->ran };
	t->ran_ns = 0;
	if (p.ns && w->has_clock)
		w->count(w->count_ctx, &p);
}

/* If memory is short, the stack stays unknown. */
static void add_unread(struct waits *w, struct waits_thread *t)
{
	if (!t->is_unread)
		t->is_unread = VEC_PUSH(&w->unread, t->tid);
}

static void begin_wait(struct waits *w, struct waits_thread *t, uint64_t time_ns,
		       struct waits_place at)
{
	t->is = WAITS_OFF_CPU;
	t->since_ns = t->began_ns = time_ns;
	t->is_counted = t->is_out = t->is_preempted = t->is_new = false;
	t->at = at;
	t->waker = nowhere;
	if (!is_known(at) || at.is_partial)
		add_unread(w, t);
	if (is_known(at) && !is_known(t->ran))
		t->ran = at;
}

/* The thread leaves its CPU: ends its run. */
static void end_run(struct waits *w, struct waits_thread *t, uint64_t time_ns)
{
	if (t->is == WAITS_OFF_CPU)
		count_wait(w, t, time_ns, true);
	else
		add_run(w, t, time_ns);  /* an unknown thread ran all the time */
}

/* A whole wait is counted where another thread ended it. */
static void count_wake(struct waits *w, const struct waits_thread *t, uint64_t now_ns)
{
	const struct waits_piece p = {
		.pid = t->pid, .tid = t->tid, .state = WAITS_BLOCKED, .n = 1, .is_wake = true,
		.ns = in_window(w, t->began_ns, now_ns), .at = t->waker,
	};
	if (is_known(t->waker) && place_of(w, t, now_ns).is_lock && p.ns)
		w->count(w->count_ctx, &p);
}

/* The thread gets a CPU, or was on one at that time. */
static void begin_run(struct waits *w, struct waits_thread *t, uint64_t time_ns)
{
	if (t->is == WAITS_ON_CPU)
		w->n_torn++;
	else
		count_wait(w, t, time_ns, false);  /* an unknown one waited all the time */
	if (t->is == WAITS_OFF_CPU)
		count_wake(w, t, time_ns);
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

/* include/linux/trace_events.h, enum trace_flag_type: in an interrupt, a softirq, an NMI. */
#define TRACE_FLAGS_INTERRUPT (0x08u | 0x10u | 0x40u)

bool waits_woken(const struct record *r, uint32_t *ret_tid)
{
	/* include/trace/events/sched.h, sched_wakeup_template, after the 8 bytes of all
	 * tracepoints: comm[16], pid.  Unchanged since Linux 4.3, where sched_waking came. */
	enum { FLAGS_AT = 2, PID_AT = 24 };
	const uint8_t *raw = r->sample.raw;
	if (r->sample.n_raw_bytes < PID_AT + sizeof(*ret_tid) ||
	    raw[FLAGS_AT] & TRACE_FLAGS_INTERRUPT)
		return false;
	memcpy(ret_tid, raw + PID_AT, sizeof(*ret_tid));
	return true;
}

bool waits_wants_waker(const struct waits *w, uint32_t tid)
{
	const struct waits_thread *t = find_thread(w, tid);
	return t && t->is == WAITS_OFF_CPU && !t->is_preempted && !is_known(t->waker) &&
	       t->at.is_lock;
}

void waits_wake(struct waits *w, uint32_t tid, struct waits_place waker)
{
	struct waits_thread *t = find_thread(w, tid);
	if (t)
		t->waker = waker;
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
	count_run(w, t, 1);
}

static void feed_switch(struct waits *w, const struct record *r)
{
	struct waits_thread *t = thread_of(w, r->pid, r->tid, r->time_ns);
	if (!t)
		return;
	if (!r->context_switch.out) {
		begin_run(w, t, r->time_ns);
		return;
	}
	if (t->is != WAITS_OFF_CPU || t->is_out) {
		end_run(w, t, r->time_ns);
		begin_wait(w, t, r->time_ns, nowhere);
	}
	t->is_out = true;
	t->is_preempted = r->context_switch.preempt;
}

/* A new thread waits for its first run. */
static void feed_fork(struct waits *w, const struct record *r)
{
	struct waits_thread *t = thread_of(w, r->pid, r->tid, r->time_ns);
	if (!t || t->is != WAITS_UNKNOWN)
		return;
	begin_wait(w, t, r->time_ns, nowhere);
	t->is_new = t->is_counted = t->is_out = true;
}

static void end_thread(struct waits *w, struct waits_thread *t, uint64_t time_ns)
{
	end_run(w, t, time_ns);  /* to end, it must run */
	count_run(w, t, 0);
	remove_thread(w, t);
}

/* Of a process only the thread that called exec goes on, with the id of the first one. */
static void feed_exec(struct waits *w, const struct record *r)
{
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
		t = find_thread(w, r->tid);
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

/* ---- looks ---------------------------------------------------------------------------- */

void waits_add_thread(struct waits *w, uint32_t pid, uint32_t tid)
{
	thread_of(w, pid, tid, 0);
}

void waits_add_look(struct waits *w, const struct waits_look *look)
{
	struct waits_thread *t = find_thread(w, look->tid);
	if (t && t->pid == look->pid)
		t->look = *look;
}

/* After a loss, each wait may need a look. */
static void add_all_unread(struct waits *w)
{
	if (w->unread_lost_ns == w->lost_ns)
		return;
	w->unread_lost_ns = w->lost_ns;
	for (size_t i = 0; i < w->thread.n; i++)
		add_unread(w, &w->thread.v[i]);
}

/* Is there a stack to be read?  A thread that only waits for a CPU shows none. */
static bool needs_look(const struct waits *w, const struct waits_thread *t)
{
	if (!t || t->is != WAITS_OFF_CPU || t->is_preempted || t->is_new)
		return false;
	struct waits_place at = place_of(w, t, UINT64_MAX);
	return !is_known(at) || (at.is_partial && !look_fits(w, t, UINT64_MAX));
}

void waits_each_unread(struct waits *w, uint64_t before_ns,
		       bool (*each)(void *ctx, uint32_t pid, uint32_t tid), void *ctx)
{
	size_t n_kept = 0;
	bool goes_on = true;
	add_all_unread(w);
	for (size_t i = 0; i < w->unread.n; i++) {
		uint32_t tid = w->unread.v[i];
		struct waits_thread *t = find_thread(w, tid);
		bool needs = needs_look(w, t);
		if (needs && (!goes_on || t->began_ns > before_ns)) {
			w->unread.v[n_kept++] = tid;
			continue;
		}
		if (t)
			t->is_unread = false;
		if (needs)
			goes_on = each(ctx, t->pid, tid);
	}
	w->unread.n = n_kept;
}

/* ---- ends ----------------------------------------------------------------------------- */

/* A thread without records has not changed its state. */
static void settle_unknown(struct waits_thread *t)
{
	t->is = t->look.to_ns && !t->look.is_waiting ? WAITS_ON_CPU : WAITS_OFF_CPU;
	t->is_out = true;
}

void waits_settle(struct waits *w, uint64_t now_ns)
{
	for (size_t i = 0; i < w->thread.n; i++) {
		struct waits_thread *t = &w->thread.v[i];
		if (t->is == WAITS_UNKNOWN)
			settle_unknown(t);
		if (t->is == WAITS_OFF_CPU)
			count_wait(w, t, now_ns, false);
		else
			add_run(w, t, now_ns);
		count_run(w, t, 0);
	}
}

void waits_each_place(struct waits *w, void (*each)(void *ctx, struct waits_place *at), void *ctx)
{
	for (size_t i = 0; i < w->thread.n; i++) {
		struct waits_thread *t = &w->thread.v[i];
		struct waits_place *place[] = { &t->at, &t->waker, &t->look.at, &t->ran };
		for (size_t k = 0; k < sizeof(place) / sizeof(*place); k++)
			if (is_known(*place[k]))
				each(ctx, place[k]);
	}
}
