#include "interp/interp-samples.h"

#include "agg/frames.h"
#include "base/clock.h"

#include <stdlib.h>

/* What is read within this time after the sample is mostly what it was then. */
#define EARLY_NS 300000u
/* And so long it is believed where nothing is remembered. */
#define LATE_NS 1000000u
/* Places are learned from samples that are not older. */
#define LEARN_NS 2000000u

#define READINGS_MAX 4u         /* of a thread, until one is steady */

/* An activation: its innermost function, and its callers. */
struct interp_samples_part {
	uint32_t code, off;
	uint64_t frame;                 /* 0: unknown */
	bool is_read;                   /* its callers lead to the next activation */
	size_t first, n;                /* if so: its functions in the chain */
	uint32_t node;                  /* of its callers; INTERP_CHAINS_NONE: unknown */
	enum interp_quality quality;
};

void interp_samples_init(struct interp_samples *s)
{
	*s = (struct interp_samples){ .epoch = 0 };
	interp_learn_init(&s->learn);
}

void interp_samples_done(struct interp_samples *s)
{
	interp_learn_done(&s->learn);
	interp_chains_done(&s->chains);
	activations_done(&s->activations);
	for (uint32_t i = 0; i < INTERP_SAMPLES_THREADS; i++)
		interp_chain_done(&s->thread[i].chain);
	interp_chain_done(&s->again);
	VEC_FREE(&s->part);
}

void interp_samples_renew(struct interp_samples *s, const struct interp_runtime *r,
			  uint64_t now_ns)
{
	uint32_t epoch = r->renew(r->ctx, now_ns);
	if (epoch != s->epoch || interp_chains_is_full(&s->chains))
		interp_chains_clear(&s->chains);
	s->epoch = epoch;
	s->n_threads = 0;
}

/* ---- places ----------------------------------------------------------------------------- */

/* Is it one that was read in this drain?  Otherwise it takes the place of another one. */
static bool find_thread(struct interp_samples *s, uint32_t tid)
{
	for (uint32_t i = 0; i < s->n_threads && i < INTERP_SAMPLES_THREADS; i++) {
		s->t = &s->thread[i];
		if (s->t->tid == tid)
			return true;
	}
	s->t = &s->thread[s->n_threads++ % INTERP_SAMPLES_THREADS];
	s->t->tid = tid;
	return false;
}

/* The functions of a thread, from the one on that it executes now: those of earlier samples of this
 * drain may be gone. */
static bool read_chain(const struct interp_runtime *r, uint32_t tid,
		       struct interp_chain *ret)
{
	uint64_t at;
	ret->link.n = ret->ends.n = 0;
	return r->innermost(r->ctx, tid, &at) && at && r->chain(r->ctx, at, ret);
}

static bool is_equal(const struct interp_chain *a, const struct interp_chain *b)
{
	if (a->link.n != b->link.n || a->ends.n != b->ends.n)
		return false;
	for (size_t i = 0; i < a->link.n; i++)
		if (a->link.v[i].at != b->link.v[i].at || a->link.v[i].code != b->link.v[i].code)
			return false;
	return true;
}

/* The program goes on while its memory is read, so that parts may be of different times: it is read
 * twice. */
static bool read_twice(struct interp_samples *s, const struct interp_runtime *r)
{
	struct interp_samples_thread *t = s->t;
	r->forget(r->ctx);
	if (!read_chain(r, t->tid, &t->chain)) {
		t->chain.link.n = t->chain.ends.n = 0;
		return false;
	}
	if (r->use_second)
		r->use_second(r->ctx);
	else
		r->forget(r->ctx);
	t->is_steady = read_chain(r, t->tid, &s->again) && is_equal(&t->chain, &s->again);
	return true;
}

/* Once per drain and thread. */
static void read_thread(struct interp_samples *s, const struct interp_runtime *r, uint32_t tid)
{
	if (find_thread(s, tid))
		return;
	s->t->is_steady = false;
	for (unsigned int i = 0; i < READINGS_MAX && !s->t->is_steady; i++)
		if (!read_twice(s, r))
			return;
	/* whatever the samples are: functions have these callers */
	if (s->t->is_steady)
		interp_chains_learn(&s->chains, r, &s->t->chain);
}

static void learn(struct interp_samples *s, const struct interp_runtime *r)
{
	if (s->t->chain.link.n)
		interp_learn_add(&s->learn, r, &s->chains, &s->activations,
				 &s->activations.v.v[0], s->t->chain.link.v[0].at,
				 s->t->chain.link.v[0].code);
}

/* ---- callers ---------------------------------------------------------------------------- */

/* Finds a frame in a chain that was read, from *at on.  A function whose frame is missing has
 * returned: its memory may still look like a frame, but not that of its callers. */
