#ifndef CPROF_SYMBOLIZE_DWARF_DWNAME_H
#define CPROF_SYMBOLIZE_DWARF_DWNAME_H

/*
 * The names of a function, even if only its declaration or its abstract instance has them
 * (DW_AT_specification, DW_AT_abstract_origin: DWARF 5, sections 2.13.2 and 3.3.8.1).
 */

#include "symbolize/dwarf/dwunit.h"

/* 0: unknown. */
struct dwname {
	uint32_t name, linkage;  /* for dwtext_get */
	uint32_t start_line;
};

/* The place where a function was inlined. */
struct dwcall {
	bool has_file;
	uint64_t file;
	uint32_t line, column;
};

/* Names of the DIE at off of u. */
void dwname_read(const struct dwunit *u, uint64_t off, struct dwname *ret, struct dwcall *ret_call);

/* For dwfile_done. */
void dwname_done(struct dwfile *file);

#endif
