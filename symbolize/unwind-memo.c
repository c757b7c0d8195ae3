/*
 * What the memo is for stands at the top of unwind.c.  Frames are kept outermost first, so that
 * those that did not change need not be moved, and the caller's words beside them neither.  While a
 * stack is unwound from the inside, k runs down through the memo: both are sorted by the stack
 * pointer, but for signal frames on another stack, after which the search starts anew.
 */

#include "symbolize/unwind-memo.h"

#include <stdlib.h>

/* So many cut stacks in a row, or ones shorter than their copies, and the memo's complete one is
 * taken for history. */
#define MEMO_CUT_MAX 16u

static bool memo_equal(const struct unwind_frame *a, const struct unwind_frame *b)
{
	return a->pc == b->pc && a->sp == b->sp && a->fp == b->fp &&
		!((a->flags ^ b->flags) & UNWIND_FRAME_EXACT);
}

/* Is the newest frame one of the memo's? */
bool unwind_memo_find(struct unwind_sync *s, const struct unwind_walk *w)
{
	const struct unwind_frame *f = &w->frame[w->n - 1];
	int64_t k = s->k;
	while (k >= 0 && s->m[k].sp < f->sp)
		k--;
	for (int64_t i = k; i >= 0 && s->m[i].sp == f->sp; i--) {
		if (!memo_equal(&s->m[i], f))
			continue;
		if (s->from == UNWIND_SYNC_NONE || i != s->k - 1)
			s->from = w->n - 1;
		s->k = i;
		return true;
	}
	s->k = k;
	s->from = UNWIND_SYNC_NONE;
	return false;
}

uint64_t unwind_memo_next_sp(const struct unwind_sync *s, const struct unwind_walk *w)
{
	int64_t k = s->k;
	while (k >= 0 && s->m[k].sp <= w->frame[w->n - 1].sp)
		k--;
	return k >= 0 ? s->m[k].sp : UINT64_MAX;
}

/* Takes over the memo's frames k .. 0 as they are. */
static void memo_join(struct unwind_sync *s, struct unwind_walk *w, int64_t k)
{
	for (; k >= 0 && w->n < w->max_depth; k--) {
		w->frame[w->n] = s->m[k];
		w->frame[w->n++].flags |= UNWIND_FRAME_JOINED;
		s->n_joined++;
	}
	s->is_whole = s->is_whole && k < 0;
	s->k = 0;
}

/* The newest frame equals m[k]: takes over outer frames as long as their slots are unchanged.
 * True when it ended with a join. */
bool unwind_memo_reuse(struct unwind_sync *s, struct unwind_walk *w)
{
	const struct unwind_frame *m = s->m;
	struct unwind_frame *f = &w->frame[w->n - 1];
	const uint32_t step = UNWIND_STEP_SLOTS | UNWIND_STEP_FP;
	int64_t k = s->k;
	for (; k > 0 && m[k].flags & UNWIND_STEP_SLOTS && w->n < w->max_depth; k--) {
		const struct unwind_frame *o = &m[k - 1];
		uint64_t pc, fp = 0, ra_at = o->sp + (uint64_t)(m[k].ra_off8 * 8l);
		uint64_t fp_at = o->sp + (uint64_t)(m[k].fp_off8 * 8l);
		bool has_fp = m[k].flags & UNWIND_STEP_FP;
		bool is_there =
			unwind_load(w, ra_at, &pc) && (!has_fp || unwind_load(w, fp_at, &fp));
		if (is_there && (unwind_strip(w->arch, pc) != o->pc || (has_fp && fp != o->fp)))
			break;
		f->ra_off8 = m[k].ra_off8;
		f->fp_off8 = m[k].fp_off8;
		f->flags |= m[k].flags & step;
		if (!is_there) {
			memo_join(s, w, k - 1);
			return true;
		}
		*++f = *o;
		f->flags &= ~(step | UNWIND_FRAME_JOINED | UNWIND_FRAME_SIGNAL);
		w->n++;
	}
	s->k = k;
	return false;
}

/* The first address of the function that `at` lies in; false without CFI. */
static bool memo_function(unwind_find_module *find_module, void *ctx, uint64_t at, uint64_t *ret)
{
	struct unwind_module m;
	struct cfi_fde fde;
	uint32_t off;
	bool is_debug;
	if (!find_module(ctx, at, &m) || !m.cfi ||
	    cfi_find_fde(m.cfi, at - m.bias, &fde, &off, &is_debug) != CFI_UNUSUAL)
		return false;
	*ret = fde.start + m.bias;
	return true;
}

static uint64_t memo_at(const struct unwind_frame *f)
{
	return f->pc - !(f->flags & UNWIND_FRAME_EXACT);
}

