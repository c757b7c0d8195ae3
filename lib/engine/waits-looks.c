/*
 * A look is read while the thread goes on: it belongs to the wait that contains both the time
 * before it and the time after it, and may arrive before the records that tell which one this is.
 */

#include "engine/waits-looks.h"

#include "engine/waits.h"

#include <stdlib.h>

bool waits_looks_fit(const struct waits *w, const struct waits_thread *t,
		     const struct waits_look *look, uint64_t now_ns)
{
	return look->to_ns && look->is_waiting && look->from_ns >= t->began_ns &&
	       look->to_ns <= now_ns && (w->lost_ns <= t->began_ns || look->from_ns >= w->lost_ns);
}

/* Were the functions of that stack read during the wait?  Without memory there is none. */
static bool has_functions(const struct waits *w, const struct waits_thread *t,
			  struct waits_place at, uint64_t now_ns)
{
	return waits_is_known(at) && at.stack == t->native.stack &&
	       at.labels == t->native.labels && waits_is_known(t->functions.at) &&
	       waits_looks_fit(w, t, &t->functions, now_ns);
}

struct waits_place waits_looks_place(const struct waits *w, const struct waits_thread *t,
				     uint64_t now_ns)
{
	bool is_sure = w->lost_ns <= t->began_ns || w->lost_ns > now_ns;
	struct waits_place at = is_sure ? t->at : waits_nowhere;
	bool is_better = !waits_is_known(at) || (at.is_partial && !t->look.at.is_partial);
	is_better &= waits_looks_fit(w, t, &t->look, now_ns) && waits_is_known(t->look.at);
	at = is_better ? t->look.at : at;
	if (has_functions(w, t, at, now_ns)) {
		at.stack = t->functions.at.stack;
		at.labels = t->functions.at.labels;
	}
	return at;
}

/* If memory is short, the stack stays unknown. */
void waits_looks_want(struct waits *w, struct waits_thread *t)
{
	if (!t->is_unread)
		t->is_unread = VEC_PUSH(&w->unread, ((struct waits_unread){ .tid = t->tid }));
}

void waits_looks_add(struct waits *w, const struct waits_look *look)
{
	struct waits_thread *t = waits_find(w, look->tid);
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
		waits_looks_want(w, &w->thread.v[i]);
}

/* Is there a stack to be read?  A thread that only waits for a CPU shows none, unless its sample
 * has the start of it.  One without any record may wait all the time. */
static bool needs_look(const struct waits *w, const struct waits_thread *t)
{
	if (!t || t->is == WAITS_ON_CPU || (t->is_preempted && !t->is_cut) || t->is_new)
		return false;
	struct waits_place at = waits_looks_place(w, t, UINT64_MAX);
	return !waits_is_known(at) ||
	       (at.is_partial && !waits_looks_fit(w, t, &t->look, UINT64_MAX));
}

/* In waits.unread: a thread and since when it has waited. */
static int compare_unread(const void *a, const void *b)
{
	const struct waits_unread *x = a, *y = b;
	return (x->began_ns > y->began_ns) - (x->began_ns < y->began_ns);
}

/* Other waits may have begun since the threads were added. */
static void sort_unread(struct waits *w)
{
	for (size_t i = 0; i < w->unread.n; i++) {
		const struct waits_thread *t = waits_find(w, w->unread.v[i].tid);
		w->unread.v[i].began_ns = t ? t->began_ns : 0;
	}
	if (w->unread.n > 1)
		qsort(w->unread.v, w->unread.n, sizeof(*w->unread.v), compare_unread);
}

void waits_looks_each(struct waits *w, uint64_t before_ns,
		      bool (*each)(void *ctx, uint32_t pid, uint32_t tid), void *ctx)
{
	size_t n_kept = 0;
	bool goes_on = true;
	add_all_unread(w);
	sort_unread(w);
	for (size_t i = 0; i < w->unread.n; i++) {
		uint32_t tid = w->unread.v[i].tid;
		struct waits_thread *t = waits_find(w, tid);
		bool needs = needs_look(w, t);
		if (needs && (!goes_on || (t->began_ns > before_ns && !t->is_cut))) {
			w->unread.v[n_kept++] = w->unread.v[i];
			continue;
		}
		if (t)
			t->is_unread = false;
		if (needs)
			goes_on = each(ctx, t->pid, tid);
	}
	w->unread.n = n_kept;
}

void waits_looks_each_short(struct waits *w, bool (*each)(void *ctx, uint32_t pid, uint32_t tid),
			    void *ctx)
{
	size_t n = w->thread.n, first = w->next_short;
	if (!w->has_short)
		return;
	for (size_t i = 0; i < n; i++) {
		struct waits_thread *t = &w->thread.v[(first + i) % n];
		if (!t->has_short)
			continue;
		t->has_short = false;
		w->next_short = (first + i + 1) % n;
		if (!each(ctx, t->pid, t->tid))
			return;
	}
	w->has_short = false;
}

/* ---- functions --------------------------------------------------------------------------- */

bool waits_looks_each_native(struct waits *w, size_t *from, uint64_t before_ns,
			     waits_looks_native_fn *each, void *ctx)
{
	for (size_t i = 0; i < w->thread.n; i++) {
		struct waits_thread *t = &w->thread.v[(*from + i) % w->thread.n];
		struct waits_place at = waits_looks_place(w, t, UINT64_MAX);
		bool is_read = waits_looks_fit(w, t, &t->functions, UINT64_MAX);
		/* one without any record may wait all the time */
		if (t->is == WAITS_ON_CPU || t->is_preempted || t->is_new || is_read ||
		    t->began_ns > before_ns || !waits_is_known(at))
			continue;
		if (each(ctx, t, at))
			continue;
		*from = (*from + i + 1) % w->thread.n;
		return false;
	}
	return true;
}

void waits_looks_add_functions(struct waits *w, uint32_t tid, uint64_t from_ns, uint64_t to_ns,
			       struct waits_place native, struct waits_place functions)
{
	struct waits_thread *t = waits_find(w, tid);
	if (!t)
		return;
	t->native = native;
	t->functions = (struct waits_look){
		.from_ns = from_ns, .to_ns = to_ns, .is_waiting = true, .at = functions,
	};
}

/* ---- locks ------------------------------------------------------------------------------- */

void waits_looks_each_lock(struct waits *w, bool (*each)(void *ctx, const struct waits_thread *t),
			   void *ctx)
{
	bool goes_on = true;
	for (size_t i = 0; i < w->unheld.n; i++) {
		struct waits_thread *t = waits_find(w, w->unheld.v[i]);
		if (!t)
			continue;
		t->is_unheld = false;
		if (goes_on && t->is == WAITS_OFF_CPU && !t->is_preempted && t->lock.address)
			goes_on = each(ctx, t);
	}
	w->unheld.n = 0;
}

void waits_looks_add_holder(struct waits *w, uint32_t tid, uint64_t from_ns, uint64_t to_ns,
			    uint32_t labels)
{
	struct waits_thread *t = waits_find(w, tid);
	if (!t)
		return;
	t->holding = (struct waits_look){
		.from_ns = from_ns, .to_ns = to_ns, .is_waiting = true, .at = waits_nowhere,
	};
	t->holding.at.locks = labels;
}
