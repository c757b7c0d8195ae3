#ifndef CPROF_VIEW_HTML_HTML_SIDE_H
#define CPROF_VIEW_HTML_HTML_SIDE_H

/*
 * One profile of a set: its samples as nodes of a forest of stacks, which both sides of a
 * comparison share.
 */

#include "view/html/html-tables.h"
#include "view/html/html.h"
#include "view/table/rows.h"

/* Nodes are numbered; 0 means no node.  number: the place in preorder, set when writing. */
struct html_node { uint32_t parent, frame, first_child, last_child, next_sibling, number; };
struct html_forest {
	VEC(struct html_node) nodes;     /* node 0 is the root, which has no frame */
	struct hashindex by_parent;
};

struct html_sample { uint32_t node, labels, index; };  /* label set; sample of the model */

struct html_side {
	const struct html_part *part;
	struct rows *rows;
	VEC(uint32_t) frame;             /* of locations, innermost first */
	size_t *first;                   /* by location: index in frame */
	uint32_t *labels;                /* by label set of the model */
	VEC(struct html_sample) samples;
	uint32_t *type;                  /* the model's type for each of fresh's */
	double *ratio;                   /* from its unit to fresh's */
};

/* Adds the part's samples; fresh is the model whose types are shown.  *s must be zero; free it with
 * html_side_done() in any case.  0, an error of rows_new(), or 0 with tables->failed set. */
int html_side_open(struct html_tables *tables, struct html_side *s, const struct html_part *part,
		   const struct model *fresh, struct html_forest *forest, struct err *e);
void html_side_done(struct html_side *s);

/* A value of that type of fresh, in fresh's unit. */
int64_t html_scaled(const struct html_side *s, uint32_t type, int64_t value);

void html_forest_done(struct html_forest *forest);

#endif
