#include "agg/stacks.h"

#include "agg/slots.h"
#include "base/budget.h"
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

/* The empty stack, node 0, stands in the array only: no look-up leads to it. */
#define FIRST_FOUND 1u

static inline uint64_t hash_of(uint32_t parent, uint32_t frame)
{
	return hash_u64((uint64_t)parent << 32 | frame);
}

static uint64_t hash_item(const void *table, uint32_t id)
{
	const struct stack_node *v = ((const struct stacks *)table)->v;
	return hash_of(v[id].parent, v[id].frame);
}

static bool grow(struct stacks *s, bool always)
{
	return slots_grow_array(s->budget, (void **)&s->v, &s->cap, s->n, 1, sizeof(*s->v),
				always) &&
	       slots_grow(s->budget, &s->slot, &s->n_slots, FIRST_FOUND, s->n, hash_item, s,
			  always);
}

int stacks_init(struct stacks *s, struct budget *budget)
{
	*s = (struct stacks){ .budget = budget };
	if (!grow(s, true)) {
		stacks_done(s);
		return -ENOMEM;
	}
	s->v[s->n++] = (struct stack_node){ .parent = STACKS_EMPTY, .frame = UINT32_MAX };
	return 0;
}

void stacks_done(struct stacks *s)
{
	if (s->budget)
		budget_release(s->budget,
			       s->cap * sizeof(*s->v) + s->n_slots * sizeof(*s->slot));
	free(s->v);
	free(s->slot);
	*s = (struct stacks){ 0 };
}

static inline uint32_t find(const struct stacks *s, uint64_t hash, uint32_t parent, uint32_t frame)
{
	uint32_t i = (uint32_t)hash & (s->n_slots - 1);
	for (; s->slot[i]; i = (i + 1) & (s->n_slots - 1)) {
		const struct stack_node *have = &s->v[s->slot[i] - 1];
		if (have->frame == frame && have->parent == parent)
			return s->slot[i] - 1;
	}
	return STACKS_NONE;
}

uint32_t stacks_find(const struct stacks *s, uint32_t parent, uint32_t frame)
{
	return find(s, hash_of(parent, frame), parent, frame);
}

uint32_t stacks_add(struct stacks *s, uint32_t parent, uint32_t frame, bool always)
{
	uint64_t hash = hash_of(parent, frame);
	uint32_t id = find(s, hash, parent, frame);
	if (id != STACKS_NONE)
		return id;
	if (!grow(s, always))
		return STACKS_NONE;
	id = s->n++;
	s->v[id] = (struct stack_node){ .parent = parent, .frame = frame };
	slots_place(s->slot, s->n_slots, hash, id);
	return id;
}
