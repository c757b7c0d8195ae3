/* The callers of the functions that a sample shows, by what was read of the thread. */

#include "interp/interp-samples-private.h"

#include "interp/interp-traces.h"
#include "symbolize/runtime/runtime-pages.h"

bool interp_samples_find(const struct interp_chain *c, uint64_t frame, size_t *at)
{
	for (size_t i = *at; i < c->link.n; i++) {
		if (c->link.v[i].at != frame)
			continue;
		*at = i;
		return true;
	}
	return false;
}

/* Was the chain cut before that index, since a copy does not have all of it? */
static bool is_cut_at(const struct interp_samples *s, size_t end)
{
	return s->is_copied && !s->chain->is_whole && end == s->chain->link.n;
}

/* Does the chain go on, after index `end`, as the native stack does? */
static bool leads_on(const struct interp_samples *s, const struct interp_runtime *r, size_t i,
		     size_t end, bool is_whole)
{
	const struct interp_chain *c = s->chain;
	if (is_cut_at(s, end))
		return true;
	if (i + 1 < s->part.n) {
		const struct interp_samples_part *outer = &s->part.v[i + 1];
		return end < c->link.n &&
		       (!outer->frame || c->link.v[end].at == outer->frame) &&
		       (outer->code == INTERP_NO_CODE ||
			r->is_shared(r->ctx, outer->code, c->link.v[end].code));
	}
	return !is_whole || (end == c->link.n && c->is_whole);
}

/* The callers of part i are in the chain from that index on.  Returns the index of the next
 * activation, or 0 if they do not fit. */
static size_t take_callers(struct interp_samples *s, const struct interp_runtime *r, size_t i,
			   size_t caller, size_t end, bool is_whole)
{
	struct interp_samples_part *p = &s->part.v[i];
	if (!leads_on(s, r, i, end, is_whole))
		return 0;
	p->is_read = true;
	p->caller = caller;
	p->n_callers = end - caller;
	return end;
}

/* Those up to where the copy ends. */
static size_t take_some(struct interp_samples *s, size_t i, size_t caller)
{
	struct interp_samples_part *p = &s->part.v[i];
	size_t end = s->chain->link.n;
	if (!is_cut_at(s, end))
		return 0;
	p->is_cut = true;
	p->caller = caller;
	p->n_callers = end - caller;
	return end;
}

/* The callers of part i, whose innermost function is at index `at` of the chain.  Returns the index
 * of the next activation, or `at` if they do not fit.  Without an instruction, the function is what
 * was read early.  A call or a return changes the frame and the instruction one after the other:
 * then a copy says which function it is. */
static size_t take_part(struct interp_samples *s, const struct interp_runtime *r, size_t i,
			size_t at, bool is_whole, bool is_early)
{
	struct interp_samples_part *p = &s->part.v[i];
	const struct interp_link *inner = &s->chain->link.v[at];
	bool is_other = p->code == INTERP_NO_CODE ||
			!r->is_shared(r->ctx, p->code, inner->code);
	bool may_be_other = p->code == INTERP_NO_CODE ? is_early : s->is_copied && !i;
	size_t end;
	if (is_other && !may_be_other)
		return at;
	p->off = is_other ? inner->off : p->off;
	p->code = inner->code;
	end = interp_samples_end(s->chain, at, &end) ?
		take_callers(s, r, i, at + 1, end, is_whole) : take_some(s, i, at + 1);
	return end ? end : at;
}

/* Does a function's frame begin where that of another one ends? */
static bool is_after(const struct interp_runtime *r, const struct interp_link *l, uint64_t frame)
{
	uint32_t n_bytes;
	return r->frames_where &&
	       r->frames_where(r->ctx, l->code, &n_bytes) == INTERP_FRAMES_STACKED &&
	       frame == l->at + n_bytes;
}

/* As interp_traces_has, in a copy that is not overwritten meanwhile. */
static bool has_trace(const struct interp_runtime *r, const struct interp_samples_part *p,
		      uint64_t caller)
{
	return interp_traces_has(r, p->code, p->frame, caller) &&
	       runtime_copy_is_intact(r->frame_pages->copy);
}

/* The innermost function's frame is not in the thread's list yet, or not any more: it was being
 * called, or has returned.  Its caller is then the first one of the list.  Returns the index of the
 * next activation. */
static size_t take_between(struct interp_samples *s, const struct interp_runtime *r, bool is_whole)
{
	const struct interp_samples_part *p = s->part.v;
	const struct interp_link *first = s->chain->link.v;
	size_t end = 0;
	if (!s->chain->link.n || p->code == INTERP_NO_CODE ||
	    (!is_after(r, first, p->frame) && !has_trace(r, p, first->at)))
		return 0;
	/* the caller may be native code, which the first one has called */
	if (s->part.n > 1 && !p[1].frame)
		return 0;
	if ((s->part.n > 1 && p[1].frame == first->at) || interp_samples_end(s->chain, 0, &end))
		return take_callers(s, r, 0, 0, end, is_whole);
	return take_some(s, 0, 0);
}

/* Has an activation further out the same instruction? */
static bool has_outer(const struct interp_samples *s, const struct interp_samples_part *p)
{
	for (size_t i = 1; i < s->part.n; i++)
		if (s->part.v[i].code == p->code && s->part.v[i].off == p->off)
			return true;
	return false;
}

/* Functions with the same instructions differ in their frames.  The innermost activation may have
 * just begun, with its frame, but still the instruction of one further out: then its function is
 * not known. */
static void tell_apart(const struct interp_samples *s, const struct interp_runtime *r,
		       struct interp_samples_part *p)
{
	uint32_t code = r->code_of_frame(r->ctx, p->frame);
	bool is_innermost = p == s->part.v;
	if (code != INTERP_NO_CODE && r->is_shared(r->ctx, p->code, code))
		p->code = code;
	else if (is_innermost && (code != INTERP_NO_CODE || has_outer(s, p)))
		p->code = INTERP_NO_CODE;
}

void interp_samples_callers(struct interp_samples *s, const struct interp_runtime *r, bool is_whole,
			    bool is_early)
{
	size_t at = 0;
	for (size_t i = 0; i < s->part.n; i++) {
		struct interp_samples_part *p = &s->part.v[i];
		if (r->has_single_frames && p->frame && p->code != INTERP_NO_CODE)
			tell_apart(s, r, p);
		bool is_next = i > 0 && s->part.v[i - 1].is_read && at < s->chain->link.n;
		if (p->frame ? interp_samples_find(s->chain, p->frame, &at) : is_next)
			at = take_part(s, r, i, at, is_whole, is_early);
		else if (!i && s->is_copied && p->frame)
			at = take_between(s, r, is_whole);
	}
}
