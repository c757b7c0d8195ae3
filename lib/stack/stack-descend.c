#include "stack/stack-descend.h"

#include "base/budget.h"

/* Beyond this share of the memory budget, new stacks keep only their outer frames. */
#define SHORTEN_NUM 7
#define SHORTEN_DEN 8
#define SHORTEN_DEPTH 16u

static bool must_shorten(const struct stack_walk *w)
{
	const struct budget *b = w->budget;
	return b->limit_bytes && b->used_bytes > b->limit_bytes / SHORTEN_DEN * SHORTEN_NUM;
}

uint32_t stack_descend_new(struct stack_walk *w, uint32_t depth, uint32_t frame, uint32_t node)
{
	if (depth >= SHORTEN_DEPTH && must_shorten(w))
		return STACKS_NONE;
	return stacks_append(w->stacks, node, frame, false);
}

uint32_t stack_descend_shortened(struct stack_walk *w, uint32_t node)
{
	uint32_t leaf = node == STACKS_EMPTY ? STACKS_NONE
					     : stacks_add(w->stacks, node, w->shortened, false);
	if (leaf != STACKS_NONE) {
		w->stats.n_shortened++;
		return leaf;
	}
	w->stats.n_dropped++;
	return stack_walk_pseudo(w, w->dropped);
}
