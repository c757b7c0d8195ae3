#ifndef CPROF_VIEW_HTML_HTML_TREE_PRIVATE_H
#define CPROF_VIEW_HTML_HTML_TREE_PRIVATE_H

/* The tree while it is made: html-tree.c opens and keeps the largest nodes, html-fold.c numbers
 * them and folds the others. */

#include "view/html/html-data.h"
#include "view/html/html-tree.h"

struct html_maker {
	struct html_tree *t;
	struct html_tables *tables;
	struct html_side *side;
	int n_sides;
	uint32_t n_types;
	uint32_t *child_of;              /* by frame: the child of the node being opened */
	uint32_t *next_of;               /* by item of that node: its child */
	struct html_item *sorted;
	VEC(uint32_t) heap;              /* nodes that were not opened, the largest first */
	VEC(uint32_t) kept;              /* their number is not 0 */
};

/* A sample of that side, at its root. */
struct html_item html_tree_item(const struct html_side *s, uint32_t side, uint32_t sample);

/* The next frame of a stack, outermost first, as an index in s->frame. */
#define HTML_NO_PLACE UINT32_MAX
uint32_t html_tree_next_place(const struct html_side *s, struct html_item *x);

/* Adds a node as the last child; 0 with tables->failed set if there is no memory. */
uint32_t html_tree_add_child(struct html_maker *k, uint32_t parent, uint32_t frame);

/* Numbers the kept nodes, folds the others, and lists the samples.  0, or an error of rows_new().
 */
int html_fold(struct html_maker *k, struct err *e);

#endif
