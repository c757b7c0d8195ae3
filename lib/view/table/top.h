#ifndef CPROF_VIEW_TABLE_TOP_H
#define CPROF_VIEW_TABLE_TOP_H

/*
 * The cost of each row (rows.h: a function, a line ...).  flat is its own cost; cum includes its
 * callees and counts a stack once even if the row occurs in it several times.  The numbers are
 * those of `go tool pprof -top`, except for the flat cost of waits (rows.h).
 */

#include "base/cleanup.h"
#include "view/model/filter.h"
#include "view/model/model.h"
#include "view/table/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct top_row {
	uint32_t row;                /* index in rows */
	int64_t flat, cum;           /* in the unit of the sample type */
	double flat_var, cum_var;    /* variance as random sums of samples; 0 if unknown */
};

struct top {
	struct top_row *row;         /* rows with a value, sorted by flat */
	uint32_t n_rows;
	int64_t total;               /* sum of the absolute values of all samples, but idle ones */
	int64_t shown;               /* of the samples that pass the filter and have a row */
	double total_var;
	bool has_var;                /* the profile says how many samples make up a value */
	const struct rows *rows;     /* borrowed */
};

/* f may be NULL.  -ENOMEM with e set. */
int top_new(const struct model *m, const struct filter *f, const struct rows *r, uint32_t type,
	    struct top **ret, struct err *e);
void top_free(struct top *t);
CLEANUP_DEFINE(struct top, top_free)

/* Largest absolute value first; equal rows are sorted by name. */
enum top_order { TOP_BY_FLAT, TOP_BY_CUM, TOP_BY_NAME, TOP_N_ORDERS };

/* "flat", "cum" ...; NULL after the last. */
const char *top_order_name(size_t i);

void top_sort(struct top *t, enum top_order order);

static inline const struct row *top_name(const struct top *t, uint32_t i)
{
	return &t->rows->row[t->row[i].row];
}

#endif
