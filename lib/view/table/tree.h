#ifndef CPROF_VIEW_TABLE_TREE_H
#define CPROF_VIEW_TABLE_TREE_H

/*
 * Stacks as a tree of rows (rows.h): from the root of the stacks, or from the frames of one
 * function to its callees or to its callers.  A sample enters the tree at the outermost frame of
 * that function and is counted once, so a node's own value and those of its children add up.
 */

#include "base/cleanup.h"
#include "view/model/filter.h"
#include "view/model/model.h"
#include "view/table/rows.h"

struct err;

struct tree_node {
	uint32_t parent, first_child, next_sibling;  /* 0 if none; node 0 is the root */
	uint32_t row;                                /* MODEL_NONE for node 0 */
	int64_t flat, cum;     /* of walks that end here; including those below */
	bool is_inlined;       /* into its parent, in all samples */
};

struct tree {
	struct tree_node *node;     /* parents before children */
	uint32_t n_nodes;
	int64_t total;              /* sum of the absolute values of all samples */
	const struct rows *rows;    /* borrowed */
};

enum tree_way { TREE_ALL, TREE_CALLEES, TREE_CALLERS };

/* start: by row, whether the tree begins there (for TREE_CALLEES and TREE_CALLERS).  Children are
 * sorted, largest first.  f may be NULL.  -ENOMEM with e set. */
int tree_new(const struct model *m, const struct filter *f, const struct rows *r, uint32_t type,
	     enum tree_way way, const bool *start, struct tree **ret, struct err *e);
void tree_free(struct tree *t);
CLEANUP_DEFINE(struct tree, tree_free)

/* The rows that NAME selects: those with exactly this name, else those that match it as a regex.
 * *ret has n_rows elements; the caller frees it.  -ENOENT: no such row; -EINVAL: a bad regex. */
int tree_find_rows(const struct rows *rows, const char *option, const char *name, bool **ret,
		   struct err *e);

#endif
