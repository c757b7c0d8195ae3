#ifndef CPROF_SYMBOLIZE_DWARF_DWRANGE_H
#define CPROF_SYMBOLIZE_DWARF_DWRANGE_H

/*
 * Addresses of a DIE: DW_AT_low_pc with DW_AT_high_pc, or a list (DWARF 5, sections 2.17 and 7.25;
 * DWARF 4, section 2.17.3).
 */

#include "symbolize/dwarf/dwsection.h"
#include "symbolize/dwarf/dwunit.h"

/* The attributes; form 0 if absent. */
struct dwcode {
	struct dwvalue low, high, ranges;
};

struct dwrange {
	const struct dwunit *u;
	bool is_pair;            /* start and end are the only range */
	uint64_t start, end;
	uint64_t base;           /* added to the list's offsets */
	struct dwsections *from; /* sections with the list */
	enum dwsection_id id;
	uint64_t off;
	struct bytes b;          /* the part at off that was read, less what was consumed */
	const uint8_t *b_start;
};

/* Is it a single range?  It may be empty. */
bool dwrange_pair(const struct dwunit *u, const struct dwcode *code, uint64_t *ret_start,
		  uint64_t *ret_end);

void dwrange_init(struct dwrange *r, const struct dwunit *u, const struct dwcode *code);

/* The next range that is not empty and does not start at 0 (code that the linker dropped: no
 * program has code there).  False at the end. */
bool dwrange_next(struct dwrange *r, uint64_t *ret_start, uint64_t *ret_end);

#endif
