#include "symbolize/dwwalk.h"

#include "symbolize/dwfile.h"
#include "symbolize/dwrange.h"

#include <dwarf.h>

/*
 * Each address has a `top`, the innermost function or inlined call found for it so far.  A DIE
 * whose ranges hold addresses with its parent as top takes them over and is gone into; of any other
 * function nothing inside is looked at: DW_AT_sibling leads behind it, or, where the compiler
 * writes none (clang, rustc), its DIEs are moved over one by one.  The walk ends when all
 * addresses have a function.
 *
 * Definitions nested where that walk does not look (in classes, in functions) are found by
 * a second, full one, made only for units with an address left over.
 *
 * The cursor only moves forward: a DW_AT_sibling that points back ends the walk, one that points
 * out of the unit counts as none.
 */

#define DEPTH_MAX 400            /* nested DIEs; the deepest real code has some 100 */

enum where {
	IN_SCOPE,                /* functions here, and in namespaces and modules */
	IN_SCOPE_FULL,           /* functions anywhere below */
	IN_FUNCTION,             /* inlined calls */
};

struct walker {
	struct dwwalk *w;
	const struct dwunit *u;
	const struct dwabbrev_table *table;
	const uint8_t *unit;     /* its first byte */
	struct bytes b;          /* the DIEs not yet seen */
	size_t n_left;           /* places without a function */
};

/* ---- taking over addresses ----------------------------------------------- */

