/*
 * The call tree.  Only the most expensive nodes are shown; a node never costs more than its parent,
 * so the result is connected.  If a frame has only one visible callee, of the same cost, the callee
 * is not indented further: deep stacks stay readable in 80 columns.
 */

#include "cmd/report/report.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/printable.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int by_cum(const void *va, const void *vb, void *ctx)
{
	const struct tree *t = ctx;
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	int64_t ca = model_magnitude(t->node[a].cum), cb = model_magnitude(t->node[b].cum);
	return ca != cb ? (ca < cb) - (ca > cb) : (a > b) - (a < b);
}

/* Marks the `limit` largest nodes and their parents.  Returns the number of marked nodes. */
static uint32_t mark_largest(const struct tree *t, uint64_t limit, unsigned char *shown,
			     uint32_t *order)
{
	uint32_t n = 0;
	if (limit == 0 || limit >= t->n_nodes - 1) {
		memset(shown, 1, t->n_nodes);
		return t->n_nodes - 1;
	}
	for (uint32_t i = 1; i < t->n_nodes; i++)
		order[i - 1] = i;
	qsort_r(order, t->n_nodes - 1, sizeof(*order), by_cum, (void *)t);
	for (uint64_t i = 0; i < limit; i++) {
		for (uint32_t k = order[i]; k != 0 && !shown[k]; k = t->node[k].parent) {
			shown[k] = 1;
			n++;
		}
	}
	return n;
}

static uint32_t next_shown(const struct tree *t, const unsigned char *shown, uint32_t i)
{
	while (i != 0 && !shown[i])
		i = t->node[i].next_sibling;
	return i;
}

static void print_node(const struct report *r, const struct tree *t, uint32_t i, int indent)
{
	const struct tree_node *n = &t->node[i];
	FILE *out = r->term.out;
	char cum[SCALE_TEXT_MAX], flat[SCALE_TEXT_MAX], pct[SCALE_TEXT_MAX];
	double share = t->total ? (double)n->cum / (double)t->total : 0;
	term_color(&r->term, term_heat(share));
	fprintf(out, "%10s %7s", scale_text(r->scale, n->cum, cum),
		scale_percent(n->cum, t->total, pct));
	term_color(&r->term, TERM_PLAIN);
	fprintf(out, " %10s  ", scale_text(r->scale, n->flat, flat));
	const char *note = n->is_inlined ? " (inlined)" : "";
	int room = 0;
	if (r->term.width) {
		int left = r->term.width - 31 - (int)strlen(note);
		int most = left / 2 > 0 ? left / 2 : 0;
		indent = indent > most ? most : indent;
		room = left - indent > 8 ? left - indent : 8;
	}
	fprintf(out, "%*s", indent, "");
	term_print_name(&r->term, t->rows->row[n->row].name, room);
	fprintf(out, "%s\n", note);
}

struct level { uint32_t node; int indent; };

static int print_nodes(const struct report *r, const struct tree *t, const unsigned char *shown)
{
	CLEANUP_FREE struct level *path = calloc((size_t)t->n_nodes + 1, sizeof(*path));
	if (!path)
		return -ENOMEM;
	size_t depth = 0;
	uint32_t i = next_shown(t, shown, t->node[0].first_child);
	int indent = 0;
	while (i != 0) {
		path[depth++] = (struct level){ i, indent };
		print_node(r, t, i, indent);
		uint32_t child = next_shown(t, shown, t->node[i].first_child);
		if (child) {
			bool alone = !next_shown(t, shown, t->node[child].next_sibling) &&
				     t->node[child].cum == t->node[i].cum;
			indent += alone ? 0 : 2;
			i = child;
			continue;
		}
		for (i = 0; depth > 0 && i == 0;) {
			depth--;
			i = next_shown(t, shown, t->node[path[depth].node].next_sibling);
			indent = path[depth].indent;
		}
	}
	return 0;
}

/* Writes nested objects without recursion: a node is closed after its last child. */
static int print_json(const struct report *r, const struct tree *t, const unsigned char *shown)
{
	CLEANUP_FREE uint32_t *path = calloc((size_t)t->n_nodes + 1, sizeof(*path));
	FILE *out = r->term.out;
	const struct model *m = r->view.m;
	if (!path)
		return -ENOMEM;
	fprintf(out, "{\"type\": ");
	printable_json(out, model_string(m, m->type[r->view.type].type));
	fprintf(out, ", \"unit\": ");
	printable_json(out, model_string(m, m->type[r->view.type].unit));
	fprintf(out, ", \"total\": %" PRId64 ", \"children\": [", t->total);
	size_t depth = 0;
	uint32_t i = next_shown(t, shown, t->node[0].first_child);
	bool first = true;
	while (i != 0) {
		const struct tree_node *n = &t->node[i];
		fprintf(out, "%s\n{\"name\": ", first ? "" : ",");
		printable_json(out, t->rows->row[n->row].name);
		fprintf(out, ", \"flat\": %" PRId64 ", \"cum\": %" PRId64 ", \"inlined\": %s, "
			     "\"children\": [",
			n->flat, n->cum, n->is_inlined ? "true" : "false");
		path[depth++] = i;
		first = true;
		uint32_t child = next_shown(t, shown, n->first_child);
		if (child) {
			i = child;
			continue;
		}
		for (i = 0; depth > 0 && i == 0;) {
			fputs("]}", out);
			depth--;
			i = next_shown(t, shown, t->node[path[depth]].next_sibling);
		}
		first = false;
	}
	fprintf(out, "\n]}\n");
	return 0;
}

static int print_text(const struct report *r, const struct tree *t, const unsigned char *shown,
		      uint32_t n_shown)
{
	report_head_print(r, 0, 0);
	if (n_shown < t->n_nodes - 1)
		fprintf(r->term.out, "Showing %u of %u nodes\n", n_shown, t->n_nodes - 1);
	fputc('\n', r->term.out);
	term_color(&r->term, TERM_BOLD);
	fprintf(r->term.out, "%10s %7s %10s  %s", "cum", "cum%", "flat",
		r->o->caller ? "name, with its callers below" : "name, with its callees below");
	term_color(&r->term, TERM_PLAIN);
	fputc('\n', r->term.out);
	return print_nodes(r, t, shown);
}

static int print_tree(const struct report *r, const struct tree *t)
{
	CLEANUP_FREE unsigned char *shown = calloc((size_t)t->n_nodes + 1, 1);
	CLEANUP_FREE uint32_t *order = calloc((size_t)t->n_nodes + 1, sizeof(*order));
	if (!shown || !order)
		return -ENOMEM;
	uint32_t n = mark_largest(t, r->o->limit, shown, order);
	return r->o->format == REPORT_JSON ? print_json(r, t, shown) : print_text(r, t, shown, n);
}

int report_tree_print(const struct report *report, struct err *e)
{
	const struct report_options *o = report->o;
	const struct report_view *v = &report->view;
	const char *name = o->caller ? o->caller : o->callee;
	enum tree_way way = o->caller ? TREE_CALLERS : o->callee ? TREE_CALLEES : TREE_ALL;
	CLEANUP_FREE bool *start = NULL;
	CLEANUP(tree_freep) struct tree *t = NULL;
	int r = name ? tree_find_rows(v->rows, o->caller ? "--caller" : "--callee", name, &start, e)
		     : 0;
	if (r < 0)
		return r;
	r = tree_new(v->m, v->f, v->rows, v->type, way, start, &t, e);
	if (r < 0)
		return r;
	r = print_tree(report, t);
	return r < 0 ? err_errno(e, -r, "cannot print the tree") : 0;
}
