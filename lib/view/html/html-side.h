#ifndef CPROF_VIEW_HTML_HTML_SIDE_H
#define CPROF_VIEW_HTML_HTML_SIDE_H

/*
 * One profile of a page's set: its samples as nodes of a forest of stacks, which the two sides of a
 * comparison share.
 */

#include "view/html/html-tables.h"
#include "view/html/html.h"
#include "view/table/rows.h"

/* Nodes by number, 0 for none.  number: place in preorder, set when they are written. */
struct html_node { uint32_t parent, frame, first_child, last_child, next_sibling, number; };
struct html_forest {
	VEC(struct html_node) nodes;     /* the first is the root, which has no frame */
	struct hashindex by_parent;
};

struct html_sample { uint32_t node, labels, index; };  /* a label set; the model's sample */

struct html_side {
	const struct html_part *part;
	struct rows *rows;
	VEC(uint32_t) frame;             /* of locations, innermost first */
	size_t *first;                   /* by location, in frame */
	uint32_t *labels;                /* by label set of the model */
	VEC(struct html_sample) samples;
	uint32_t *type;                  /* the model's type for each of fresh's */
	double *ratio;                   /* of its unit to fresh's */
};

/* Takes the part's samples in; fresh is the model whose types are shown.  0, an error of
 * rows_new(), or 0 with tables->failed set.  *s is zero before, and freed with html_side_done()
 * in any case. */
int html_side_open(struct html_tables *tables, struct html_side *s, const struct html_part *part,
		   const struct model *fresh, struct html_forest *forest, struct err *e);
void html_side_done(struct html_side *s);

/* A value of that type in the unit of fresh's. */
int64_t html_scaled(const struct html_side *s, uint32_t type, int64_t value);

void html_forest_done(struct html_forest *forest);

#endif
