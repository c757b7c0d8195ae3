#ifndef CPROF_VIEW_TABLE_TOP_H
#define CPROF_VIEW_TABLE_TOP_H

/*
 * What each row (rows.h: a function, a line ...) costs.  flat: in its own code; cum: in it and in
 * what it called, a stack with the row several times counted once.  The numbers are
 * those of `go tool pprof -top`.
 */

#include "view/model/filter.h"
#include "view/model/model.h"
#include "view/table/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct top_row {
	uint32_t row;                /* in the rows it was made of */
	int64_t flat, cum;           /* in the unit of the sample type */
	double flat_var, cum_var;    /* their variance as random sums of samples; 0: unknown */
};

struct top {
	struct top_row *row;         /* those with any value; sorted by flat */
	uint32_t n_rows;
	int64_t total;               /* sum of the absolute values of all samples */
	int64_t shown;               /* of those that the filter leaves and that have a row */
	double total_var;
	bool has_var;                /* the profile says how many samples a value is made of */
	const struct rows *rows;     /* borrowed */
};

/* f may be NULL.  -ENOMEM with e set. */
int top_new(const struct model *m, const struct filter *f, const struct rows *r, uint32_t type,
	    struct top **ret, struct err *e);
void top_free(struct top *t);

/* Largest first, by absolute value; rows alike are in the order of their names. */
enum top_order { TOP_BY_FLAT, TOP_BY_CUM, TOP_BY_NAME };
void top_sort(struct top *t, enum top_order order);

static inline const struct row *top_name(const struct top *t, uint32_t i)
{
	return &t->rows->row[t->row[i].row];
}

#endif
