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

static struct count *find(const struct counts *c, uint64_t hash, uint32_t event, uint32_t stack,
			  uint32_t labels)
{
	uint32_t id = HASHINDEX_FIND(&c->index, hash, i, c->v[i].stack == stack &&
				     c->v[i].labels == labels && c->v[i].event == event);
	return id != HASHINDEX_NONE ? &c->v[id] : NULL;
}

bool counts_add(struct counts *c, uint32_t event, uint32_t stack, uint32_t labels,
		uint64_t n_samples, uint64_t value, bool always)
{
	uint64_t hash = hash_of(event, stack, labels);
	struct count *have = find(c, hash, event, stack, labels);
	if (have) {
		have->n_samples = saturating_sum(have->n_samples, n_samples);
		have->value = saturating_sum(have->value, value);
		return true;
	}
	if (!grow(c, always))
		return false;
	uint32_t id = c->n++;
	c->v[id] = (struct count){ .stack = stack, .labels = labels, .event = event,
				   .n_samples = n_samples, .value = value };
	hashindex_put(&c->index, hash, id);
	return true;
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
