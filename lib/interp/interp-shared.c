#include "interp/interp-shared.h"

#include "base/hash.h"
#include "interp/interp-base.h"

#include <stdlib.h>

/* Some MB.  A file with more begins anew. */
#define FUNCTIONS_MAX 16384u
#define CALLS_MAX 32768u
#define NODES_MAX 32768u
#define PLACES_MAX 16384u

/* Of one process: what is new comes early. */
#define CHAINS_MAX 512u

void interp_shared_done(struct interp_shared *s)
{
	VEC_FREE(&s->v);
	hashindex_done(&s->index);
	interp_chains_done(&s->chains);
}

void interp_shared_view_done(struct interp_shared_view *v)
{
	VEC_FREE(&v->code);
	interp_chain_done(&v->chain);
}

void interp_shared_renew(struct interp_shared_view *v)
{
	v->code.n = v->n_calls = v->n_chains = 0;
}

/* ---- functions -------------------------------------------------------------------------- */

static uint64_t hash_function(const struct interp_function *f)
{
	return hash_pair(hash_pair(f->name, f->n_bytes), hash_pair(f->n_frame_bytes, f->where));
}

static bool is_same(const struct interp_function *a, const struct interp_function *b)
{
	return a->name == b->name && a->n_bytes == b->n_bytes &&
	       a->n_frame_bytes == b->n_frame_bytes && a->where == b->where;
}

static uint32_t add_function(struct interp_shared *s, const struct interp_function *f)
{
	uint64_t hash = hash_function(f);
	uint32_t i = HASHINDEX_FIND(&s->index, hash, k, is_same(&s->v.v[k], f));
	if (i != HASHINDEX_NONE)
		return i;
	if (s->v.n >= FUNCTIONS_MAX || !hashindex_reserve(&s->index, false) ||
	    !VEC_PUSH(&s->v, *f))
		return INTERP_NO_CODE;
	i = (uint32_t)s->v.n - 1;
	hashindex_put(&s->index, hash, i);
	return i;
}

/* An object may turn out to be another function than it seemed at first: it is asked each time. */
static uint32_t number_of(struct interp_shared_view *v, const struct interp_runtime *r,
			  uint32_t code)
{
	struct interp_function f;
	if (code == INTERP_BASE_ROOT || code == INTERP_NO_CODE)
		return code;
	return r->identify(r->ctx, code, &f) ? add_function(v->shared, &f) : INTERP_NO_CODE;
}

static uint32_t code_of(struct interp_shared_view *v, const struct interp_runtime *r,
			uint32_t number)
{
	while (v->code.n <= number && VEC_PUSH(&v->code, INTERP_NO_CODE))
		;
	if (v->code.n <= number)
		return INTERP_NO_CODE;
	if (v->code.v[number] == INTERP_NO_CODE)
		v->code.v[number] = r->code_named(r->ctx, &v->shared->v.v[number]);
	return v->code.v[number];
}

static bool is_full(const struct interp_shared *s)
{
	return s->v.n >= FUNCTIONS_MAX || s->chains.calls.v.n >= CALLS_MAX ||
	       s->chains.node.n >= NODES_MAX || s->chains.seen.n >= PLACES_MAX;
}

/* Is there anything to share?  Forgets what is too much for all processes. */
static bool begin(struct interp_shared_view *v, const struct interp_runtime *r)
{
	struct interp_shared *s = v->shared;
	if (!s || !r->identify)
		return false;
	if (is_full(s)) {
		uint32_t n = s->n_clears;
		interp_shared_done(s);
		*s = (struct interp_shared){ .n_clears = n + 1 };
	}
	if (v->n_clears != s->n_clears)
		v->code.n = 0;
	v->n_clears = s->n_clears;
	s->chains.is_common = true;
	return true;
}

/* ---- callers ---------------------------------------------------------------------------- */

static enum interp_frames_where where(void *ctx, uint32_t number, uint32_t *ret_bytes)
{
	const struct interp_shared *s = ctx;
	*ret_bytes = 0;
	if (number == INTERP_NO_CODE)
		return INTERP_FRAMES_UNKNOWN;
	*ret_bytes = s->v.v[number].n_frame_bytes;
	return s->v.v[number].where;
}

static uint32_t line(void *ctx, uint32_t number, uint32_t off)
{
	return off;
}

static struct interp_runtime numbers(struct interp_shared *s)
{
	return (struct interp_runtime){ .ctx = s, .line = line, .frames_where = where };
}