static bool find_frame(const struct interp_chain *c, uint64_t frame, size_t *at)
{
	for (size_t i = *at; i < c->link.n; i++) {
		if (c->link.v[i].at != frame)
			continue;
		*at = i;
		return true;
	}
	return false;
}

/* What the sample itself says.  is_again: an earlier one. */
static bool list_parts(struct interp_samples *s, const struct interp_runtime *r,
		       const struct activations *of, bool is_again)
{
	s->part.n = 0;
	for (size_t i = 0; i < of->v.n; i++) {
		const struct activation *a = &of->v.v[i];
		struct interp_samples_part p = {
			.node = INTERP_CHAINS_NONE, .quality = INTERP_QUALITY_UNKNOWN,
		};
		size_t at = 0;
		if (!activations_value(of, a, s->learn.frame, &p.frame))
			p.frame = 0;
		bool is_there = p.frame && find_frame(&s->t->chain, p.frame, &at);
		uint32_t hint = is_there ? s->t->chain.link.v[at].code : INTERP_NO_CODE;
		p.code = is_again ? interp_learn_known(&s->learn, r, of, a, &p.off) :
				    interp_learn_code(&s->learn, r, of, a, hint, &p.off);
		if (!VEC_PUSH(&s->part, p))
			return false;
	}
	return true;
}

/* The index after the last function of the activation that the one at index `at` belongs to. */
static bool find_end(const struct interp_chain *c, size_t at, size_t *ret)
{
	for (size_t i = 0; i < c->ends.n; i++) {
		if (c->ends.v[i] <= at)
			continue;
		*ret = c->ends.v[i];
		return *ret <= c->link.n;
	}
	return false;
}

