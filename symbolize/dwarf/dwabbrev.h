#ifndef CPROF_SYMBOLIZE_DWARF_DWABBREV_H
#define CPROF_SYMBOLIZE_DWARF_DWABBREV_H

/*
 * Abbreviation tables (DWARF 5, section 7.5.3): the attributes of a kind of DIE, with all that the
 * walk needs worked out in advance.
 */

#include "base/vec.h"
#include "symbolize/dwarf/dwform.h"

struct dwsections;

struct dwattr {
	uint16_t name, form;
	int16_t n_bytes;         /* or DWFORM_VARIABLE */
	int64_t implicit;
};

/* How to skip the attributes of a DIE: n_bytes without interest, then one of these, up to the first
 * DWSTEP_END. */
enum dwstep_kind {
	DWSTEP_END,
	DWSTEP_ULEB,             /* a number of variable length */
	DWSTEP_STRING,
	DWSTEP_BLOCK,            /* preceded by its length as such a number */
	DWSTEP_OTHER,            /* attribute `attr`: another one without a fixed size */
	DWSTEP_WANTED,           /* attribute `attr`: the sibling; for functions also their code */
};

struct dwstep {
	uint16_t n_bytes;
	uint8_t kind;            /* enum dwstep_kind */
	uint8_t attr;            /* index, relative to the abbreviation's first one */
};

/* What the walk does with a DIE. */
enum dwabbrev_kind {
	DWABBREV_OTHER,          /* can be ignored with all its children */
	DWABBREV_FUNCTION,       /* DW_TAG_subprogram that has code */
	DWABBREV_INLINED,        /* DW_TAG_inlined_subroutine that has code */
	DWABBREV_BLOCK,          /* a part of a function's body */
	DWABBREV_SCOPE,          /* a namespace or module */
	DWABBREV_NEST,           /* a class, or a function without code: may contain functions */
};

struct dwabbrev {
	uint64_t code;
	uint8_t kind;            /* enum dwabbrev_kind */
	bool has_children;
	uint16_t n_attrs;
	int16_t n_bytes;         /* of all attributes; -1: differs between DIEs */
	int16_t sibling_at;      /* offset of DW_AT_sibling (DW_FORM_ref4) in the attributes; -1 */
	uint32_t first_attr, first_step;
};

/* Are all wanted attributes of such a DIE at fixed offsets?  Others have steps. */
static inline bool dwabbrev_is_fixed(const struct dwabbrev *a)
{
	return a->n_bytes >= 0 && (!a->has_children || a->sibling_at >= 0) &&
	       a->kind != DWABBREV_FUNCTION && a->kind != DWABBREV_INLINED;
}

struct dwabbrev_table {
	VEC(struct dwabbrev) abbrevs; /* by code, ascending */
	VEC(struct dwattr) attrs;
	VEC(struct dwstep) steps;
	uint64_t off;            /* off and format identify a table */
	struct dwformat format;
	unsigned n_users;
	uint64_t last_use;
};

/* The most recently used tables, by offset. */
#define DWABBREV_N_CACHED 16
struct dwabbrev_cache {
	struct dwabbrev_table v[DWABBREV_N_CACHED];
	uint64_t clock;
	uint64_t n_bytes_left;   /* budget; when it is used up, tables count as damaged */
};

/* The table at off for units of that format, valid until dwabbrev_put.  NULL if it is damaged, if
 * the whole cache is in use, or if out of memory (sets *out_of_memory). */
struct dwabbrev_table *dwabbrev_get(struct dwabbrev_cache *c, struct dwsections *s, uint64_t off,
				    const struct dwformat *f, bool *out_of_memory);
void dwabbrev_put(struct dwabbrev_table *t);
void dwabbrev_done(struct dwabbrev_cache *c);

static inline const struct dwattr *dwabbrev_attr(const struct dwabbrev_table *t,
						 const struct dwabbrev *a, uint32_t i)
{
	return &t->attrs.v[a->first_attr + i];
}

const struct dwabbrev *dwabbrev_search(const struct dwabbrev_table *t, uint64_t code);

/* NULL if there is none. */
static inline const struct dwabbrev *dwabbrev_find(const struct dwabbrev_table *t, uint64_t code)
{
	/* compilers count from 1 */
	if (code - 1 < t->abbrevs.n && t->abbrevs.v[code - 1].code == code)
		return &t->abbrevs.v[code - 1];
	return dwabbrev_search(t, code);
}

#endif