static bool number_base(struct interp_shared_view *v, const struct interp_runtime *r,
			const struct interp_base *base, struct interp_base *ret)
{
	*ret = *base;
	if (!base->at)
		return false;
	ret->outer_code = number_of(v, r, base->outer_code);
	return ret->outer_code != INTERP_NO_CODE;
}

static void hand_over(struct interp_shared_view *v, const struct interp_runtime *r,
		      const struct interp_calls_call *c)
{
	uint32_t callee = number_of(v, r, c->callee), caller = number_of(v, r, c->caller);
	if (callee == INTERP_NO_CODE || caller == INTERP_NO_CODE)
		return;
	if (c->is_first) {
		const struct interp_base base = {
			.at = 1, .outer_code = caller, .line = c->line,
		};
		interp_calls_add_first(&v->shared->chains.calls, &base, callee);
	} else {
		interp_calls_add(&v->shared->chains.calls, caller, callee);
	}
}

static void hand_over_chain(struct interp_shared_view *v, const struct interp_runtime *r,
			    const struct interp_chain *chain)
{
	const struct interp_runtime of = numbers(v->shared);
	v->chain.link.n = v->chain.ends.n = 0;
	if (!VEC_RESERVE(&v->chain.link, chain->link.n) ||
	    !VEC_RESERVE(&v->chain.ends, chain->ends.n))
		return;
	for (size_t i = 0; i < chain->link.n; i++) {
		const struct interp_link *l = &chain->link.v[i];
		v->chain.link.v[i] = (struct interp_link){
			l->at, number_of(v, r, l->code), r->line(r->ctx, l->code, l->off),
		};
	}
	for (size_t i = 0; i < chain->ends.n; i++)
		v->chain.ends.v[i] = chain->ends.v[i];
	v->chain.link.n = chain->link.n;
	v->chain.ends.n = chain->ends.n;
	v->chain.is_whole = chain->is_whole;
	interp_chains_learn(&v->shared->chains, &of, &v->chain);
}

void interp_shared_add(struct interp_shared_view *v, const struct interp_runtime *r,
		       const struct interp_chain *chain, const struct interp_calls *calls)
{
	struct interp_calls_call c;
	if (!begin(v, r))
		return;
	if (chain->link.n && v->n_chains < CHAINS_MAX) {
		v->n_chains++;
		hand_over_chain(v, r, chain);
	}
	for (; interp_calls_get(calls, v->n_calls, &c); v->n_calls++)
		hand_over(v, r, &c);
}

bool interp_shared_has_first(struct interp_shared_view *v, const struct interp_runtime *r,
			     const struct interp_base *base, uint32_t callee)
{
	struct interp_base numbered;
	if (!begin(v, r) || !number_base(v, r, base, &numbered))
		return false;
	uint32_t number = number_of(v, r, callee);
	return number != INTERP_NO_CODE &&
	       interp_calls_has_first(&v->shared->chains.calls, &numbered, number);
}

/* The node of the callers, of numbers. */
static uint32_t find_node(struct interp_shared *s, const struct interp_base *base,
			  uint32_t number, const struct interp_shared_place *from)
{
	const struct interp_runtime of = numbers(s);
	const struct interp_chains_place at = interp_base_place(base, number, from->frame);
	uint32_t node = interp_chains_find(&s->chains, &at);
	if (node == INTERP_CHAINS_NONE && !from->are_several)
		node = interp_chains_compose(&s->chains, &of, base, from->entry, number,
					     from->frame);
	return node != INTERP_CHAINS_SEVERAL ? node : INTERP_CHAINS_NONE;
}

bool interp_shared_find(struct interp_shared_view *v, const struct interp_runtime *r,
			const struct interp_shared_place *at,
			struct interp_link ret[INTERP_CALLS_DEPTH], size_t *ret_n)
{
	struct interp_base base;
	*ret_n = 0;
	if (!interp_base_has(at->base, at->frame) || !begin(v, r) ||
	    !number_base(v, r, at->base, &base))
		return false;
	uint32_t number = number_of(v, r, at->code), node = INTERP_CHAINS_NONE;
	if (number != INTERP_NO_CODE)
		node = find_node(v->shared, &base, number, at);
	while (node != INTERP_CHAINS_NONE && node) {
		const struct interp_chains_caller c =
			interp_chains_caller(&v->shared->chains, node);
		uint32_t code = code_of(v, r, c.code);
		if (*ret_n == INTERP_CALLS_DEPTH || code == INTERP_NO_CODE)
			return false;
		ret[(*ret_n)++] = (struct interp_link){ 0, code, c.has_off ? c.off : 0 };
		node = c.next;
	}
	return node != INTERP_CHAINS_NONE;
}
