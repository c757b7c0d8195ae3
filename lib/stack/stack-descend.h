#ifndef CPROF_STACK_STACK_DESCEND_H
#define CPROF_STACK_STACK_DESCEND_H

/* Steps through the tree of stacks, from callers to callees, while there is memory. */

#include "agg/frames.h"
#include "agg/stacks.h"
#include "stack/stack-walk.h"

/* Appends a node for `frame` to `node`; STACKS_NONE: no memory. */
uint32_t stack_descend_new(struct stack_walk *w, uint32_t depth, uint32_t frame, uint32_t node);

/* Moves *node to the node of `frame` called from it, at a depth from 0; false: no memory. */
static inline bool stack_descend(struct stack_walk *w, uint32_t depth, uint32_t frame,
				 uint32_t *node)
{
	if (frame == FRAMES_NONE)
		return false;
	uint32_t next = stacks_find(w->stacks, *node, frame);
	if (next == STACKS_NONE)
		next = stack_descend_new(w, depth, frame, *node);
	if (next == STACKS_NONE)
		return false;
	*node = next;
	return true;
}

/* A stack for which there is no memory: its outer part, or a single pseudo frame. */
uint32_t stack_descend_shortened(struct stack_walk *w, uint32_t node);

#endif
