#ifndef CPROF_VIEW_TABLE_TREE_H
#define CPROF_VIEW_TABLE_TREE_H

/*
 * Stacks as a tree of rows (rows.h): from the root of the program down, or from the frames of
 * one function to what it calls or to who calls it.  A sample's part of the tree begins at the
 * outermost frame of that function; it is counted once, so the values of a node's children
 * add up to what is not its own.
 */

#include "view/model/filter.h"
#include "view/model/model.h"
#include "view/table/rows.h"

struct err;

struct tree_node {
	uint32_t parent, first_child, next_sibling;  /* 0: none; node 0 is the root of all */
	uint32_t row;                                /* MODEL_NONE for node 0 */
	int64_t flat, cum;     /* where the walk ended here; and below it, too */
	bool is_inlined;       /* into its parent, as often as it was seen */
};

struct tree {
	struct tree_node *node;     /* parents before children */
	uint32_t n_nodes;
	int64_t total;              /* sum of absolute values of all samples of the profile */
	const struct rows *rows;    /* borrowed */
};

enum tree_way { TREE_ALL, TREE_CALLEES, TREE_CALLERS };

/* start: by row, whether the tree begins there (for TREE_CALLEES and TREE_CALLERS).
 * Children are sorted, largest first.  f may be NULL.  -ENOMEM, -E2BIG with e set. */
int tree_new(const struct model *m, const struct filter *f, const struct rows *r, uint32_t type,
	     enum tree_way way, const bool *start, struct tree **ret, struct err *e);
void tree_free(struct tree *t);

/* Which rows a NAME means: those called exactly so, else those that the regex matches.
 * *ret has n_rows elements, freed by the caller.  -ENOENT: none; -EINVAL: a bad regex. */
int tree_find_rows(const struct rows *r, const char *option, const char *name, bool **ret,
		   struct err *e);

#endif
