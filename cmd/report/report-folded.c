/* Stacks as folded lines, for flamegraph.pl. */

#include "cmd/report/report.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/printable.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A ';' in a name would separate two frames. */
static void print_frame(const struct report *r, const char *name)
{
	CLEANUP_FREE char *copy = strdup(name);
	for (char *p = copy; p && (p = strchr(p, ';'));)
		*p = ':';
	printable_text(r->term.out, copy ? copy : "?");
}

static void print_subtree(const struct report *r, const struct tree *t, uint32_t *path)
{
	/* Preorder with the parents in path; no recursion, since stacks may be deep. */
	size_t depth = 0;
	for (uint32_t i = t->node[0].first_child; i != 0;) {
		path[depth++] = i;
		if (t->node[i].flat != 0) {
			for (size_t k = 0; k < depth; k++) {
				if (k > 0)
					fputc(';', r->term.out);
				print_frame(r, t->rows->row[t->node[path[k]].row].name);
			}
			fprintf(r->term.out, " %" PRId64 "\n", t->node[i].flat);
		}
		if (t->node[i].first_child) {
			i = t->node[i].first_child;
			continue;
		}
		while (depth > 0 && !t->node[path[depth - 1]].next_sibling)
			depth--;
		i = depth > 0 ? t->node[path[--depth]].next_sibling : 0;
	}
}

int report_folded_print(const struct report *report, struct err *e)
{
	CLEANUP(tree_freep) struct tree *t = NULL;
	const struct report_view *v = &report->view;
	int r = tree_new(v->m, v->f, v->rows, v->type, TREE_ALL, NULL, &t, e);
	if (r < 0)
		return r;
	CLEANUP_FREE uint32_t *path = calloc((size_t)t->n_nodes + 1, sizeof(*path));
	if (!path)
		return err_errno(e, ENOMEM, "cannot print the stacks");
	print_subtree(report, t, path);
	return 0;
}
