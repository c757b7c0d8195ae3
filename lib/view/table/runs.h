#ifndef CPROF_VIEW_TABLE_RUNS_H
#define CPROF_VIEW_TABLE_RUNS_H

/*
 * How the rows of a report vary between the runs of a program: of a profile whose samples have the
 * label of `cprof record --repeat` and `cprof merge --runs`.
 */

#include "base/cleanup.h"
#include "view/table/rows.h"

#include <stdbool.h>
#include <stdint.h>

struct err;

struct runs {
	uint32_t n;           /* at least 2 */
	uint64_t *number;     /* by run: the label's value; ascending */
	double *total;        /* by run: as top's */
	double *flat, *cum;   /* [row number * n + run] */
};

/* f may be NULL.  *ret is NULL if there are not at least two runs, if a sample belongs to none, or
 * if there are too many for a table of all values.  -ENOMEM with e set. */
int runs_new(const struct model *m, const struct filter *f, const struct rows *r, uint32_t type,
	     struct runs **ret, struct err *e);

/* Were the runs of both profiles made in turns, and are those with the same number pairs? */
bool runs_are_pairs(const struct model *a, const struct runs *x, const struct model *b,
		    const struct runs *y);

void runs_free(struct runs *r);
CLEANUP_DEFINE(struct runs, runs_free)

#endif
