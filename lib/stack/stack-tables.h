#ifndef CPROF_STACK_STACK_TABLES_H
#define CPROF_STACK_STACK_TABLES_H

/*
 * The tables of a struct stack_walk are in one piece of memory, with the rules that the unwinder
 * has cached.  Short recordings use few pages of them, and others gain from huge ones.
 */

#include "stack/stack-walk.h"

/* The stack that is a frame only, for events without call graphs. */
struct stack_walk_alone {
	uint32_t frame, node;  /* node STACKS_EMPTY: not known yet */
};

#define STACK_TABLES_ALONE 4096u

/* Makes zeroed tables; *ret_rules has room for unwind_cache_bytes(0).  False: no memory. */
bool stack_tables_new(struct stack_walk *w, void **ret_rules);
void stack_tables_free(struct stack_walk *w);

/* Forgets frames and stacks. */
void stack_tables_clear(struct stack_walk *w);

/* To be called for each sample by CFI: after many of them, the tables get huge pages. */
void stack_tables_join(struct stack_walk *w);

#endif
