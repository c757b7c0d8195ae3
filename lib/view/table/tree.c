/*
 * An index finds a child by (parent, row).  The rows of a sample are copied to a buffer, since a
 * walk starts at the leaf and a tree at the root.
 */

#include "view/table/tree.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/hashindex.h"
#include "base/vec.h"
#include "view/model/pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct step { uint32_t row; bool is_inlined; };

struct builder {
	VEC(struct tree_node) nodes;
	VEC(struct step) steps;       /* of one sample, leaf first */
	struct hashindex by_parent_row;
};

void tree_free(struct tree *t)
{
	if (t)
		free(t->node);
	free(t);
}

/* Finds or adds a child; 0 if out of memory. */
static uint32_t child_of(struct builder *g, uint32_t parent, struct step step)
{
	uint64_t hash = hash_u64((uint64_t)parent << 32 | step.row);
	uint32_t i = HASHINDEX_FIND(&g->by_parent_row, hash, k,
				    g->nodes.v[k].parent == parent &&
				    g->nodes.v[k].row == step.row);
	if (i != HASHINDEX_NONE) {
		g->nodes.v[i].is_inlined &= step.is_inlined;
		return i;
	}
	i = (uint32_t)g->nodes.n;
	if (i == HASHINDEX_NONE - 1 || !VEC_RESERVE(&g->nodes, 1) ||
	    !hashindex_add(&g->by_parent_row, hash, i))
		return 0;
	g->nodes.v[g->nodes.n++] = (struct tree_node){ .parent = parent, .row = step.row,
						       .is_inlined = step.is_inlined };
	return i;
}

static bool add_path(struct builder *g, int64_t value, enum tree_way way, const bool *start)
{
	size_t n = g->steps.n, top = n;  /* walk the steps below top */
	if (way != TREE_ALL) {
		while (top > 0 && !start[g->steps.v[top - 1].row])
			top--;
		if (top == 0)
			return true;
	}
	uint32_t at = 0;
	g->nodes.v[0].cum = model_add(g->nodes.v[0].cum, value);
	/* Callers: outwards from that frame.  Otherwise inwards, from it or from the root. */
	for (size_t i = top - 1;; i += way == TREE_CALLERS ? 1 : (size_t)-1) {
		struct step step = g->steps.v[i];
		if (way == TREE_CALLERS && i > top - 1)
			step.is_inlined = g->steps.v[i - 1].is_inlined;
		at = child_of(g, at, step);
		if (at == 0)
			return false;
		g->nodes.v[at].cum = model_add(g->nodes.v[at].cum, value);
		if (i == (way == TREE_CALLERS ? n - 1 : 0))
			break;
	}
	g->nodes.v[at].flat = model_add(g->nodes.v[at].flat, value);
	return true;
}

static int by_cum(const void *va, const void *vb, void *ctx)
{
	const struct tree *t = ctx;
	const struct tree_node *a = &t->node[*(const uint32_t *)va];
	const struct tree_node *b = &t->node[*(const uint32_t *)vb];
	int64_t ca = model_magnitude(a->cum), cb = model_magnitude(b->cum);
	if (ca != cb)
		return (ca < cb) - (ca > cb);
	int order = strcmp(t->rows->row[a->row].name, t->rows->row[b->row].name);
	return order ? order : (a->row > b->row) - (a->row < b->row);
}

/* Links the nodes from the smallest to the largest, each before its siblings. */
static int link_children(struct tree *t)
{
	CLEANUP_FREE uint32_t *order = calloc((size_t)t->n_nodes + 1, sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n_nodes; i++)
		order[i] = i;
	if (t->n_nodes > 2)
		qsort_r(order + 1, t->n_nodes - 1, sizeof(*order), by_cum, t);
	for (uint32_t i = t->n_nodes; i-- > 1;) {
		struct tree_node *n = &t->node[order[i]];
		n->next_sibling = t->node[n->parent].first_child;
		t->node[n->parent].first_child = order[i];
	}
	return 0;
}

static int build_tree(struct builder *g, struct tree *t, const struct model *m,
		      const struct filter *f, const struct rows *r, uint32_t type,
		      enum tree_way way, const bool *start)
{
	if (!VEC_PUSH(&g->nodes, ((struct tree_node){ .row = MODEL_NONE })))
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n_samples; i++) {
		int64_t value = model_value(m, i, type);
		if (value == 0 || (f && f->sample_idle && f->sample_idle[i]))
			continue;
		t->total = model_add(t->total, model_magnitude(value));
		g->steps.n = 0;
		struct rows_walk w = rows_begin(r, m, f, i);
		while (rows_next(&w))
			if (!VEC_PUSH(&g->steps, ((struct step){ w.row, w.is_inlined })))
				return -ENOMEM;
		if (g->steps.n > 0 && !add_path(g, value, way, start))
			return -ENOMEM;
	}
	t->node = g->nodes.v;
	t->n_nodes = (uint32_t)g->nodes.n;
	g->nodes.v = NULL;
	return link_children(t);
}

static void builder_done(struct builder *g)
{
	VEC_FREE(&g->nodes);
	VEC_FREE(&g->steps);
	hashindex_done(&g->by_parent_row);
}

int tree_new(const struct model *m, const struct filter *f, const struct rows *r, uint32_t type,
	     enum tree_way way, const bool *start, struct tree **ret, struct err *e)
{
	CLEANUP(builder_done) struct builder g = { 0 };
	CLEANUP(tree_freep) struct tree *t = calloc(1, sizeof(*t));
	if (!t)
		return err_errno(e, ENOMEM, "cannot build the call tree");
	t->rows = r;
	if (build_tree(&g, t, m, f, r, type, way, start) < 0)
		return err_errno(e, ENOMEM, "cannot build the call tree");
	*ret = TAKE_PTR(t);
	return 0;
}

/* Marks the rows that match the regex.  1 if there are any, 0 without one, or -errno. */
static int mark_matches(const struct rows *rows, const char *option, const char *regex,
			bool *start, struct err *e)
{
	bool any = false;
	struct pattern p = { 0 };
	int r = pattern_compile(&p, option, regex, e);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < rows->n_rows; i++)
		any |= start[i] = pattern_matches(&p, rows->row[i].name);
	pattern_done(&p);
	return any;
}

int tree_find_rows(const struct rows *rows, const char *option, const char *name, bool **ret,
		   struct err *e)
{
	CLEANUP_FREE bool *start = calloc((size_t)rows->n_rows + 1, sizeof(*start));
	bool any = false;
	if (!start)
		return err_errno(e, ENOMEM, "cannot build the call tree");
	for (uint32_t i = 0; i < rows->n_rows; i++)
		any |= start[i] = strcmp(rows->row[i].name, name) == 0;
	int r = any ? 1 : mark_matches(rows, option, name, start, e);
	if (r < 0)
		return r;
	if (r == 0) {
		r = err_set(e, ENOENT, "no frame matches '%s'", name);
		err_hint(e, "'cprof report --limit 0 FILE' lists all names");
		return r;
	}
	*ret = TAKE_PTR(start);
	return 0;
}
