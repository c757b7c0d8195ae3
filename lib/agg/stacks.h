#ifndef CPROF_AGG_STACKS_H
#define CPROF_AGG_STACKS_H

/*
 * Interned stacks as a tree that grows from the root frame: a stack is a node, its parent the
 * stack of its callers.  So stacks that share their outer part share its memory, and an
 * unchanged outer stack needs no new look-up.  Node 0 is the empty stack, its own parent.
 *
 * A node that stands right behind its parent is found there.  As a new stack's nodes are added in
 * one go, that is all but the first of them, and only others take a place in the hash table.
 */

#include "base/hashindex.h"

#include <stdbool.h>
#include <stdint.h>

struct budget;

#define STACKS_EMPTY 0u
#define STACKS_NONE UINT32_MAX

struct stack_node {
	uint32_t parent;         /* node of the callers */
	uint32_t frame : 31;     /* frames id */
	uint32_t has_hashed : 1; /* private: some of its callees are in the hash table */
};

struct stacks {
	struct budget *budget;
	struct stack_node *v;
	uint32_t n, cap;
	struct hashindex index;  /* of the nodes that are not next to their parent */
};

int stacks_init(struct stacks *s, struct budget *budget);
void stacks_done(struct stacks *s);

/* The node of `frame` called from `parent`; STACKS_NONE when it is new and the budget is out.
 * `always` charges beyond the budget. */
uint32_t stacks_add(struct stacks *s, uint32_t parent, uint32_t frame, bool always);

/* Looks up only; STACKS_NONE when there is no such node. */
uint32_t stacks_find(const struct stacks *s, uint32_t parent, uint32_t frame);

#endif
