#include "interp/interp-shared.h"

#include "base/hash.h"
#include "interp/interp-base.h"

#include <stdlib.h>

#define FUNCTIONS_MAX 16384u
#define CALLS_MAX 32768u        /* some MB with the functions; a file with more begins anew */

/* Numbers of functions: */
#define UNASKED UINT32_MAX
#define UNSHARED (UINT32_MAX - 1)       /* other processes may have another one of that name */

void interp_shared_done(struct interp_shared *s)
{
	VEC_FREE(&s->v);
	hashindex_done(&s->index);
	interp_calls_done(&s->calls);
}

void interp_shared_view_done(struct interp_shared_view *v)
{
	VEC_FREE(&v->number);
	VEC_FREE(&v->code);
}

void interp_shared_renew(struct interp_shared_view *v)
{
	v->number.n = v->code.n = v->n_calls = 0;
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
	if (s->v.n >= FUNCTIONS_MAX || !hashindex_reserve(&s->index, false) || !VEC_PUSH(&s->v, *f))
		return UNSHARED;
	i = (uint32_t)s->v.n - 1;
	hashindex_put(&s->index, hash, i);
	return i;
}

/* The item at that index of a table whose other items are UNASKED; NULL: no memory. */
#define ITEM(table, i)                                                                  \
	({                                                                              \
		while ((table)->n <= (i) && VEC_PUSH(table, UNASKED))                   \
			;                                                               \
		(table)->n > (i) ? &(table)->v[i] : NULL;                               \
	})

static uint32_t number_of(struct interp_shared_view *v, const struct interp_runtime *r,
			  uint32_t code)
{
	struct interp_function f;
	if (code == INTERP_BASE_ROOT)
		return code;
	uint32_t *number = ITEM(&v->number, code);
	if (!number)
		return UNSHARED;
	if (*number == UNASKED)
		*number = r->identify(r->ctx, code, &f) ? add_function(v->shared, &f) : UNSHARED;
	return *number;
}

static uint32_t code_of(struct interp_shared_view *v, const struct interp_runtime *r,
			uint32_t number)
{
	uint32_t *code = ITEM(&v->code, number);
	if (!code)
		return INTERP_NO_CODE;
	if (*code == UNASKED)
		*code = r->code_named(r->ctx, &v->shared->v.v[number]);
	return *code;
}

/* Is there anything to share?  Forgets what is too much for all processes. */
static bool begin(struct interp_shared_view *v, const struct interp_runtime *r)
{
	struct interp_shared *s = v->shared;
	if (!s || !r->identify)
		return false;
	if (s->v.n >= FUNCTIONS_MAX || s->calls.v.n >= CALLS_MAX) {
		uint32_t n = s->n_clears;
		interp_shared_done(s);
		*s = (struct interp_shared){ .n_clears = n + 1 };
	}
	if (v->n_clears != s->n_clears)
		v->number.n = v->code.n = 0;
	v->n_clears = s->n_clears;
	return true;
}

/* ---- calls ------------------------------------------------------------------------------ */

static bool number_base(struct interp_shared_view *v, const struct interp_runtime *r,
			const struct interp_base *base, struct interp_base *ret)
{
	*ret = *base;
	if (!base->at)
		return false;
	ret->outer_code = number_of(v, r, base->outer_code);
	return ret->outer_code != UNSHARED;
}

static void hand_over(struct interp_shared_view *v, const struct interp_runtime *r,
		      const struct interp_calls_call *c)
{
	uint32_t callee = number_of(v, r, c->callee), caller = number_of(v, r, c->caller);
	if (callee == UNSHARED || caller == UNSHARED)
		return;
	if (c->is_first) {
		const struct interp_base base = {
			.at = 1, .outer_code = caller, .line = c->line,
		};
		interp_calls_add_first(&v->shared->calls, &base, callee);
	} else {
		interp_calls_add(&v->shared->calls, caller, callee);
	}
}

void interp_shared_add(struct interp_shared_view *v, const struct interp_runtime *r,
		       const struct interp_calls *calls)
{
	struct interp_calls_call c;
	if (!interp_calls_get(calls, v->n_calls, &c) || !begin(v, r))
		return;
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
	return number != UNSHARED &&
	       interp_calls_has_first(&v->shared->calls, &numbered, number);
}

static enum interp_frames_where where(void *ctx, uint32_t number, uint32_t *ret_bytes)
{
	const struct interp_shared *s = ctx;
	*ret_bytes = s->v.v[number].n_frame_bytes;
	return s->v.v[number].where;
}

enum interp_calls_found interp_shared_find(struct interp_shared_view *v,
					   const struct interp_runtime *r,
					   const struct interp_base *base,
					   enum interp_entry entry, uint32_t code,
					   uint64_t distance,
					   struct interp_link ret[INTERP_CALLS_DEPTH],
					   size_t *ret_n)
{
	struct interp_base numbered;
	*ret_n = 0;
	if (!begin(v, r) || !number_base(v, r, base, &numbered))
		return INTERP_CALLS_NONE;
	const struct interp_calls_frames frames = { v->shared, where };
	uint32_t number = number_of(v, r, code);
	if (number == UNSHARED)
		return INTERP_CALLS_NONE;
	enum interp_calls_found found = interp_calls_find(&v->shared->calls, &frames, &numbered,
							  entry, number, distance, ret, ret_n);
	for (size_t i = 0; found == INTERP_CALLS_ONE && i < *ret_n; i++) {
		ret[i].code = code_of(v, r, ret[i].code);
		if (ret[i].code == INTERP_NO_CODE)
			return INTERP_CALLS_NONE;
	}
	return found;
}
