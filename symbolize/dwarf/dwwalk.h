#ifndef CPROF_SYMBOLIZE_DWARF_DWWALK_H
#define CPROF_SYMBOLIZE_DWARF_DWWALK_H

/*
 * One walk over the DIEs of a unit that finds the functions and inlined calls that cover a set of
 * addresses (DWARF 5, sections 3.3 and 3.3.8).
 */

#include "base/vec.h"
#include "symbolize/dwarf/dwunit.h"

#define DWWALK_NO_NODE (-1)

/* A function or an inlined call that covers one of the addresses; nodes form a tree. */
struct dwwalk_node {
	uint64_t off;            /* of the DIE, in .debug_info */
	int32_t parent;          /* DWWALK_NO_NODE: the function itself */
};

/* An address, and the innermost node for it. */
struct dwwalk_place {
	uint64_t vaddr;
	int32_t top;             /* DWWALK_NO_NODE: no function covers it */
	uint64_t before, behind; /* private: the end and start of the functions next to it */
};

struct dwwalk {
	const struct dwunit *u;
	struct dwwalk_place *place; /* sorted by vaddr */
	size_t n;
	VEC(struct dwwalk_node) nodes;
};

/* Sets the top of each place of w; the caller has filled in everything but the nodes (all zero).
 * Damaged parts find less.  The caller frees the nodes. */
void dwwalk_run(struct dwwalk *w);

#endif
