#ifndef CPROF_SYMBOLIZE_DWARF_DWLINE_H
#define CPROF_SYMBOLIZE_DWARF_DWLINE_H

/*
 * Line number programs of DWARF 2 to 5 (DWARF 5, section 6.2), run once for all addresses of a
 * unit, without keeping rows.
 */

#include "base/vec.h"
#include "symbolize/dwarf/dwunit.h"

/* An address and the row that covers it. */
struct dwline_row {
	uint64_t vaddr;          /* in */
	uint64_t file;           /* out, like the rest */
	uint32_t line, column;
	bool found;
};

struct dwline_file {
	struct dwvalue name;     /* as in the section */
	uint64_t dir;            /* index */
	const char *path;        /* built from both */
	bool has_path;
};

struct dwline {
	const struct dwunit *u;
	uint16_t version;
	VEC(struct dwvalue) dirs;
	VEC(struct dwline_file) files;
	struct bytes program;        /* held, like the strings of the header */
	uint8_t min_insn_bytes, max_ops, line_range, opcode_base;
	int8_t line_base;
	uint8_t n_operands[256]; /* of standard opcodes */
	uint8_t n_ops[256];      /* address advance of special opcodes, since division is slow */
	int16_t n_lines[256];
};

/* Reads the header of u's program.  False if there is none, or it is damaged; true requires
 * dwline_close. */
bool dwline_open(struct dwline *l, const struct dwunit *u);
void dwline_close(struct dwline *l);

/* Runs the program for n rows, sorted by vaddr. */
void dwline_run(struct dwline *l, struct dwline_row *row, size_t n);

/* The path of a file by its number in the header (from 0 in DWARF 5, from 1 before), with its
 * folder.  A relative path is relative to DW_AT_comp_dir.  Lives as long as the dwfile; NULL if
 * unknown. */
const char *dwline_path(struct dwline *l, uint64_t file);

#endif