static size_t lower_bound(const struct dwwalk_place *p, size_t n, uint64_t vaddr)
{
	size_t lo = 0, hi = n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (p[mid].vaddr < vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int32_t add_node(struct dwwalk *w, uint64_t off, int32_t parent)
{
	struct dwwalk_node node = { off, parent };
	if (w->nodes.n >= INT32_MAX || !VEC_PUSH(&w->nodes, node)) {
		w->u->file->out_of_memory = true;
		return DWWALK_NO_NODE;
	}
	return (int32_t)(w->nodes.n - 1);
}

/* Lets the DIE at off take over the addresses in its ranges whose top is parent.  Its node, or
 * DWWALK_NO_NODE when there are none. */
static int32_t claim(struct walker *k, uint64_t off, const struct dwcode *code, int32_t parent)
{
	struct dwwalk *w = k->w;
	struct dwrange r;
	int32_t node = DWWALK_NO_NODE;
	uint64_t start, end;
	dwrange_init(&r, k->u, code);
	while (dwrange_next(&r, &start, &end)) {
		if (end <= w->place[0].vaddr || start > w->place[w->n - 1].vaddr)
			continue;
		for (size_t i = lower_bound(w->place, w->n, start);
		     i < w->n && w->place[i].vaddr < end; i++) {
			if (!dwfile_step(k->u->file))
				return node;
			if (w->place[i].top != parent)
				continue;
			if (node == DWWALK_NO_NODE)
				node = add_node(w, off, parent);
			if (node == DWWALK_NO_NODE)
				return node;
			w->place[i].top = node;
			if (parent == DWWALK_NO_NODE)
				k->n_left--;
		}
	}
	return node;
}

/* ---- moving over DIEs ---------------------------------------------------- */

static const uint8_t *sibling_position(struct walker *k, const struct dwvalue *v)
{
	uint64_t off;
	struct dwfile *file;
	const struct dwunit *u = k->u;
	if (!dwunit_reference(u, v, &file, &off) || file != u->file || off < u->root_off ||
	    off >= u->end)
		return NULL;
	return k->unit + (off - u->off);
}

/* Moves behind the attributes, taking along those about code, and where the next sibling
 * is (NULL: unknown). */
static void read_code(struct walker *k, const struct dwabbrev *a, struct dwcode *code,
		      const uint8_t **ret_sibling)
{
	*ret_sibling = NULL;
	for (uint32_t i = 0; i < a->n_attrs && !k->b.bad; i++) {
		const struct dwattr *attr = &k->table->attr[a->first_attr + i];
		struct dwvalue v = { .form = attr->form };
		if (!attr->is_code && attr->n_bytes >= 0) {
			bytes_take(&k->b, (size_t)attr->n_bytes);
			continue;
		}
		if (attr->n_bytes == 4)
			v.u = bytes_u32(&k->b);
		else if (attr->n_bytes == 8)
			v.u = bytes_u64(&k->b);
		else
			dwform_read(&k->b, attr->form, attr->implicit, &k->u->format, &v);
		switch (attr->name) {
		case DW_AT_low_pc: code->low = v; break;
		case DW_AT_high_pc: code->high = v; break;
		case DW_AT_ranges: code->ranges = v; break;
		case DW_AT_sibling: *ret_sibling = sibling_position(k, &v); break;
		}
	}
}

/* Moves behind the attributes of a DIE of which only the sibling is of interest. */
static inline const uint8_t *skip_attrs(struct walker *k, const struct dwabbrev *a)
{
	const uint8_t *sibling = NULL;
	if (a->n_bytes >= 0 && (!a->has_children || a->sibling_at >= 0)) {
		const uint8_t *p = bytes_take(&k->b, (size_t)a->n_bytes);
		if (!p || !a->has_children)
			return NULL;
		struct dwvalue v = { .form = DW_FORM_ref4 };
		uint32_t off;
		memcpy(&off, p + a->sibling_at, sizeof(off));
		v.u = off;
		return sibling_position(k, &v);
	}
	struct dwcode code = {0};
	read_code(k, a, &code, &sibling);
	return sibling;
}

static void jump(struct walker *k, const uint8_t *to)
{
	if (to < k->b.p)
		k->b.bad = true;
	else
		k->b.p = to;
}

/* The next DIE's abbreviation; NULL at the end of the siblings, and (bad) of the unit. */
static inline const struct dwabbrev *next_die(struct walker *k)
{
	uint64_t code = dwform_uleb(&k->b);
	if (!code)
		return NULL;
	const struct dwabbrev *a = dwabbrev_find(k->table, code);
	if (!a)
		k->b.bad = true;
	return a;
}

/* Moves behind the children of the DIE just read. */
static void skip_children(struct walker *k, const uint8_t *sibling)
{
	if (sibling) {
		jump(k, sibling);
		return;
	}
	for (size_t depth = 1; depth && !k->b.bad;) {
		const struct dwabbrev *a = next_die(k);
		if (!a) {
			depth--;
			continue;
		}
		sibling = skip_attrs(k, a);
		if (a->has_children && sibling)
			jump(k, sibling);
		else if (a->has_children)
			depth++;
	}
}

/* ---- the walk ------------------------------------------------------------ */

static void walk(struct walker *k, enum where where, int32_t node, unsigned depth);

/* Goes into a function, and in a full walk once more for what is nested in it. */
static void walk_function(struct walker *k, enum where where, int32_t node, unsigned depth)
{
	struct bytes start = k->b;
	walk(k, IN_FUNCTION, node, depth);
	if (where != IN_SCOPE_FULL || !k->n_left || k->b.bad)
		return;
	k->b = start;
	walk(k, IN_SCOPE_FULL, DWWALK_NO_NODE, depth);
}

/* What to do with the children of a DIE. */
enum inside { SKIP, GO_ON, NEW_FUNCTION };

/* For those that have no code of their own; a block's ranges are not asked: blocks are few, and
 * some have none. */
static inline bool go_on(enum where where, const struct dwabbrev *a)
{
	return where == IN_FUNCTION ? a->kind == DWABBREV_BLOCK
				    : where == IN_SCOPE_FULL || a->kind == DWABBREV_SCOPE;
}

/* For those that have. */
static enum inside look_at(struct walker *k, enum where where, const struct dwabbrev *a,
			   uint64_t off, const struct dwcode *code, int32_t *node)
{
	if ((where == IN_FUNCTION) != (a->kind == DWABBREV_INLINED))
		return go_on(where, a) ? GO_ON : SKIP;
	*node = claim(k, off, code, *node);
	if (*node == DWWALK_NO_NODE)
		return go_on(where, a) ? GO_ON : SKIP;
	return where == IN_FUNCTION ? GO_ON : NEW_FUNCTION;
}

/* The siblings from the cursor on, up to the mark at their end. */
static void walk(struct walker *k, enum where where, int32_t node, unsigned depth)
{
	while (!k->b.bad && !k->u->file->out_of_memory) {
		uint64_t off = k->u->off + (uint64_t)(k->b.p - k->unit);
		const struct dwabbrev *a = next_die(k);
		const uint8_t *sibling;
		enum inside inside;
		int32_t inner = node;
		if (!a)
			return;
		if (a->kind == DWABBREV_FUNCTION || a->kind == DWABBREV_INLINED) {
			struct dwcode code = {0};
			read_code(k, a, &code, &sibling);
			inside = look_at(k, where, a, off, &code, &inner);
		} else {
			sibling = skip_attrs(k, a);
			inside = go_on(where, a) ? GO_ON : SKIP;
		}
		if (!a->has_children)
			continue;
		if (inside == SKIP || depth == DEPTH_MAX)
			skip_children(k, sibling);
		else if (inside == NEW_FUNCTION)
			walk_function(k, where, inner, depth + 1);
		else
			walk(k, where, inner, depth + 1);
		if (where != IN_FUNCTION && !k->n_left)
			return;
	}
}

static void walk_unit(struct walker *k, enum where where)
{
	k->b = dwunit_hold(k->u, k->u->root_off);
	k->unit = k->b.p - (k->u->root_off - k->u->off);
	const struct dwabbrev *root = next_die(k);
	if (!root)
		return;
	skip_attrs(k, root);
	if (root->has_children)
		walk(k, where, DWWALK_NO_NODE, 0);
}

void dwwalk_run(struct dwwalk *w)
{
	struct walker k = { .w = w, .u = w->u, .table = w->u->table, .n_left = w->n };
	for (size_t i = 0; i < w->n; i++)
		w->place[i].top = DWWALK_NO_NODE;
	if (!w->n)
		return;
	walk_unit(&k, IN_SCOPE);
	if (k.n_left)
		walk_unit(&k, IN_SCOPE_FULL);
}
