#ifndef CPROF_SYMBOLIZE_DWARF_DWUNIT_H
#define CPROF_SYMBOLIZE_DWARF_DWUNIT_H

/*
 * Units of .debug_info: header and first DIE (DWARF 5, sections 7.5.1 and 3.1.1), and what the
 * values of their DIEs mean: addresses, strings and references go through bases that the
 * first DIE gives (section 7.5.6).
 */

#include "symbolize/dwarf/dwabbrev.h"

struct dwfile;

struct dwunit {
	struct dwfile *file;
	uint64_t off, root_off, end; /* in .debug_info: header, first DIE, end */
	uint64_t abbrev_off;
	struct dwformat format;
	uint8_t type;                /* DW_UT_compile if the header has none */
	bool is_split;               /* its functions are in another file */
	uint16_t language;
	struct dwabbrev_table *table;
	uint64_t str_offsets_base, addr_base, rnglists_base;
	uint64_t ranges_base;        /* of a split unit's DW_AT_ranges in DWARF 4 */
	uint64_t id;                 /* what a split unit and its other half have in common */
	struct dwfile *base_file;    /* that has .debug_addr and .debug_ranges */
	uint64_t low_pc;             /* what its range lists count from */
	struct dwvalue low, high, ranges; /* of its code */
	struct dwvalue lines;        /* where its line program is */
	struct dwvalue comp_dir, dwo_name; /* a text is a copy */
};

/* The unit whose header is at off.  False when it is damaged or memory is out; otherwise
 * dwunit_close is owed. */
bool dwunit_open(struct dwfile *file, uint64_t off, struct dwunit *ret);
void dwunit_close(struct dwunit *u);

/* What was split off skeleton: the unit at off in file.  Strings, ranges and abbreviations count
 * from these places of a .dwp file (DWARF 5, section 7.3.5.3); all 0 in others. */
struct dwunit_parts {
	uint64_t abbrev, str_offsets, rnglists;
};
bool dwunit_open_split(struct dwfile *file, uint64_t off, const struct dwunit_parts *parts,
		       const struct dwunit *skeleton, struct dwunit *ret);

/* Only the header; ret->table stays NULL. */
bool dwunit_header(struct dwfile *file, uint64_t off, struct dwunit *ret);

/* Is it a unit that has code? */
bool dwunit_is_compile(const struct dwunit *u);

/* The unit that holds the DIE at off, borrowed until a few more were asked for; NULL. */
struct dwunit *dwunit_holding(struct dwfile *file, uint64_t off);

/* From off, which must lie between the first DIE and the end (else bad), to the end; held until
 * the next unit is. */
struct bytes dwunit_hold(const struct dwunit *u, uint64_t off);

/* The same, but only n bytes, and as long as what dwsection_look lends. */
struct bytes dwunit_look(const struct dwunit *u, uint64_t off, uint64_t n_bytes);

/* A DIE is read with so many bytes at first, and again with the whole rest of its unit if
 * those were not enough. */
#define DWUNIT_DIE_BYTES 1024

bool dwunit_addr(const struct dwunit *u, const struct dwvalue *v, uint64_t *ret_vaddr);

/* Borrowed as from dwsection_look; NULL when there is none. */
const char *dwunit_string(const struct dwunit *u, const struct dwvalue *v);

/* Where in which .debug_str it is; false for those that are not there. */
bool dwunit_string_place(const struct dwunit *u, const struct dwvalue *v,
			 struct dwsections **ret_from, uint64_t *ret_off);

/* As dwfile_copy of that. */
const char *dwunit_copy_string(const struct dwunit *u, const struct dwvalue *v);

/* The DIE that v refers to, as an offset in the .debug_info of a file. */
bool dwunit_reference(const struct dwunit *u, const struct dwvalue *v, struct dwfile **ret_file,
		      uint64_t *ret_off);

#endif