/* Does the chain go on, after index `end`, as the native stack does? */
static bool leads_on(const struct interp_samples *s, const struct interp_runtime *r, size_t i,
		     size_t end, bool is_whole)
{
	const struct interp_chain *c = &s->t->chain;
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
 * of the next activation, or `at` if they do not fit. */
static size_t take_part(struct interp_samples *s, const struct interp_runtime *r, size_t i,
			size_t at, bool is_whole)
{
	struct interp_samples_part *p = &s->part.v[i];
	const struct interp_link *inner = &s->t->chain.link.v[at];
	size_t end;
	if (p->code != INTERP_NO_CODE && !r->is_shared(r->ctx, p->code, inner->code))
		return at;
	p->off = p->code == INTERP_NO_CODE ? inner->off : p->off;
	p->code = inner->code;
	if (!find_end(&s->t->chain, at, &end) || !leads_on(s, r, i, end, is_whole))
		return at;
	p->is_read = true;
	p->first = at;
	p->n = end - at;
	return end;
}

/* Functions with the same instructions differ in their frames. */
static void tell_apart(const struct interp_runtime *r, struct interp_samples_part *p)
{
	uint32_t code = r->code_of_frame(r->ctx, p->frame);
	if (code != INTERP_NO_CODE && r->is_shared(r->ctx, p->code, code))
		p->code = code;
}

static void read_callers(struct interp_samples *s, const struct interp_runtime *r, bool is_whole)
{
	size_t at = 0;
	for (size_t i = 0; i < s->part.n; i++) {
		struct interp_samples_part *p = &s->part.v[i];
		if (r->has_single_frames && p->frame && p->code != INTERP_NO_CODE)
			tell_apart(r, p);
		bool is_next = i > 0 && s->part.v[i - 1].is_read && at < s->t->chain.link.n;
		if (p->frame ? find_frame(&s->t->chain, p->frame, &at) : is_next)
			at = take_part(s, r, i, at, is_whole);
	}
}

static struct interp_chains_place place_of(const struct interp_samples *s, size_t i)
{
	static const struct interp_samples_part none = { .frame = 0 };
	const struct interp_samples_part *p = &s->part.v[i];
	const struct interp_samples_part *outer = i + 1 < s->part.n ? p + 1 : &none;
	return (struct interp_chains_place){
		.code = p->code, .outer_code = outer->code, .frame = p->frame,
		.outer = outer->frame,
	};
}

/* ---- decisions -------------------------------------------------------------------------- */

static enum interp_quality believe(struct interp_samples *s, size_t i, bool is_early, bool is_late)
{
	struct interp_samples_part *p = &s->part.v[i];
	const struct interp_chains_place at = place_of(s, i);
	uint32_t read = INTERP_CHAINS_NONE, known = INTERP_CHAINS_NONE;
	if (p->is_read)
		read = interp_chains_node(&s->chains, &s->t->chain.link.v[p->first + 1], p->n - 1);
	if (p->frame)
		known = interp_chains_find(&s->chains, &at);
	/* beyond the copy of the stack nothing else is known */
	bool is_inner_exact = i > 0 && s->part.v[i - 1].quality == INTERP_QUALITY_EXACT;
	if (read != INTERP_CHAINS_NONE &&
	    (is_early || read == known || (!p->frame && is_inner_exact) ||
	     (known == INTERP_CHAINS_NONE && !is_late && s->t->is_steady))) {
		p->node = read;
		return INTERP_QUALITY_EXACT;
	}
	p->node = known;
	return known != INTERP_CHAINS_NONE ? INTERP_QUALITY_REMEMBERED : INTERP_QUALITY_INNERMOST;
}

static void decide(struct interp_samples *s, const struct interp_runtime *r, bool is_early,
		   bool is_late)
{
	for (size_t i = 0; i < s->part.n; i++) {
		struct interp_samples_part *p = &s->part.v[i];
		if (p->code == INTERP_NO_CODE)
			continue;
		if (r->has_single_frames)
			p->quality = INTERP_QUALITY_EXACT;
		else
			p->quality = believe(s, i, is_early, is_late);
	}
}

/* ---- frames ----------------------------------------------------------------------------- */

static bool add_frame(struct interp_frames *f, uint32_t frame)
{
	return frame != FRAMES_NONE && VEC_PUSH(&f->frames, frame);
}

static bool add_callers(const struct interp_samples *s, const struct interp_runtime *r,
			const struct interp_samples_part *p, struct interp_frames *ret)
{
	bool is_read = p->is_read && p->quality == INTERP_QUALITY_EXACT;
	size_t k = 1;
	for (uint32_t node = p->node; node; k++) {
		struct interp_chains_caller c = interp_chains_caller(&s->chains, node);
		bool has_link = is_read && k < p->n;
		uint32_t off = c.off;
		if (!c.has_off && has_link)
			off = s->t->chain.link.v[p->first + k].off;
		if (!add_frame(ret, r->frame(r->ctx, c.code, off, c.has_off || has_link)))
			return false;
		node = c.next;
	}
	return true;
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
	if (p->node == INTERP_CHAINS_NONE ? !add_frame(ret, r->unknown(r->ctx))
					  : !add_callers(s, r, p, ret))
		return false;
	return VEC_PUSH(&ret->ends, (uint32_t)ret->frames.n);
}

/* The activations further out than those of a stack that is not whole. */
static bool add_outer(struct interp_samples *s, const struct interp_runtime *r,
		      struct interp_frames *ret)
{
	const struct interp_samples_part *last = &s->part.v[s->part.n - 1];
	const struct interp_chain *c = &s->t->chain;
	size_t at = last->first + last->n, end;
	if (!last->is_read || last->quality != INTERP_QUALITY_EXACT)
		return true;
	for (; at < c->link.n && find_end(c, at, &end); at = end) {
		for (size_t k = at; k < end; k++)
			if (!add_frame(ret, r->frame(r->ctx, c->link.v[k].code, c->link.v[k].off,
						     true)))
				return false;
		if (!VEC_PUSH(&ret->ends, (uint32_t)ret->frames.n))
			return false;
	}
	return true;
}

static enum interp_quality add_all(struct interp_samples *s, const struct interp_runtime *r,
				   bool is_whole, struct interp_frames *ret)
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

enum interp_quality interp_samples_read(struct interp_samples *s, const struct interp_runtime *r,
					const struct interp_samples_native *n,
					struct interp_frames *ret)
{
	ret->frames.n = ret->ends.n = 0;
	ret->is_whole = true;
	if (!activations_find(&s->activations, n->walk, n->is_loop) || !s->activations.v.n)
		return INTERP_QUALITY_UNKNOWN;
	read_thread(s, r, n->tid);
	uint64_t lag_ns = clock_monotonic_ns() - n->time_ns;
	if (interp_learn_goes_on(&s->learn) && lag_ns < LEARN_NS)
		learn(s, r);
	if (!list_parts(s, r, &s->activations, false))
		return INTERP_QUALITY_UNKNOWN;
	read_callers(s, r, n->is_whole);
	bool is_early = lag_ns < EARLY_NS && s->t->is_steady;
	decide(s, r, is_early, lag_ns > LATE_NS);
	return add_all(s, r, n->is_whole, ret);
}

/* ---- samples that were kept -------------------------------------------------------------- */

bool interp_samples_keep(const struct interp_samples *s, const struct interp_runtime *r,
			 struct interp_kept *ret)
{
	return r->n_replaced && s->activations.v.n && interp_kept_copy(ret, &s->activations);
}

/* Its callers cannot be read any more, but they may be remembered. */
enum interp_quality interp_samples_again(struct interp_samples *s, const struct interp_runtime *r,
					 const struct interp_kept *k, struct interp_frames *ret)
{
	ret->frames.n = ret->ends.n = 0;
	ret->is_whole = true;
	s->t = &s->unread;
	if (!list_parts(s, r, &k->activations, true))
		return INTERP_QUALITY_UNKNOWN;
	read_callers(s, r, true);
	decide(s, r, false, true);
	return add_all(s, r, true, ret);
}
