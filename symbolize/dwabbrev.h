#ifndef CPROF_SYMBOLIZE_DWABBREV_H
#define CPROF_SYMBOLIZE_DWABBREV_H

/*
 * Abbreviation tables (DWARF 5, section 7.5.3): what attributes a kind of DIE has, with what the
 * walk wants to know worked out beforehand.
 */

#include "symbolize/dwform.h"

struct dwsections;

struct dwattr {
	uint16_t name, form;
	int16_t n_bytes;         /* or DWFORM_VARIABLE */
	bool is_code;            /* low_pc, high_pc, ranges, sibling */
	int64_t implicit;
};

/* What the walk does with a DIE. */
enum dwabbrev_kind {
	DWABBREV_OTHER,          /* nothing below it matters */
	DWABBREV_FUNCTION,       /* DW_TAG_subprogram that has code */
	DWABBREV_INLINED,        /* DW_TAG_inlined_subroutine that has code */
	DWABBREV_BLOCK,          /* a part of a function's body */
	DWABBREV_SCOPE,          /* a namespace or module */
};

struct dwabbrev {
	uint64_t code;
	uint16_t tag;
	uint8_t kind;            /* enum dwabbrev_kind */
	bool has_children;
	int16_t sibling_at;      /* where DW_AT_sibling (DW_FORM_ref4) is in the attributes; -1 */
	int32_t n_bytes;         /* of all attributes; -1: not the same for all DIEs */
	uint32_t first_attr, n_attrs;
};

struct dwabbrev_table {
	struct dwabbrev *abbrev; /* by code, ascending */
	struct dwattr *attr;
	size_t n_abbrevs, n_attrs;
	uint64_t off;            /* these two are what a table is found by */
	struct dwformat format;
	unsigned n_users;
	uint64_t last_use;
};

/* Tables by offset, the ones used last. */
#define DWABBREV_N_CACHED 16
struct dwabbrev_cache {
	struct dwabbrev_table v[DWABBREV_N_CACHED];
	uint64_t clock;
	uint64_t n_bytes_left;   /* to be parsed; then all tables count as damaged */
};

/* The table at off for units of that format; stays until dwabbrev_put.  NULL when it is
 * damaged, all of the cache is in use, or memory is out (which sets *out_of_memory). */
struct dwabbrev_table *dwabbrev_get(struct dwabbrev_cache *c, struct dwsections *s, uint64_t off,
				    const struct dwformat *f, bool *out_of_memory);
void dwabbrev_put(struct dwabbrev_table *t);
void dwabbrev_done(struct dwabbrev_cache *c);

const struct dwabbrev *dwabbrev_search(const struct dwabbrev_table *t, uint64_t code);

/* NULL when there is none. */
static inline const struct dwabbrev *dwabbrev_find(const struct dwabbrev_table *t, uint64_t code)
{
	/* compilers count from 1 */
	if (code - 1 < t->n_abbrevs && t->abbrev[code - 1].code == code)
		return &t->abbrev[code - 1];
	return dwabbrev_search(t, code);
}

#endif
