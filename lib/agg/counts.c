/*
 * Entries stay where they were added, and a hash table has their places.  The entry of a sample is
 * mostly not in a cache of the CPU: so a caller that knows soon which one it will be can load it in
 * advance, or remember its place.
 */

#include "agg/counts.h"

#include "base/budget.h"
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

static inline uint64_t hash_of(uint32_t event, uint32_t stack, uint32_t labels)
{
	return hash_u64(((uint64_t)labels << 32 | stack) ^ event * UINT64_C(0x9e3779b97f4a7c15));
}

static bool grow(struct counts *c, bool always)
{
	return budget_grow_array(c->budget, (void **)&c->v, &c->cap, c->n, 1, sizeof(*c->v),
				 always) &&
	       hashindex_reserve(&c->index, always);
}

int counts_init(struct counts *c, struct budget *budget)
{
	*c = (struct counts){ .budget = budget, .index.budget = budget };
	if (grow(c, true))
		return 0;
	counts_done(c);
	return -ENOMEM;
}

void counts_done(struct counts *c)
{
	if (c->budget)
		budget_release(c->budget, c->cap * sizeof(*c->v));
	free(c->v);
	hashindex_done(&c->index);
	*c = (struct counts){ 0 };
}

static inline uint64_t saturating_sum(uint64_t a, uint64_t b)
{
	uint64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline bool is_of(const struct count *x, uint32_t event, uint32_t stack, uint32_t labels)
{
	return x->stack == stack && x->labels == labels && x->event == event;
}

static struct count *find(const struct counts *c, uint64_t hash, uint32_t event, uint32_t stack,
			  uint32_t labels)
{
	uint32_t id = HASHINDEX_FIND(&c->index, hash, i, is_of(&c->v[i], event, stack, labels));
	return id != HASHINDEX_NONE ? &c->v[id] : NULL;
}

static inline void add_to(struct count *x, uint64_t n_samples, uint64_t value)
{
	x->n_samples = saturating_sum(x->n_samples, n_samples);
	x->value = saturating_sum(x->value, value);
}

void counts_prefetch(const struct counts *c, uint32_t event, uint32_t stack, uint32_t labels)
{
	hashindex_prefetch(&c->index, hash_of(event, stack, labels));
}

bool counts_add_near(struct counts *c, uint32_t event, uint32_t stack, uint32_t labels,
		     uint64_t n_samples, uint64_t value, bool always, uint32_t *place)
{
	if (*place < c->n && is_of(&c->v[*place], event, stack, labels)) {
		add_to(&c->v[*place], n_samples, value);
		return true;
	}
	uint64_t hash = hash_of(event, stack, labels);
	struct count *have = find(c, hash, event, stack, labels);
	if (have) {
		*place = (uint32_t)(have - c->v);
		add_to(have, n_samples, value);
		return true;
	}
	if (!grow(c, always))
		return false;
	uint32_t id = *place = c->n++;
	c->v[id] = (struct count){ .stack = stack, .labels = labels, .event = event,
				   .n_samples = n_samples, .value = value };
	hashindex_put(&c->index, hash, id);
	return true;
}

bool counts_add(struct counts *c, uint32_t event, uint32_t stack, uint32_t labels,
		uint64_t n_samples, uint64_t value, bool always)
{
	uint32_t place = UINT32_MAX;
	return counts_add_near(c, event, stack, labels, n_samples, value, always, &place);
}

uint32_t counts_find(const struct counts *c, uint32_t event, uint32_t stack, uint32_t labels)
{
	const struct count *have = find(c, hash_of(event, stack, labels), event, stack, labels);
	return have ? (uint32_t)(have - c->v) : UINT32_MAX;
}

bool counts_take(struct counts *c, uint32_t event, uint32_t stack, uint32_t labels,
		 uint64_t n_samples, uint64_t value)
{
	struct count *have = find(c, hash_of(event, stack, labels), event, stack, labels);
	if (!have || have->n_samples < n_samples || have->value < value ||
	    have->value == UINT64_MAX)
		return false;
	have->n_samples -= n_samples;
	have->value -= value;
	return true;
}
