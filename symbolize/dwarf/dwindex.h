#ifndef CPROF_SYMBOLIZE_DWARF_DWINDEX_H
#define CPROF_SYMBOLIZE_DWARF_DWINDEX_H

/*
 * The unit that covers an address, by .debug_aranges (DWARF 5, section 6.1.2), or, for units
 * without an entry there (clang and rustc write none), by the ranges of the first DIE.
 */

#include "symbolize/dwarf/dwunit.h"

#define DWINDEX_NO_UNIT UINT64_MAX

struct dwindex_place {
	uint64_t unit;           /* out: offset of its header, or DWINDEX_NO_UNIT */
	uint64_t vaddr;
	uint32_t index;          /* the caller's */
};

struct dwindex {
	struct dwfile *file;
	struct dwindex_place *place; /* places without a unit so far, by vaddr */
	size_t n, n_left;
	VEC(uint64_t) listed;    /* private: units in .debug_aranges */
	uint8_t *near;           /* private: of each place */
	uint64_t next;           /* private: the next unit to examine */
	struct dwindex_place *taken; /* private: the places that it covers */
	size_t n_taken;
};

/* Finds the units of n places, sorted by vaddr, with .debug_aranges, and sorts the places by unit
 * and vaddr.  Requires dwindex_done. */
void dwindex_find(struct dwindex *x, struct dwfile *file, struct dwindex_place *place, size_t n);
void dwindex_done(struct dwindex *x);

/* Continues with the next unit before `end` (an offset) that .debug_aranges omits and that
 * covers places without a unit.  Copies these to ret, by vaddr, and returns their number; 0: no
 * such unit. */
size_t dwindex_next(struct dwindex *x, uint64_t end, struct dwindex_place *ret);

#endif
