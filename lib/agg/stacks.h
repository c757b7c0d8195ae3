#ifndef CPROF_AGG_STACKS_H
#define CPROF_AGG_STACKS_H

/*
 * Interned stacks: a tree whose root is the empty stack.  A stack is a node, and its parent is the
 * stack of its callers, so stacks with the same outer frames share them, and an unchanged outer
 * part needs no new look-up.  Node 0 is the empty stack, which is its own parent.
 *
 * The nodes of a new stack are added in one go, so all but the first directly follow their parents,
 * where a look-up finds them.  Only the other nodes need an entry in the hash index.
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
	uint32_t has_hashed : 1; /* private: some of its callees are in the index */
};

struct stacks {
	struct budget *budget;
	struct stack_node *v;
	uint32_t n, cap;
	struct hashindex index;  /* of nodes that do not directly follow their parent */
};

int stacks_init(struct stacks *s, struct budget *budget);
void stacks_done(struct stacks *s);

/* The node of `frame` called from `parent`.  STACKS_NONE when it is new and memory is out or the
 * budget refuses; `always` charges beyond the budget. */
uint32_t stacks_add(struct stacks *s, uint32_t parent, uint32_t frame, bool always);

/* The same for a node that stacks_find has not found. */
uint32_t stacks_append(struct stacks *s, uint32_t parent, uint32_t frame, bool always);

/* Looks up without adding; STACKS_NONE if there is no such node. */
uint32_t stacks_find(const struct stacks *s, uint32_t parent, uint32_t frame);

#endif
