#include "agg/stacks.h"

#include "agg/slots.h"
#include "base/budget.h"
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

/* What an id has no bits for; the empty stack's. */
#define NO_FRAME 0x7fffffffu

static inline uint64_t hash_of(uint32_t parent, uint32_t frame)
{
	return hash_u64((uint64_t)parent << 32 | frame);
}

static inline bool is_behind_parent(const struct stacks *s, uint32_t id)
{
	return s->v[id].parent + 1 == id;
}

/* Nor does a look-up lead to the empty stack. */
static bool hash_item(const void *table, uint32_t id, uint64_t *ret_hash)
{
	const struct stacks *s = table;
	if (id == STACKS_EMPTY || is_behind_parent(s, id))
		return false;
	*ret_hash = hash_of(s->v[id].parent, s->v[id].frame);
	return true;
}

static bool grow_array(struct stacks *s, bool always)
{
	return slots_grow_array(s->budget, (void **)&s->v, &s->cap, s->n, 1, sizeof(*s->v),
				always);
}

static bool grow_slots(struct stacks *s, bool always)
{
	return slots_grow(s->budget, &s->slot, &s->n_slots, s->n_hashed, s->n, hash_item, s,
			  always);
}

int stacks_init(struct stacks *s, struct budget *budget)
{
	*s = (struct stacks){ .budget = budget };
	if (!grow_array(s, true) || !grow_slots(s, true)) {
		stacks_done(s);
		return -ENOMEM;
	}
	s->v[s->n++] = (struct stack_node){ .parent = STACKS_EMPTY, .frame = NO_FRAME };
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

static uint32_t find_hashed(const struct stacks *s, uint64_t hash, uint32_t parent, uint32_t frame)
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
	uint32_t next = parent + 1;
	if (next < s->n && s->v[next].parent == parent && s->v[next].frame == frame)
		return next;
	if (!s->v[parent].has_hashed)
		return STACKS_NONE;
	return find_hashed(s, hash_of(parent, frame), parent, frame);
}

uint32_t stacks_add(struct stacks *s, uint32_t parent, uint32_t frame, bool always)
{
	uint32_t id = stacks_find(s, parent, frame);
	if (id != STACKS_NONE)
		return id;
	id = s->n;
	bool is_hashed = id != parent + 1;
	if (!grow_array(s, always) || (is_hashed && !grow_slots(s, always)))
		return STACKS_NONE;
	s->v[s->n++] = (struct stack_node){ .parent = parent, .frame = frame };
	if (is_hashed) {
		s->v[parent].has_hashed = 1;
		s->n_hashed++;
		slots_place(s->slot, s->n_slots, hash_of(parent, frame), id);
	}
	return id;
}
