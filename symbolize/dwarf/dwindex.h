#ifndef CPROF_SYMBOLIZE_DWARF_DWINDEX_H
#define CPROF_SYMBOLIZE_DWARF_DWINDEX_H

/*
 * Which unit covers an address: by .debug_aranges (DWARF 5, section 6.1.2), and by the ranges of
 * the first DIE for units that it leaves out (clang and rustc write none).
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
	struct dwindex_place *place; /* those that are looked for, by vaddr */
	size_t n, n_left;
	VEC(uint64_t) listed;    /* private: units in .debug_aranges */
	uint8_t *near;           /* private: of each place */
	uint64_t next;           /* private: the unit to be looked at next */
	struct dwindex_place *taken; /* private: what it covers */
	size_t n_taken;
};

/* Finds the units of n places, sorted by vaddr, that .debug_aranges tells; then they are sorted by
 * unit and vaddr.  dwindex_done is owed. */
void dwindex_find(struct dwindex *x, struct dwfile *file, struct dwindex_place *place, size_t n);
void dwindex_done(struct dwindex *x);

/* Goes on to the next unit before `end` (an offset) that .debug_aranges leaves out and that covers
 * places not found yet: copies them to ret, by vaddr, and returns how many; 0: there is none. */
size_t dwindex_next(struct dwindex *x, uint64_t end, struct dwindex_place *ret);

#endif
