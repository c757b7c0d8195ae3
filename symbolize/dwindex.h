#ifndef CPROF_SYMBOLIZE_DWINDEX_H
#define CPROF_SYMBOLIZE_DWINDEX_H

/*
 * Which unit covers an address: by .debug_aranges (DWARF 5, section 6.1.2), and by the ranges of
 * the first DIE for units that it leaves out (clang and rustc write none).
 */

#include "symbolize/dwunit.h"

#define DWINDEX_NO_UNIT UINT64_MAX

struct dwindex_place {
	uint64_t unit;           /* out: offset of its header, or DWINDEX_NO_UNIT */
	uint64_t vaddr;
	uint32_t index;          /* the caller's */
};

/* Finds the units of n places, sorted by vaddr. */
void dwindex_find(struct dwfile *file, struct dwindex_place *place, size_t n);

#endif
