#ifndef CPROF_PROTO_PPROF_TABLES_H
#define CPROF_PROTO_PPROF_TABLES_H

/*
 * The functions, locations and strings of a profile as arrays that refer to each other by index,
 * for readers of many profiles.  Strings stay in the uncompressed bytes, and their hashes are
 * computed once.
 */

#include "base/strtab.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

#define PPROF_NO_INDEX UINT32_MAX

/* name, system_name and filename: indices of strings. */
struct pprof_function_row { int64_t start_line; uint32_t name, system_name, filename; };

/* function: index, or PPROF_NO_INDEX. */
struct pprof_line_row { int64_t line, column; uint32_t function; };

/* mapping: index, or PPROF_NO_INDEX; innermost inlined function first. */
struct pprof_location_row {
	uint64_t address;
	uint32_t mapping, first_line, n_lines;
	bool is_folded;
};

struct pprof_tables {
	struct strtab_text *text;                /* head->n_strings of them; 0 is "" */
	struct pprof_function_row *function;     /* head->n_functions */
	struct pprof_location_row *location;     /* head->n_locations */
	VEC(struct pprof_line_row) lines;
	uint64_t *function_id, *location_id;
};

#endif
