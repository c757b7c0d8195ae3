/*
 * Most DIEs are only skipped: types, variables, parameters.  If all forms of an abbreviation have a
 * fixed size, that takes one addition, otherwise a few steps.  Sizes depend on the unit's format,
 * so a table is kept once for each format.
 *
 * One table of a C++ unit takes some 20 KB here, and a large program has thousands of units, each
 * with its own table.  Only a few tables are kept, and their memory is reused.
 */

#include "symbolize/dwarf/dwabbrev.h"

#include "base/search.h"

#include "symbolize/dwarf/dwsection.h"

#include <dwarf.h>

#define ATTRS_MAX 256            /* of one abbreviation; real ones have up to 30 */
#define TABLE_BYTES (16u << 10)  /* most tables are smaller */

/* A summary of an abbreviation's attributes. */
struct traits {
	bool has_code, is_declaration;
};

static enum dwabbrev_kind kind_of(unsigned tag, const struct traits *t)
{
	switch (tag) {
	case DW_TAG_subprogram:
		return t->has_code ? DWABBREV_FUNCTION :
		       t->is_declaration ? DWABBREV_OTHER : DWABBREV_NEST;
	case DW_TAG_inlined_subroutine:
		return t->has_code ? DWABBREV_INLINED : DWABBREV_OTHER;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return DWABBREV_BLOCK;
	case DW_TAG_namespace:
	case DW_TAG_module:
		return DWABBREV_SCOPE;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		return DWABBREV_NEST;
	}
	return DWABBREV_OTHER;
}

/* Attributes of a up to the pair of zeros.  False: damaged, or out of memory. */
static bool parse_attrs(struct dwabbrev_table *t, struct bytes *b, struct dwabbrev *a,
			struct traits *ret, bool *out_of_memory)
{
	for (;;) {
		uint64_t name = dwform_uleb(b), form = dwform_uleb(b);
		if (b->bad || name > UINT16_MAX || form > UINT16_MAX)
			return false;
		if (!name && !form)
			return true;
		int n_bytes = dwform_size((unsigned)form, &t->format);
		if (n_bytes == DWFORM_UNKNOWN || a->n_attrs == ATTRS_MAX)
			return false;
		struct dwattr attr = { .name = (uint16_t)name, .form = (uint16_t)form,
				       .n_bytes = (int16_t)n_bytes };
		if (form == DW_FORM_implicit_const)
			attr.implicit = dwform_sleb(b);
		if (name == DW_AT_low_pc || name == DW_AT_ranges)
			ret->has_code = true;
		else if (name == DW_AT_declaration)
			ret->is_declaration = true;
		else if (name == DW_AT_sibling && form == DW_FORM_ref4 && a->n_bytes >= 0)
			a->sibling_at = a->n_bytes;
		a->n_bytes = n_bytes < 0 || a->n_bytes < 0 ? -1 : (int16_t)(a->n_bytes + n_bytes);
		a->n_attrs++;
		if (!VEC_PUSH(&t->attrs, attr)) {
			*out_of_memory = true;
			return false;
		}
	}
}

/* ---- steps --------------------------------------------------------------- */

static bool is_wanted(const struct dwabbrev *a, unsigned name)
{
	switch (name) {
	case DW_AT_sibling:
		return a->has_children;
	case DW_AT_low_pc:
	case DW_AT_high_pc:
	case DW_AT_ranges:
		return a->kind == DWABBREV_FUNCTION || a->kind == DWABBREV_INLINED;
	}
	return false;
}

static enum dwstep_kind step_kind(unsigned form)
{
	switch (form) {
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return DWSTEP_ULEB;
	case DW_FORM_string:
		return DWSTEP_STRING;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		return DWSTEP_BLOCK;
	}
	return DWSTEP_OTHER;
}

/* False: out of memory. */
static bool add_steps(struct dwabbrev_table *t, struct dwabbrev *a)
{
	struct dwstep step = {0};
	/* one for each attribute, and the end */
	if (!VEC_RESERVE(&t->steps, a->n_attrs + 1u))
		return false;
	a->first_step = (uint32_t)t->steps.n;
	for (unsigned i = 0; i < a->n_attrs; i++) {
		const struct dwattr *attr = dwabbrev_attr(t, a, i);
		bool wanted = is_wanted(a, attr->name);
		if (!wanted && attr->n_bytes >= 0) {
			step.n_bytes = (uint16_t)(step.n_bytes + attr->n_bytes);
			continue;
		}
		step.kind = wanted ? DWSTEP_WANTED : (uint8_t)step_kind(attr->form);
		step.attr = (uint8_t)i;
		t->steps.v[t->steps.n++] = step;
		step.n_bytes = 0;
	}
	step.kind = DWSTEP_END;
	t->steps.v[t->steps.n++] = step;
	return true;
}

/* ---- tables -------------------------------------------------------------- */

