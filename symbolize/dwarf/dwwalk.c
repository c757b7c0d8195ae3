/*
 * Each address has a `top`, the innermost function or inlined call found for it so far.  A DIE
 * whose ranges contain addresses with its parent as top becomes their top, and its children are
 * examined.  The children of any other function are skipped: DW_AT_sibling leads past them, or,
 * if the compiler writes none (clang, rustc), they are skipped one by one.  The walk ends when all
 * addresses have a function.
 *
 * That walk does not find definitions nested in classes or functions (gcc's lambdas).  A second,
 * full walk does, only for units with an address left over.  Most of these are between two
 * functions, in a gap too short for another aligned function; they are given up at once.
 *
 * The cursor only moves forward: a DW_AT_sibling that points back ends the walk, and one that
 * points out of the unit is ignored.  After an error no bytes are left to read.
 */

#include "symbolize/dwarf/dwwalk.h"

#include "base/search.h"

#include "symbolize/dwarf/dwfile.h"
#include "symbolize/dwarf/dwrange.h"

#include <dwarf.h>

#define DEPTH_MAX 400            /* nested DIEs; the deepest real code has some 100 */
#define ALIGN_BYTES 16           /* of functions, by all compilers that leave gaps */

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
	return SEARCH_COUNT(n, i, p[i].vaddr < vaddr);
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

/* Makes the DIE at off the top of the addresses in [start, end) whose top is parent, and gives it a
 * *node.  False: stop, out of steps or memory. */
static bool claim_range(struct walker *k, uint64_t off, uint64_t start, uint64_t end,
			int32_t parent, int32_t *node)
{
	struct dwwalk *w = k->w;
	bool is_outer = parent == DWWALK_NO_NODE;
	uint64_t from = is_outer && start >= ALIGN_BYTES ? start - ALIGN_BYTES + 1 : start;
	uint64_t to = is_outer && end <= UINT64_MAX - ALIGN_BYTES ? end + ALIGN_BYTES - 1 : end;
	if (start >= end || to <= w->place[0].vaddr || from > w->place[w->n - 1].vaddr)
		return true;
	for (size_t i = lower_bound(w->place, w->n, from); i < w->n && w->place[i].vaddr < to;
	     i++) {
		struct dwwalk_place *p = &w->place[i];
		if (!dwfile_step(k->u->file))
			return false;
		if (p->vaddr < start) {
			if (start < p->behind)
				p->behind = start;
		} else if (p->vaddr >= end) {
			if (end > p->before)
				p->before = end;
		} else if (p->top == parent) {
			if (*node == DWWALK_NO_NODE)
				*node = add_node(w, off, parent);
			if (*node == DWWALK_NO_NODE)
				return false;
			p->top = *node;
			k->n_left -= is_outer;
		}
	}
	return true;
}

/* Does so for all the code of a DIE.  Its node, or DWWALK_NO_NODE if it covers no such address. */
static int32_t claim(struct walker *k, uint64_t off, const struct dwcode *code, int32_t parent)
{
	struct dwrange r;
	int32_t node = DWWALK_NO_NODE;
	uint64_t start, end;
	if (dwrange_pair(k->u, code, &start, &end)) {
		/* at 0: dropped by the linker */
		if (start)
			claim_range(k, off, start, end, parent, &node);
		return node;
	}
	dwrange_init(&r, k->u, code);
	while (dwrange_next(&r, &start, &end) &&
	       claim_range(k, off, start, end, parent, &node))
		;
	return node;
}

/* Gives up addresses between functions. */
static void drop_padding(struct walker *k)
{
	for (size_t i = 0; i < k->w->n; i++) {
		const struct dwwalk_place *p = &k->w->place[i];
		if (p->top == DWWALK_NO_NODE && p->before && p->behind % ALIGN_BYTES == 0 &&
		    p->behind - p->before < ALIGN_BYTES)
			k->n_left--;
	}
}

/* ---- moving over DIEs ---------------------------------------------------- */

static void give_up(struct walker *k)
{
	k->b.bad = true;
	k->b.p = k->b.end;
}

static inline void move(struct walker *k, uint64_t n_bytes)
{
	if (n_bytes > bytes_left(&k->b))
		give_up(k);
	else
		k->b.p += n_bytes;
}

static void skip_uleb(struct walker *k)
{
	while (k->b.p < k->b.end)
		if (!(*k->b.p++ & 0x80))
			return;
	give_up(k);
}

/* Nearly always DW_FORM_ref4. */
static inline const uint8_t *near_sibling(const struct walker *k, uint64_t off)
{
	const struct dwunit *u = k->u;
	return off >= u->root_off - u->off && off < u->end - u->off ? k->unit + off : NULL;
}

static const uint8_t *sibling_position(const struct walker *k, const struct dwvalue *v)
{
	uint64_t off;
	struct dwfile *file;
	const struct dwunit *u = k->u;
	if (v->form == DW_FORM_ref4)
		return near_sibling(k, v->u);
	if (!dwunit_reference(u, v, &file, &off) || file != u->file || off < u->off)
		return NULL;
	return near_sibling(k, off - u->off);
}

