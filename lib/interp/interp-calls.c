#include "interp/interp-calls.h"

#include "base/hash.h"
#include "interp/interp-base.h"

#include <string.h>

#define CALLS_MAX 131072u
#define STEPS_MAX 2048u                 /* of a search */
#define DEAD_ENDS 128u                  /* that a search remembers; a power of two */

/* Instead of a caller's line: this is no call by native code. */
#define NO_LINE UINT32_MAX

struct interp_calls_one {
	uint32_t callee, caller;
	uint32_t line;                  /* of a caller that has called native code; or NO_LINE */
	uint32_t next;                  /* of the same callee; HASHINDEX_NONE: none */
};

void interp_calls_done(struct interp_calls *c)
{
	VEC_FREE(&c->v);
	hashindex_done(&c->calls);
	hashindex_done(&c->by_callee);
}

bool interp_calls_is_full(const struct interp_calls *c)
{
	return c->v.n >= CALLS_MAX;
}

static uint32_t first_of(const struct interp_calls *c, uint32_t callee)
{
	return HASHINDEX_FIND(&c->by_callee, hash_u64(callee), k, c->v.v[k].callee == callee);
}

static bool is_same(const struct interp_calls_one *a, const struct interp_calls_one *b)
{
	return a->callee == b->callee && a->caller == b->caller && a->line == b->line;
}

static uint32_t call_at(const struct interp_calls *c, const struct interp_calls_one *one)
{
	uint64_t hash = hash_pair(hash_pair(one->callee, one->caller), one->line);
	return HASHINDEX_FIND(&c->calls, hash, k, is_same(&c->v.v[k], one));
}

bool interp_calls_has_first(const struct interp_calls *c, const struct interp_base *base,
			    uint32_t callee)
{
	const struct interp_calls_one one = { callee, base->outer_code, base->line, 0 };
	return base->at && call_at(c, &one) != HASHINDEX_NONE;
}

bool interp_calls_has(const struct interp_calls *c, uint32_t caller, uint32_t callee)
{
	const struct interp_calls_one one = { callee, caller, NO_LINE, 0 };
	return call_at(c, &one) != HASHINDEX_NONE;
}

static void add(struct interp_calls *c, const struct interp_calls_one *one)
{
	uint64_t hash = hash_pair(hash_pair(one->callee, one->caller), one->line);
	uint32_t i = call_at(c, one);
	if (i != HASHINDEX_NONE || interp_calls_is_full(c) ||
	    !hashindex_reserve(&c->calls, false) || !hashindex_reserve(&c->by_callee, false) ||
	    !VEC_PUSH(&c->v, *one))
		return;
	i = (uint32_t)c->v.n - 1;
	hashindex_put(&c->calls, hash, i);
	uint32_t first = first_of(c, one->callee);
	if (first == HASHINDEX_NONE) {
		c->v.v[i].next = HASHINDEX_NONE;
		hashindex_put(&c->by_callee, hash_u64(one->callee), i);
		return;
	}
	c->v.v[i].next = c->v.v[first].next;
	c->v.v[first].next = i;
}

void interp_calls_add(struct interp_calls *c, uint32_t caller, uint32_t callee)
{
	add(c, &(struct interp_calls_one){ callee, caller, NO_LINE, 0 });
}

void interp_calls_add_first(struct interp_calls *c, const struct interp_base *base, uint32_t callee)
{
	if (base->at)
		add(c, &(struct interp_calls_one){ callee, base->outer_code, base->line, 0 });
}

bool interp_calls_get(const struct interp_calls *c, size_t i, struct interp_calls_call *ret)
{
	if (i >= c->v.n)
		return false;
	const struct interp_calls_one *one = &c->v.v[i];
	*ret = (struct interp_calls_call){
		one->caller, one->callee, one->line != NO_LINE, one->line,
	};
	return true;
}

/* ---- searches --------------------------------------------------------------------------- */

