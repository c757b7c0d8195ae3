/* A reading that ends elsewhere than at the first function of the thread has met memory that was
 * changed meanwhile: nothing of it is used.  A copy cannot change, so what it has is right. */

#include "interp/interp-readings.h"

#include "interp/interp-chains.h"
#include "interp/interp-traces.h"
#include "symbolize/runtime/runtime-pages.h"

#include <stdlib.h>
#include <string.h>

void interp_readings_done(struct interp_readings *s)
{
	for (uint32_t i = 0; i < INTERP_READINGS_THREADS; i++)
		interp_chain_done(&s->thread[i].chain);
	interp_chain_done(&s->copied.chain);
	interp_chain_done(&s->first);
	interp_chain_done(&s->second);
}

void interp_readings_renew(struct interp_readings *s)
{
	s->n = 0;
}

/* All functions of a thread, from the one on that it executes now: those of earlier samples of this
 * drain may be gone.  False: the thread has gone on, so that they lead nowhere. */
static bool read_chain(const struct interp_runtime *r, uint32_t tid, struct interp_chain *ret)
{
	uint64_t at;
	ret->link.n = ret->ends.n = 0;
	return r->innermost(r->ctx, tid, &at) && at && r->chain(r->ctx, at, ret) && ret->is_whole;
}

/* The functions that a copy has, from the innermost one on. */
static bool read_copy(const struct interp_runtime *r, uint32_t tid, struct interp_chain *ret)
{
	uint64_t at;
	ret->link.n = ret->ends.n = 0;
	return r->innermost(r->ctx, tid, &at) && at && r->chain(r->ctx, at, ret) && ret->link.n;
}

/* Removes the innermost n functions. */
static void cut(struct interp_chain *c, size_t n)
{
	size_t k = 0;
	c->link.n -= n;
	if (n && c->link.n)
		memmove(c->link.v, c->link.v + n, c->link.n * sizeof(*c->link.v));
	for (size_t i = 0; i < c->ends.n; i++)
		if (c->ends.v[i] > n)
			c->ends.v[k++] = c->ends.v[i] - (uint32_t)n;
	c->ends.n = k;
}

/* Keeps those functions that another reading has as well.  False: one of them has others. */
static bool keep_common(struct interp_chain *c, const struct interp_chain *other)
{
	size_t n = 0;
	while (n < c->link.n && n < other->link.n) {
		const struct interp_link *a = &c->link.v[c->link.n - 1 - n];
		const struct interp_link *b = &other->link.v[other->link.n - 1 - n];
		if (a->at != b->at || a->code != b->code)
			break;
		n++;
	}
	bool is_equal = n == c->link.n && n == other->link.n;
	cut(c, c->link.n - n);
	return is_equal;
}

/* False: the program has gone on. */
static bool read_twice(struct interp_readings *s, const struct interp_runtime *r, uint32_t tid)
{
	r->forget(r->ctx);
	if (!read_chain(r, tid, &s->first)) {
		s->first.link.n = s->first.ends.n = 0;
		return false;
	}
	if (r->use_second)
		r->use_second(r->ctx);
	else
		r->forget(r->ctx);
	if (!read_chain(r, tid, &s->second))
		s->second.link.n = 0;
	return keep_common(&s->first, &s->second);
}

/* Is it one that was read in this drain?  Otherwise it takes the place of another one. */
static bool find_thread(struct interp_readings *s, uint32_t tid, struct interp_reading **ret)
{
	for (uint32_t i = 0; i < s->n && i < INTERP_READINGS_THREADS; i++) {
		*ret = &s->thread[i];
		if (s->thread[i].tid == tid)
			return true;
	}
	*ret = &s->thread[s->n++ % INTERP_READINGS_THREADS];
	(*ret)->tid = tid;
	(*ret)->chain.link.n = (*ret)->chain.ends.n = 0;
	(*ret)->has_innermost = false;
	return false;
}

static void learn(struct interp_chains *chains, const struct interp_runtime *r,
		  const struct interp_chain *c)
{
	interp_chains_learn(chains, r, c);
	if (c->link.n)
		interp_traces_above(&chains->calls, r, c->link.v[0].code, c->link.v[0].at);
}

const struct interp_reading *interp_readings_of(struct interp_readings *s,
						const struct interp_runtime *r,
						struct interp_chains *chains, uint32_t tid,
						unsigned int n_tries)
{
	struct interp_reading *t;
	bool is_equal = find_thread(s, tid, &t), is_there = false;
	t->is_new = !is_equal;
	for (unsigned int i = 0; i < n_tries && !is_equal; i++) {
		if (i == 1)
			is_there = interp_samecpu_enter(&s->cpu, tid);
		is_equal = read_twice(s, r, tid);
		/* whatever the samples are: functions have these callers */
		learn(chains, r, &s->first);
		if (t->chain.link.n)
			continue;
		/* the first reading is the nearest to the sample */
		struct interp_chain empty = t->chain;
		t->chain = s->first;
		s->first = empty;
		t->has_innermost = is_equal;
	}
	if (is_there)
		interp_samecpu_leave(&s->cpu);
	return t;
}

const struct interp_reading *interp_readings_copied(struct interp_readings *s,
						    const struct interp_runtime *r,
						    struct interp_chains *chains, uint32_t tid,
						    const struct runtime_copy *copy,
						    bool is_learned)
{
	struct interp_reading *t = &s->copied;
	runtime_pages_use_copy(r->frame_pages, copy);
	t->tid = tid;
	t->has_innermost = t->is_new = true;
	if (!read_copy(r, tid, &t->chain) || !runtime_copy_is_intact(copy)) {
		runtime_pages_use_copy(r->frame_pages, NULL);
		return NULL;
	}
	if (is_learned && t->chain.is_whole)
		learn(chains, r, &t->chain);
	return t;
}