/* Reads an attribute: a sibling, or one about code. */
static void read_wanted(struct walker *k, const struct dwattr *attr, struct dwcode *code,
			const uint8_t **ret_sibling)
{
	struct dwvalue v = { .form = attr->form };
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

/* Skips the attributes, and keeps those about code and the place of the next sibling (NULL:
 * unknown). */
static void read_code(struct walker *k, const struct dwabbrev *a, struct dwcode *code,
		      const uint8_t **ret_sibling)
{
	const struct dwattr *attr;
	*ret_sibling = NULL;
	for (const struct dwstep *s = &k->table->steps.v[a->first_step];; s++) {
		move(k, s->n_bytes);
		switch (s->kind) {
		case DWSTEP_ULEB:
			skip_uleb(k);
			break;
		case DWSTEP_STRING:
			bytes_cstr(&k->b);
			break;
		case DWSTEP_BLOCK:
			move(k, dwform_uleb(&k->b));
			break;
		case DWSTEP_OTHER:
			attr = dwabbrev_attr(k->table, a, s->attr);
			dwform_skip(&k->b, attr->form, &k->u->format);
			break;
		case DWSTEP_WANTED:
			read_wanted(k, dwabbrev_attr(k->table, a, s->attr), code, ret_sibling);
			break;
		default:
			if (k->b.bad)
				give_up(k);
			return;
		}
	}
}

/* Skips the attributes of a DIE of which only the sibling matters. */
static inline const uint8_t *skip_attrs(struct walker *k, const struct dwabbrev *a)
{
	const uint8_t *sibling = NULL;
	if (a->n_bytes >= 0 && (!a->has_children || a->sibling_at >= 0)) {
		const uint8_t *p = k->b.p;
		uint32_t off;
		move(k, (uint64_t)a->n_bytes);
		if (!a->has_children || k->b.bad)
			return NULL;
		memcpy(&off, p + a->sibling_at, sizeof(off));
		return near_sibling(k, off);
	}
	struct dwcode code;
	read_code(k, a, &code, &sibling);
	return sibling;
}

static void jump(struct walker *k, const uint8_t *to)
{
	if (to < k->b.p)
		give_up(k);
	else
		k->b.p = to;
}

/* The next DIE's abbreviation; NULL at the end of the siblings, or (bad) of the unit. */
static inline const struct dwabbrev *next_die(struct walker *k)
{
	uint64_t code = dwform_uleb(&k->b);
	if (!code)
		return NULL;
	const struct dwabbrev *a = dwabbrev_find(k->table, code);
	if (!a)
		give_up(k);
	return a;
}

/* Skips the children of the DIE just read. */
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

/* Walks a function, and in a full walk again for functions nested in it. */
static void walk_function(struct walker *k, enum where where, int32_t node, unsigned depth)
{
	struct bytes start = k->b;
	walk(k, IN_FUNCTION, node, depth);
	if (where != IN_SCOPE_FULL || !k->n_left || k->b.bad)
		return;
	k->b = start;
	walk(k, IN_SCOPE_FULL, DWWALK_NO_NODE, depth);
}

/* How to continue with the children of a DIE. */
enum inside { SKIP, GO_ON, NEW_FUNCTION };

/* For a DIE that is not the top of any address.  The ranges of blocks are ignored: blocks are few,
 * and some have none. */
static inline bool descend(enum where where, const struct dwabbrev *a)
{
	switch (where) {
	case IN_FUNCTION:
		return a->kind == DWABBREV_BLOCK;
	case IN_SCOPE:
		return a->kind == DWABBREV_SCOPE;
	case IN_SCOPE_FULL:
		break;
	}
	return a->kind != DWABBREV_OTHER && a->kind != DWABBREV_INLINED;
}

/* For a function or an inlined call, which may become the top of addresses. */
static enum inside look_at(struct walker *k, enum where where, const struct dwabbrev *a,
			   uint64_t off, const struct dwcode *code, int32_t *node)
{
	if ((where == IN_FUNCTION) != (a->kind == DWABBREV_INLINED))
		return descend(where, a) ? GO_ON : SKIP;
	*node = claim(k, off, code, *node);
	if (*node == DWWALK_NO_NODE)
		return descend(where, a) ? GO_ON : SKIP;
	return where == IN_FUNCTION ? GO_ON : NEW_FUNCTION;
}

/* The siblings from the cursor to their end mark. */
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
			inside = descend(where, a) ? GO_ON : SKIP;
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
	for (size_t i = 0; i < w->n; i++) {
		w->place[i].top = DWWALK_NO_NODE;
		w->place[i].before = 0;
		w->place[i].behind = UINT64_MAX;
	}
	if (!w->n)
		return;
	walk_unit(&k, IN_SCOPE);
	drop_padding(&k);
	if (k.n_left)
		walk_unit(&k, IN_SCOPE_FULL);
}