static bool memo_is_same_function(unwind_find_module *find_module, void *ctx, uint64_t at,
				  const struct unwind_frame *f)
{
	uint64_t a, b;
	return memo_at(f) == at || (memo_function(find_module, ctx, at, &a) &&
				    memo_function(find_module, ctx, memo_at(f), &b) && a == b);
}

/* The step from the newest frame led beyond the copy.  Does the memo know the frame at that
 * CFA, as the caller of the same function? */
bool unwind_memo_cut(struct unwind_sync *s, struct unwind_walk *w, uint32_t n_memo)
{
	if (!w->is_cfa_known)
		return false;
	for (int64_t k = (int64_t)n_memo - 2; k >= 0; k--) {
		if (s->m[k].sp != w->cfa)
			continue;
		if (!memo_is_same_function(w->find_module, w->in->ctx,
					   memo_at(&w->frame[w->n - 1]), &s->m[k + 1]))
			return false;
		if (s->from == UNWIND_SYNC_NONE || s->k != k + 1)
			s->from = w->n;
		memo_join(s, w, k);
		return s->n_joined > 0;
	}
	return false;
}

int64_t unwind_memo_caller(const struct unwind_memo *m, unwind_find_module *find_module, void *ctx,
			   uint64_t pc, uint64_t cfa)
{
	/* outermost first: stack pointers fall, but for signal frames on another stack */
	uint32_t from = 0, n = m->n;
	while (n > 0) {
		uint32_t half = n / 2;
		if (m->frame[from + half].sp > cfa)
			from += half + 1, n -= half + 1;
		else
			n = half;
	}
	for (; from + 1 < m->n && m->frame[from].sp == cfa; from++)
		if (memo_is_same_function(find_module, ctx, pc, &m->frame[from + 1]))
			return from;
	return -1;
}

bool unwind_memo_has_call(const struct unwind_memo *m, unwind_find_module *find_module, void *ctx,
			  uint64_t pc, uint64_t ra)
{
	for (uint32_t k = 0; k + 1 < m->n; k++)
		if (m->frame[k].pc == ra && !(m->frame[k].flags & UNWIND_FRAME_EXACT) &&
		    memo_is_same_function(find_module, ctx, pc, &m->frame[k + 1]))
			return true;
	return false;
}

/* Puts the new stack into the memo; n_same outer frames are there already. */
static bool memo_keep(struct unwind_memo *m, const struct unwind_walk *w, uint32_t n_same)
{
	if (w->n > m->cap) {
		uint32_t cap = m->cap ? m->cap : 32;
		while (cap < w->n)
			cap *= 2;
		void *f = reallocarray(m->frame, cap, sizeof(*m->frame));
		if (f)
			m->frame = f;
		void *id = reallocarray(m->caller_id, cap, sizeof(*m->caller_id));
		if (id)
			m->caller_id = id;
		if (!f || !id)
			return false;
		m->cap = cap;
	}
	for (uint32_t i = n_same; i < w->n; i++)
		m->frame[i] = w->frame[w->n - 1 - i];
	m->n = w->n;
	return true;
}

/* Decides what the memo holds from now on, and fills what the caller is told of it. */
void unwind_memo_update(struct unwind_memo *m, const struct unwind_walk *w,
			const struct unwind_sync *s,
			uint64_t space, struct unwind_result *ret)
{
	bool is_usable = m->n && m->space == space;
	uint64_t n_walked = s->walked_sp - w->sp0;
	if (n_walked > UNWIND_AHEAD_BYTES_MAX)
		n_walked = UNWIND_AHEAD_BYTES_MAX;
	m->n_walked_bytes += ((int32_t)n_walked - (int32_t)m->n_walked_bytes) / 4;
	bool is_long = ret->is_whole && (w->in->is_long || ret->n_joined);
	bool is_less = !ret->is_whole || (m->is_long && !is_long);
	if (is_less && is_usable && m->is_whole && m->n_cut < MEMO_CUT_MAX) {
		m->n_cut++;
		return;
	}
	/* the caller may show the end and the joint, so they belong to what must be the same */
	if (is_usable && s->from != UNWIND_SYNC_NONE && s->k == 0 && m->end == ret->end &&
	    m->n_joined == ret->n_joined && m->is_whole == ret->is_whole)
		ret->n_same = w->n - s->from;
	ret->is_kept = memo_keep(m, w, ret->n_same);
	if (!ret->is_kept) {
		m->n = 0;
		ret->n_same = 0;
	}
	m->end = ret->end;
	m->n_joined = ret->n_joined;
	m->is_whole = ret->is_whole;
	m->is_long = is_long;
	m->n_cut = 0;
	m->space = space;
}

void unwind_memo_done(struct unwind_memo *m)
{
	free(m->frame);
	free(m->caller_id);
	*m = (struct unwind_memo){ 0 };
}
