#ifndef CPROF_VIEW_HTML_HTML_TREE_H
#define CPROF_VIEW_HTML_HTML_TREE_H

/*
 * The tree of stacks of a page, without the boxes that are too small to matter.  In a profile with
 * many distinct stacks nearly all boxes belong to chains that a single sample has; with all of them
 * a page would be too large for a browser.
 *
 * The HTML_TREE_NODES largest boxes are kept, and all with at least HTML_TREE_SHARE_MIN of the
 * whole.  The smaller callees of a box are folded into one box with the sum of their samples.  Rows
 * of tables get what is in folded boxes from struct html_sums, so tables stay exact.
 */

#include "view/html/html-side.h"

#define HTML_TREE_NODES 200000u
#define HTML_TREE_SHARE_MIN 1e-4

/* Node 0 is the root, which has no frame; as a child or sibling, 0 means that there is none. */
struct html_node {
	uint32_t parent, frame, first_child, last_child, next_sibling;
	uint32_t number;                 /* the place in preorder; 0: not in the page */
	uint32_t first, n;               /* its samples, a range of items */
	uint32_t n_ended;                /* how many of them, at the start, end here */
	uint32_t n_folded;               /* callees that were folded into this box */
	double weight;                   /* share of the whole */
};

/* A sample on its way from the root to its leaf. */
struct html_item {
	size_t at;                       /* the present location, in stack_location */
	uint32_t n, n_frames;            /* locations to come; frames to come of the present one */
	float weight;
	uint32_t sample : 31, side : 1;  /* sample of that side's model */
};

/* A sample of the page: the model's with that index, or the sum of several. */
struct html_sample { uint32_t node, labels, index, first_value; };
#define HTML_SAMPLE_FOLDED UINT32_MAX    /* an index: see first_value */

/* The contents of folded boxes by row: the cost of frames, and of the stacks with a row of each
 * kind that the boxes above do not have. */
struct html_sums {
	VEC(int64_t) value;              /* by row and type */
	VEC(uint32_t) frame;             /* by row: 1 + a frame of it; 0: the row has no value */
};
enum { HTML_SUMS_FLAT, HTML_SUMS_CUM, HTML_SUMS = HTML_SUMS_CUM + ROWS_LABEL };

struct html_tree {
	uint32_t max_nodes;              /* for tests: replaces both limits above; 0: it does not */
	VEC(struct html_node) nodes;
	VEC(struct html_item) items;
	VEC(struct html_sample) samples[2];  /* of each side, by node and label set */
	VEC(int64_t) values;             /* of sums of samples */
	struct html_sums sums[2][HTML_SUMS]; /* of each side; FLAT by frame, CUM + x by rows_by x */
	uint32_t n_numbered;             /* nodes of the page, without the root */
	bool is_folded;
	double folded_max;               /* is_folded: no folded box had a larger share */
};

/* Makes the tree of one or two sides.  *t must be zero except for max_nodes; free it with
 * html_tree_done in any case.  0, an error of rows_new(), or 0 with tables->failed set. */
int html_tree_make(struct html_tree *t, struct html_tables *tables, struct html_side *side,
		   int n_sides, uint32_t n_types, struct err *e);
void html_tree_done(struct html_tree *t);

#endif
