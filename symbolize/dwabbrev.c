#include "symbolize/dwabbrev.h"

#include "base/vec.h"
#include "symbolize/dwsection.h"

#include <dwarf.h>

/*
 * Most DIEs are only moved over: types, variables, parameters.  Where all forms of an abbreviation
 * have a fixed size, that is one addition.  Sizes depend on the unit's format, so a
 * table is kept once for each.
 *
 * One table of a C++ unit takes some 20 KB here, and a large program has thousands of units, each
 * with its own: only a few tables are kept.
 */

#define ATTRS_MAX 256            /* of one abbreviation; real ones have up to 30 */
#define TABLE_BYTES 4096         /* that most tables have not */

struct parser {
	VEC(struct dwabbrev) abbrevs;
	VEC(struct dwattr) attrs;
	bool is_sorted;
};

static bool is_code(unsigned name)
{
	return name == DW_AT_low_pc || name == DW_AT_high_pc || name == DW_AT_ranges ||
	       name == DW_AT_sibling;
}

static enum dwabbrev_kind kind_of(unsigned tag, bool has_code)
{
	switch (tag) {
	case DW_TAG_subprogram:
		return has_code ? DWABBREV_FUNCTION : DWABBREV_OTHER;
	case DW_TAG_inlined_subroutine:
		return has_code ? DWABBREV_INLINED : DWABBREV_OTHER;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return DWABBREV_BLOCK;
	case DW_TAG_namespace:
	case DW_TAG_module:
		return DWABBREV_SCOPE;
	}
	return DWABBREV_OTHER;
}

/* Attributes of a up to the pair of zeros.  False when they are damaged or memory is out. */
static bool parse_attrs(struct parser *p, struct bytes *b, const struct dwformat *f,
			struct dwabbrev *a, bool *out_of_memory)
{
	bool has_code = false;
	for (;;) {
		uint64_t name = dwform_uleb(b), form = dwform_uleb(b);
		if (b->bad || name > UINT16_MAX || form > UINT16_MAX)
			return false;
		if (!name && !form)
			break;
		int n_bytes = dwform_size((unsigned)form, f);
		if (n_bytes == DWFORM_UNKNOWN || a->n_attrs == ATTRS_MAX)
			return false;
		struct dwattr attr = {
			.name = (uint16_t)name, .form = (uint16_t)form, .n_bytes = (int16_t)n_bytes,
			.is_code = is_code((unsigned)name),
		};
		if (form == DW_FORM_implicit_const)
			attr.implicit = dwform_sleb(b);
		has_code |= name == DW_AT_low_pc || name == DW_AT_ranges;
		if (name == DW_AT_sibling && form == DW_FORM_ref4 && a->n_bytes >= 0)
			a->sibling_at = (int16_t)a->n_bytes;
		a->n_bytes = n_bytes < 0 || a->n_bytes < 0 ? -1 : a->n_bytes + n_bytes;
		a->n_attrs++;
		if (!VEC_PUSH(&p->attrs, attr)) {
			*out_of_memory = true;
			return false;
		}
	}
	a->kind = kind_of(a->tag, has_code);
	return true;
}

static bool parse(struct parser *p, struct bytes *b, const struct dwformat *f, bool *out_of_memory)
{
	uint64_t last = 0;
	p->is_sorted = true;
	for (;;) {
		uint64_t code = dwform_uleb(b);
		if (b->bad)
			return false;
		if (!code)
			return true;
		uint64_t tag = dwform_uleb(b);
		struct dwabbrev a = { .code = code, .tag = (uint16_t)tag, .sibling_at = -1,
			.has_children = bytes_u8(b), .first_attr = (uint32_t)p->attrs.n };
		if (tag > UINT16_MAX || p->attrs.n > UINT32_MAX - ATTRS_MAX ||
		    !parse_attrs(p, b, f, &a, out_of_memory))
			return false;
		if (!VEC_PUSH(&p->abbrevs, a)) {
			*out_of_memory = true;
			return false;
		}
		p->is_sorted &= code > last;
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

/* Parses the table in b; more: the section goes on behind b, and so does the table. */
static bool table_parse(struct dwabbrev_table *t, struct bytes b, const struct dwformat *f,
			uint64_t *n_bytes_left, bool *out_of_memory, bool *ret_more)
{
	struct parser p = {0};
	const uint8_t *start = b.p;
	bool ok = parse(&p, &b, f, out_of_memory);
	*n_bytes_left -= (uint64_t)(b.p - start);
	*ret_more = b.bad;
	if (!ok) {
		VEC_FREE(&p.abbrevs);
		VEC_FREE(&p.attrs);
		return false;
	}
	if (!p.is_sorted)
		qsort(p.abbrevs.v, p.abbrevs.n, sizeof(*p.abbrevs.v), compare_code);
	*t = (struct dwabbrev_table){ .abbrev = p.abbrevs.v, .attr = p.attrs.v,
		.n_abbrevs = p.abbrevs.n, .n_attrs = p.attrs.n, .format = *f };
	return true;
}

/* Nothing says how long a table is. */
static bool table_read(struct dwabbrev_table *t, struct dwsections *s, uint64_t off,
		       const struct dwformat *f, uint64_t *n_bytes_left, bool *out_of_memory)
{
	uint64_t n_section = dwsection_bytes(s, DWSECTION_ABBREV);
	for (uint64_t n = TABLE_BYTES;; n *= 8) {
		bool more;
		struct bytes b = dwsection_look(s, DWSECTION_ABBREV, off, n);
		if (b.bad)
			return false;
		if (bytes_left(&b) > *n_bytes_left)
			b.end = b.p + *n_bytes_left;
		if (table_parse(t, b, f, n_bytes_left, out_of_memory, &more)) {
			t->off = off;
			return true;
		}
		if (!more || n >= n_section - off || !*n_bytes_left)
			return false;
	}
}

const struct dwabbrev *dwabbrev_search(const struct dwabbrev_table *t, uint64_t code)
{
	size_t lo = 0, hi = t->n_abbrevs;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (t->abbrev[mid].code < code)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->n_abbrevs && t->abbrev[lo].code == code ? &t->abbrev[lo] : NULL;
}

/* ---- the cache ----------------------------------------------------------- */

static void table_free(struct dwabbrev_table *t)
{
	free(t->abbrev);
	free(t->attr);
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
	table_free(oldest);
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
