#ifndef CPROF_VIEW_CONVERT_FOREST_H
#define CPROF_VIEW_CONVERT_FOREST_H

/*
 * The stacks of a profile as one call tree per thread, for formats that show threads separately.
 * The labels pid, tid and thread_name (or thread) identify a thread; all samples without them
 * belong to one unnamed thread.
 */

#include "base/cleanup.h"
#include "view/model/model.h"
#include "view/table/rows.h"

struct err;

/* What a frame is: a row, or a place, which is one row of one location (an index into rows->of). */
enum forest_by { FOREST_ROWS, FOREST_PLACES };

struct forest_thread {
	int64_t pid, tid;           /* from labels; else numbered from 1 */
	uint32_t name, process;     /* string ids: most of its time had them; 0: unknown */
	int64_t total;
};

struct forest_node {
	uint32_t parent;            /* MODEL_NONE for the outermost; else < the node's index */
	uint32_t thread, frame;
	int64_t self, total;
};

struct forest {
	struct forest_thread *thread; uint32_t n_threads;
	struct forest_node *node;     uint32_t n_nodes;   /* parents before children */
	uint32_t *leaf;               /* by sample; MODEL_NONE if left out or without frames */
	uint32_t *thread_of;          /* by label set; MODEL_NONE if no sample has the set */
	uint32_t n_left_out;          /* samples with negative values */
};

#define FOREST_NEGATIVE 1u     /* keep samples with negative values */
#define FOREST_ONE_THREAD 2u   /* ignore labels */

/* Builds the trees of one sample type, without samples of value 0.  -ENOMEM with e set. */
int forest_new(const struct model *m, const struct rows *r, uint32_t type, enum forest_by by,
	       unsigned flags, struct forest **ret, struct err *e);
void forest_free(struct forest *f);
CLEANUP_DEFINE(struct forest, forest_free)

#endif