struct search {
	const struct interp_calls *c;
	const struct interp_calls_frames *frames;
	const struct interp_base *base;
	enum interp_entry entry;
	uint32_t n_steps, n_ways;
	bool is_cut;                    /* some ways have too many callers */
	struct { uint32_t callee; uint64_t distance; bool is_used; } dead[DEAD_ENDS];
	size_t n, n_ret;
	struct interp_link link[INTERP_CALLS_DEPTH], *ret;
};

static void note_way(struct search *s)
{
	s->n_ways++;
	s->n_ret = s->n;
	memcpy(s->ret, s->link, s->n * sizeof(*s->link));
}

/* May the activation begin with that function? */
static bool fits(const struct search *s, uint32_t first, uint64_t distance)
{
	uint32_t n_bytes;
	enum interp_frames_where w = s->frames->where(s->frames->ctx, first, &n_bytes);
	return !distance && (s->entry == INTERP_ENTRY_UNKNOWN ||
			     (s->entry == INTERP_ENTRY_FUNCTION) == (w == INTERP_FRAMES_STACKED));
}

static bool is_dead_end(const struct search *s, uint32_t callee, uint64_t distance)
{
	size_t slot = hash_pair(callee, distance) & (DEAD_ENDS - 1);
	return s->dead[slot].is_used && s->dead[slot].callee == callee &&
	       s->dead[slot].distance == distance;
}

static void note_dead_end(struct search *s, uint32_t callee, uint64_t distance)
{
	size_t slot = hash_pair(callee, distance) & (DEAD_ENDS - 1);
	s->dead[slot].is_used = true;
	s->dead[slot].callee = callee;
	s->dead[slot].distance = distance;
}

static void search(struct search *s, uint32_t callee, uint64_t distance);

/* All ways through a caller, if its frame fits. */
static void search_caller(struct search *s, uint32_t caller, uint64_t distance)
{
	uint32_t n_bytes;
	enum interp_frames_where w = s->frames->where(s->frames->ctx, caller, &n_bytes);
	n_bytes = w == INTERP_FRAMES_STACKED ? n_bytes : 0;
	if (w == INTERP_FRAMES_UNKNOWN || n_bytes > distance)
		return;
	if (s->n == INTERP_CALLS_DEPTH) {
		s->is_cut = true;
		return;
	}
	s->link[s->n++] = (struct interp_link){ .code = caller };
	search(s, caller, distance - n_bytes);
	s->n--;
}

/* All ways to callee, whose frame is at that distance. */
static void search(struct search *s, uint32_t callee, uint64_t distance)
{
	const struct interp_calls_one *one;
	uint32_t n_ways = s->n_ways;
	if (is_dead_end(s, callee, distance))
		return;
	for (uint32_t i = first_of(s->c, callee); i != HASHINDEX_NONE; i = one->next) {
		one = &s->c->v.v[i];
		if (++s->n_steps > STEPS_MAX)
			return;
		if (one->line == NO_LINE)
			search_caller(s, one->caller, distance);
		else if (one->caller == s->base->outer_code && one->line == s->base->line &&
			 fits(s, callee, distance))
			note_way(s);
	}
	/* where the depth has cut a way, it may be reached with fewer callers */
	if (s->n_ways == n_ways && !s->is_cut)
		note_dead_end(s, callee, distance);
}

enum interp_calls_found interp_calls_find(const struct interp_calls *c,
					  const struct interp_calls_frames *frames,
					  const struct interp_base *base, enum interp_entry entry,
					  uint32_t code, uint64_t distance,
					  struct interp_link ret[INTERP_CALLS_DEPTH],
					  size_t *ret_n)
{
	struct search s = { .c = c, .frames = frames, .base = base, .entry = entry, .ret = ret };
	if (base->at && frames->where)
		search(&s, code, distance);
	*ret_n = s.n_ret;
	if (s.n_ways > 1 || s.n_steps > STEPS_MAX)
		return INTERP_CALLS_SEVERAL;
	return s.n_ways ? INTERP_CALLS_ONE : INTERP_CALLS_NONE;
}
