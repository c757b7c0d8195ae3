/*
 * The purpose of the memo is explained in unwind.c.  Frames are stored outermost first, so that
 * unchanged frames and the caller's words for them need not be moved.  While a stack is unwound
 * from the inside, k decreases through the memo: both are sorted by the stack pointer, except for
 * signal frames on another stack, after which the search starts again.
 */

#include "symbolize/unwind/unwind-memo.h"

#include "base/search.h"

#include "symbolize/unwind/unwind-call.h"

#include <stdlib.h>
#include <string.h>

/* After so many truncated stacks in a row, or stacks shorter than their copies, the complete one in
 * the memo is discarded as stale. */
#define MEMO_CUT_MAX 16u

/* Adds the memo's frames k .. 0 as they are. */
static void memo_join(struct unwind_sync *s, struct unwind_walk *w, int64_t k)
{
	for (; k >= 0 && w->n < w->max_depth; k--) {
		w->frame[w->n] = s->m[k];
		w->frame[w->n++].flags |= UNWIND_FRAME_JOINED;
		s->n_joined++;
	}
	s->is_whole = s->is_whole && k < 0;
	s->k_met = k + 1;
	s->n_met = w->n;
}

bool unwind_memo_reuse(struct unwind_sync *s, struct unwind_walk *w)
{
	const uint32_t step = UNWIND_STEP_SLOTS | UNWIND_STEP_FP;
	const uint64_t sp0 = w->sp0, last_off = w->n_copy - 8, strip = unwind_strip(w, ~0ull);
	const uint8_t *stack = w->in->stack;
	/* m and f move outwards through the memo and the stack; both are the same frame */
	const struct unwind_frame *m = &s->m[s->k];
	struct unwind_frame *f = &w->frame[w->n - 1], *last = w->frame + w->max_depth - 1;
	uint32_t kept = f->flags & ~step;
	bool is_cut = false;
	for (; m > s->m && f < last && m->flags & UNWIND_STEP_SLOTS; m--) {
		uint64_t pc, fp, has_fp = m->flags & UNWIND_STEP_FP ? ~0ull : 0;
		uint64_t ra_off = m[-1].sp + (uint64_t)(m->ra_off8 * 8l) - sp0;
		uint64_t fp_off = ra_off + ((uint64_t)((m->fp_off8 - m->ra_off8) * 8l) & has_fp);
		is_cut = w->n_copy < 8 || ra_off > last_off || fp_off > last_off;
		if (is_cut)
			break;
		memcpy(&pc, stack + ra_off, 8);
		memcpy(&fp, stack + fp_off, 8);
		if (((pc & strip) ^ m[-1].pc) | ((fp ^ m[-1].fp) & has_fp))
			break;
		*f = *m;
		f++->flags = kept | (m->flags & step);
		kept = m[-1].flags & ~(step | UNWIND_FRAME_JOINED | UNWIND_FRAME_SIGNAL);
	}
	*f = *m;
	f->flags = kept | (is_cut ? m->flags & step : 0);
	s->k = s->k_met = m - s->m;
	s->n_met = w->n = (uint32_t)(f - w->frame) + 1;
	if (is_cut)
		memo_join(s, w, s->k - 1);
	return is_cut;
}

static uint64_t memo_at(const struct unwind_frame *f)
{
	return f->pc - !(f->flags & UNWIND_FRAME_EXACT);
}

bool unwind_memo_cut(struct unwind_sync *s, struct unwind_walk *w, uint32_t n_memo)
{
	if (!w->is_cfa_known)
		return false;
	for (int64_t k = (int64_t)n_memo - 2; k >= 0; k--) {
		if (s->m[k].sp != w->cfa)
			continue;
		if (!unwind_call_is_one(w, memo_at(&w->frame[w->n - 1]), memo_at(&s->m[k + 1])))
			return false;
		if (s->n_met != w->n || s->k_met != k + 1)
			s->from = w->n;
		memo_join(s, w, k);
		return s->n_joined > 0;
	}
	return false;
}

int64_t unwind_memo_caller(const struct unwind_memo *m, module_find *find_module, void *ctx,
			   uint64_t pc, uint64_t cfa)
{
	/* outermost first: stack pointers fall, except for signal frames on another stack */
	uint32_t from = SEARCH_COUNT(m->n, i, m->frame[i].sp > cfa);
	for (; from + 1 < m->n && m->frame[from].sp == cfa; from++)
		if (unwind_call_is_one_function(find_module, ctx, pc, memo_at(&m->frame[from + 1])))
			return from;
	return -1;
}

bool unwind_memo_has_call(const struct unwind_memo *m, module_find *find_module, void *ctx,
			  uint64_t pc, uint64_t ra)
{
	for (uint32_t k = 0; k + 1 < m->n; k++)
		if (m->frame[k].pc == ra && !(m->frame[k].flags & UNWIND_FRAME_EXACT) &&
		    unwind_call_is_one_function(find_module, ctx, pc, memo_at(&m->frame[k + 1])))
			return true;
	return false;
}

/* Stores the new stack in the memo, which already has its n_same outer frames. */
static bool memo_keep(struct unwind_memo *m, const struct unwind_walk *w, uint32_t n_same)
{
	/* no VEC: both arrays have the same length */
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
	/* callers may show the end and the joint, so these must be the same, too */
	if (is_usable && s->n_met == w->n && s->k_met == 0 && m->end == ret->end &&
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
