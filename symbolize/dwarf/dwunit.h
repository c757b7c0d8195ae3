#ifndef CPROF_SYMBOLIZE_DWARF_DWUNIT_H
#define CPROF_SYMBOLIZE_DWARF_DWUNIT_H

/*
 * Units of .debug_info: the header and the first DIE (DWARF 5, sections 7.5.1 and 3.1.1), and the
 * meaning of their values: addresses, strings and references go through bases that the first DIE
 * gives (section 7.5.6).
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
	uint64_t ranges_base;        /* for a split unit's DW_AT_ranges in DWARF 4 */
	uint64_t id;                 /* common to a split unit and its skeleton */
	struct dwfile *base_file;    /* the file with .debug_addr and .debug_ranges */
	uint64_t low_pc;             /* the base of its range lists */
	struct dwvalue low, high, ranges; /* of its code */
	struct dwvalue lines;        /* where its line program is */
	struct dwvalue comp_dir, dwo_name; /* a text is a copy */
};

/* The unit with its header at off.  False: damaged, or out of memory; true requires
 * dwunit_close. */
bool dwunit_open(struct dwfile *file, uint64_t off, struct dwunit *ret);
void dwunit_close(struct dwunit *u);

/* The split unit at off in file, of the skeleton.  parts are the offsets of its strings, ranges and
 * abbreviations in a .dwp file (DWARF 5, section 7.3.5.3); all 0 in other files. */
struct dwunit_parts {
	uint64_t abbrev, str_offsets, rnglists;
};
bool dwunit_open_split(struct dwfile *file, uint64_t off, const struct dwunit_parts *parts,
		       const struct dwunit *skeleton, struct dwunit *ret);

/* Only the header; ret->table stays NULL. */
bool dwunit_header(struct dwfile *file, uint64_t off, struct dwunit *ret);

/* Is it a unit with code? */
bool dwunit_is_compile(const struct dwunit *u);

/* The unit that has the DIE at off, or NULL.  Borrowed until a few other units were requested. */
struct dwunit *dwunit_holding(struct dwfile *file, uint64_t off);

/* The bytes from off, which must be between the first DIE and the end (else bad), to the end.  Held
 * until the next unit is. */
struct bytes dwunit_hold(const struct dwunit *u, uint64_t off);

/* The same for n bytes, valid as long as bytes from dwsection_look. */
struct bytes dwunit_look(const struct dwunit *u, uint64_t off, uint64_t n_bytes);

/* The first read of a DIE; if that is not enough, the rest of the unit is read. */
#define DWUNIT_DIE_BYTES 1024

bool dwunit_addr(const struct dwunit *u, const struct dwvalue *v, uint64_t *ret_vaddr);

/* Borrowed as from dwsection_look; NULL if there is none. */
const char *dwunit_string(const struct dwunit *u, const struct dwvalue *v);

/* The .debug_str section and the offset of the string; false if it is elsewhere. */
bool dwunit_string_place(const struct dwunit *u, const struct dwvalue *v,
			 struct dwsections **ret_from, uint64_t *ret_off);

/* A copy as from dwfile_copy. */
const char *dwunit_copy_string(const struct dwunit *u, const struct dwvalue *v);

/* The DIE that v refers to, as an offset in the .debug_info of a file. */
bool dwunit_reference(const struct dwunit *u, const struct dwvalue *v, struct dwfile **ret_file,
		      uint64_t *ret_off);

#endif
