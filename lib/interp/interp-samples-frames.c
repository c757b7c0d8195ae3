/* The frames of a sample, by what was decided of its activations. */

#include "interp/interp-samples-private.h"

#include "agg/frames.h"

#include <stdlib.h>

bool interp_samples_end(const struct interp_chain *c, size_t at, size_t *ret)
{
	for (size_t i = 0; i < c->ends.n; i++) {
		if (c->ends.v[i] <= at)
			continue;
		*ret = c->ends.v[i];
		return *ret <= c->link.n;
	}
	return false;
}

static bool add_frame(struct interp_frames *f, uint32_t frame)
{
	return frame != FRAMES_NONE && VEC_PUSH(&f->frames, frame);
}

static bool add_callers(const struct interp_samples *s, const struct interp_runtime *r,
			const struct interp_samples_part *p, struct interp_frames *ret)
{
	bool is_read = p->is_cut || (p->is_read && p->quality == INTERP_QUALITY_EXACT);
	size_t k = 0;
	for (uint32_t node = p->node; node; k++) {
		struct interp_chains_caller c = interp_chains_caller(&s->chains, node);
		bool has_link = is_read && k < p->n_callers;
		uint32_t off = c.off;
		if (!c.has_off && has_link)
			off = s->chain->link.v[p->caller + k].off;
		if (!add_frame(ret, r->frame(r->ctx, c.code, off, c.has_off || has_link)))
			return false;
		node = c.next;
	}
	return true;
}

/* The callers that were read, and that those further out are unknown. */
static bool add_some(const struct interp_samples *s, const struct interp_runtime *r,
		     const struct interp_samples_part *p, struct interp_frames *ret)
{
	for (size_t k = 0; p->is_cut && k < p->n_callers; k++) {
		const struct interp_link *l = &s->chain->link.v[p->caller + k];
		if (!add_frame(ret, r->frame(r->ctx, l->code, l->off, true)))
			return false;
	}
	return add_frame(ret, r->unknown(r->ctx));
}

static bool add_part(const struct interp_samples *s, const struct interp_runtime *r, size_t i,
		     struct interp_frames *ret)
{
	const struct interp_samples_part *p = &s->part.v[i];
	if (p->code != INTERP_NO_CODE &&
	    !add_frame(ret, r->frame(r->ctx, p->code, p->off, true)))
		return false;
	if (r->has_single_frames && p->code != INTERP_NO_CODE)
		return VEC_PUSH(&ret->ends, (uint32_t)ret->frames.n);
	if (p->node == INTERP_CHAINS_NONE ? !add_some(s, r, p, ret) : !add_callers(s, r, p, ret))
		return false;
	return VEC_PUSH(&ret->ends, (uint32_t)ret->frames.n);
}

/* The activations further out than those of a stack that is not whole. */
static bool add_outer(struct interp_samples *s, const struct interp_runtime *r,
		      struct interp_frames *ret)
{
	const struct interp_samples_part *last = &s->part.v[s->part.n - 1];
	const struct interp_chain *c = s->chain;
	size_t at = last->caller + last->n_callers, end;
	if (!last->is_read || last->quality != INTERP_QUALITY_EXACT)
		return true;
	for (; at < c->link.n && interp_samples_end(c, at, &end); at = end) {
		for (size_t k = at; k < end; k++)
			if (!add_frame(ret, r->frame(r->ctx, c->link.v[k].code, c->link.v[k].off,
						     true)))
				return false;
		if (!VEC_PUSH(&ret->ends, (uint32_t)ret->frames.n))
			return false;
	}
	return true;
}

enum interp_quality interp_samples_frames(struct interp_samples *s,
					  const struct interp_runtime *r, bool is_whole,
					  struct interp_frames *ret)
{
	enum interp_quality worst = INTERP_QUALITY_EXACT;
	if (s->part.v[0].quality == INTERP_QUALITY_UNKNOWN)
		return INTERP_QUALITY_UNKNOWN;
	for (size_t i = 0; i < s->part.n; i++) {
		enum interp_quality q = s->part.v[i].quality;
		q = q == INTERP_QUALITY_UNKNOWN ? INTERP_QUALITY_INNERMOST : q;
		worst = q > worst ? q : worst;
		if (!add_part(s, r, i, ret))
			return INTERP_QUALITY_UNKNOWN;
	}
	return is_whole || add_outer(s, r, ret) ? worst : INTERP_QUALITY_UNKNOWN;
}
