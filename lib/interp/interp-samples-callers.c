/* The callers of the functions that a sample shows, by what was read of the thread. */

#include "interp/interp-samples-private.h"

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

/* Does the chain go on, after index `end`, as the native stack does? */
static bool leads_on(const struct interp_samples *s, const struct interp_runtime *r, size_t i,
		     size_t end, bool is_whole)
{
	const struct interp_chain *c = s->chain;
	if (i + 1 < s->part.n) {
		const struct interp_samples_part *outer = &s->part.v[i + 1];
		return end < c->link.n &&
		       (!outer->frame || c->link.v[end].at == outer->frame) &&
		       (outer->code == INTERP_NO_CODE ||
			r->is_shared(r->ctx, outer->code, c->link.v[end].code));
	}
	return !is_whole || (end == c->link.n && c->is_whole);
}

/* The callers of part i, whose innermost function is at index `at` of the chain.  Returns the index
 * of the next activation, or `at` if they do not fit.  Without an instruction, the function is what
 * was read early. */
static size_t take_part(struct interp_samples *s, const struct interp_runtime *r, size_t i,
			size_t at, bool is_whole, bool is_early)
{
	struct interp_samples_part *p = &s->part.v[i];
	const struct interp_link *inner = &s->chain->link.v[at];
	size_t end;
	if (p->code == INTERP_NO_CODE ? !is_early : !r->is_shared(r->ctx, p->code, inner->code))
		return at;
	p->off = p->code == INTERP_NO_CODE ? inner->off : p->off;
	p->code = inner->code;
	if (!interp_samples_end(s->chain, at, &end) || !leads_on(s, r, i, end, is_whole))
		return at;
	p->is_read = true;
	p->caller = at + 1;
	p->n_callers = end - at - 1;
	return end;
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
	}
}