static bool parse(struct dwabbrev_table *t, struct bytes *b, bool *out_of_memory, bool *ret_sorted)
{
	uint64_t last = 0;
	*ret_sorted = true;
	for (;;) {
		uint64_t code = dwform_uleb(b);
		if (b->bad)
			return false;
		if (!code)
			return true;
		uint64_t tag = dwform_uleb(b);
		struct traits traits = {0};
		struct dwabbrev a = { .code = code, .sibling_at = -1,
			.has_children = bytes_u8(b), .first_attr = (uint32_t)t->attrs.n };
		if (tag > UINT16_MAX || t->attrs.n > UINT32_MAX / 2 ||
		    !parse_attrs(t, b, &a, &traits, out_of_memory))
			return false;
		a.kind = (uint8_t)kind_of((unsigned)tag, &traits);
		if ((!dwabbrev_is_fixed(&a) && !add_steps(t, &a)) || !VEC_PUSH(&t->abbrevs, a)) {
			*out_of_memory = true;
			return false;
		}
		*ret_sorted &= code > last;
		last = code;
	}
}

static int compare_code(const void *a, const void *b)
{
	const struct dwabbrev *x = a, *y = b;
	if (x->code == y->code)
		return x->first_attr < y->first_attr ? -1 : x->first_attr > y->first_attr;
	return x->code < y->code ? -1 : 1;
}

/* Parses the table in b.  more: the section, and so the table, continues after b. */
static bool table_parse(struct dwabbrev_table *t, struct bytes b, uint64_t *n_bytes_left,
			bool *out_of_memory, bool *ret_more)
{
	const uint8_t *start = b.p;
	bool is_sorted;
	t->abbrevs.n = t->attrs.n = t->steps.n = 0;
	bool ok = parse(t, &b, out_of_memory, &is_sorted);
	*n_bytes_left -= (uint64_t)(b.p - start);
	*ret_more = b.bad;
	if (ok && !is_sorted)
		qsort(t->abbrevs.v, t->abbrevs.n, sizeof(*t->abbrevs.v), compare_code);
	return ok;
}

/* The length of a table is not recorded anywhere. */
static bool table_read(struct dwabbrev_table *t, struct dwsections *s, uint64_t off,
		       const struct dwformat *f, uint64_t *n_bytes_left, bool *out_of_memory)
{
	t->last_use = 0;
	t->off = off;
	t->format = *f;
	uint64_t n_section = dwsection_bytes(s, DWSECTION_ABBREV);
	for (uint64_t n = TABLE_BYTES;; n *= 8) {
		bool more;
		struct bytes b = dwsection_look(s, DWSECTION_ABBREV, off, n);
		if (b.bad)
			return false;
		if (bytes_left(&b) > *n_bytes_left)
			b.end = b.p + *n_bytes_left;
		if (table_parse(t, b, n_bytes_left, out_of_memory, &more))
			return true;
		if (!more || n >= n_section - off || !*n_bytes_left)
			return false;
	}
}

const struct dwabbrev *dwabbrev_search(const struct dwabbrev_table *t, uint64_t code)
{
	size_t lo = SEARCH_COUNT(t->abbrevs.n, i, t->abbrevs.v[i].code < code);
	return lo < t->abbrevs.n && t->abbrevs.v[lo].code == code ? &t->abbrevs.v[lo] : NULL;
}

/* ---- the cache ----------------------------------------------------------- */

static void table_free(struct dwabbrev_table *t)
{
	VEC_FREE(&t->abbrevs);
	VEC_FREE(&t->attrs);
	VEC_FREE(&t->steps);
	*t = (struct dwabbrev_table){0};
}

static bool is_same(const struct dwabbrev_table *t, uint64_t off, const struct dwformat *f)
{
	return t->last_use && t->off == off && t->format.version == f->version &&
	       t->format.addr_bytes == f->addr_bytes && t->format.off_bytes == f->off_bytes;
}

struct dwabbrev_table *dwabbrev_get(struct dwabbrev_cache *c, struct dwsections *s, uint64_t off,
				    const struct dwformat *f, bool *out_of_memory)
{
	struct dwabbrev_table *oldest = NULL;
	for (size_t i = 0; i < DWABBREV_N_CACHED; i++) {
		struct dwabbrev_table *t = &c->v[i];
		if (is_same(t, off, f)) {
			t->last_use = ++c->clock;
			t->n_users++;
			return t;
		}
		if (!t->n_users && (!oldest || t->last_use < oldest->last_use))
			oldest = t;
	}
	if (!oldest)
		return NULL;
	if (!table_read(oldest, s, off, f, &c->n_bytes_left, out_of_memory))
		return NULL;
	oldest->last_use = ++c->clock;
	oldest->n_users = 1;
	return oldest;
}

void dwabbrev_put(struct dwabbrev_table *t)
{
	if (t)
		t->n_users--;
}

void dwabbrev_done(struct dwabbrev_cache *c)
{
	for (size_t i = 0; i < DWABBREV_N_CACHED; i++)
		table_free(&c->v[i]);
}
