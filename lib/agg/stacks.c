#include "agg/stacks.h"

#include "base/budget.h"
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

/* The frame of the empty stack: the largest number that fits, and no frame id. */
#define NO_FRAME 0x7fffffffu

static inline uint64_t hash_of(uint32_t parent, uint32_t frame)
{
	return hash_u64((uint64_t)parent << 32 | frame);
}

static bool grow_array(struct stacks *s, bool always)
{
	return budget_grow_array(s->budget, (void **)&s->v, &s->cap, s->n, 1, sizeof(*s->v),
				 always);
}

int stacks_init(struct stacks *s, struct budget *budget)
{
	*s = (struct stacks){ .budget = budget, .index.budget = budget };
	if (!grow_array(s, true) || !hashindex_reserve(&s->index, true)) {
		stacks_done(s);
		return -ENOMEM;
	}
	s->v[s->n++] = (struct stack_node){ .parent = STACKS_EMPTY, .frame = NO_FRAME };
	return 0;
}

void stacks_done(struct stacks *s)
{
	if (s->budget)
		budget_release(s->budget, s->cap * sizeof(*s->v));
	free(s->v);
	hashindex_done(&s->index);
	*s = (struct stacks){ 0 };
}

uint32_t stacks_find(const struct stacks *s, uint32_t parent, uint32_t frame)
{
	uint32_t next = parent + 1;
	if (next < s->n && s->v[next].parent == parent && s->v[next].frame == frame)
		return next;
	if (!s->v[parent].has_hashed)
		return STACKS_NONE;
	return HASHINDEX_FIND(&s->index, hash_of(parent, frame), id,
			      s->v[id].frame == frame && s->v[id].parent == parent);
}

uint32_t stacks_add(struct stacks *s, uint32_t parent, uint32_t frame, bool always)
{
	uint32_t id = stacks_find(s, parent, frame);
	return id != STACKS_NONE ? id : stacks_append(s, parent, frame, always);
}

uint32_t stacks_append(struct stacks *s, uint32_t parent, uint32_t frame, bool always)
{
	uint32_t id = s->n;
	bool is_hashed = id != parent + 1;
	if (!grow_array(s, always) || (is_hashed && !hashindex_reserve(&s->index, always)))
		return STACKS_NONE;
	s->v[s->n++] = (struct stack_node){ .parent = parent, .frame = frame };
	if (is_hashed) {
		s->v[parent].has_hashed = 1;
		hashindex_put(&s->index, hash_of(parent, frame), id);
	}
	return id;
}
