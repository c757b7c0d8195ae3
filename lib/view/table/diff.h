#ifndef CPROF_VIEW_TABLE_DIFF_H
#define CPROF_VIEW_TABLE_DIFF_H

/*
 * What has changed between two profiles, row by row (rows.h; rows are the same when
 * their names are), and whether that is more than chance.
 *
 * A profile is a sample: recorded again, a row of n samples would have about sqrt(n) more or
 * fewer.  The standard error of a change says how much of that to expect; a change is called
 * significant when it is so many standard errors that, all rows of the table taken together,
 * chance does it in fewer than one of a hundred comparisons (Bonferroni).
 * That is about the sampling alone: what differs from run to run of the program is a change.
 */

#include "view/table/top.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum diff_norm {
	DIFF_SHARE,       /* part of the total of its profile, 0..1 */
	DIFF_PER_SECOND,  /* of the profile's duration */
	DIFF_ABSOLUTE,    /* the values as they are */
};

struct diff_side { int64_t raw; double value, var; };  /* value: normalised */
struct diff_change {
	struct diff_side base, fresh;
	double delta;        /* fresh - base, normalised */
	double se;           /* standard error of delta; 0: unknown */
	bool is_significant;
};
struct diff_row {
	const struct row *row;    /* of fresh where it has one, else of base */
	struct diff_change flat, cum;
};

struct diff {
	struct diff_row *row;     /* significant first, then by the size of the change of flat */
	uint32_t n_rows;
	struct diff_change total;
	enum diff_norm norm;
	bool has_var;
	double z_needed;          /* so many standard errors are significant */
	uint32_t n_significant;
};

/* base and fresh must outlive the result; both of one sample type, with one unit: unit_ratio
 * is how many of fresh's unit one of base's is.  -EINVAL: DIFF_PER_SECOND
 * of a profile without a duration; -ENOMEM. */
int diff_new(const struct top *base, double base_seconds, const struct top *fresh,
	     double fresh_seconds, double unit_ratio, enum diff_norm norm, struct diff **ret,
	     struct err *e);
void diff_free(struct diff *d);

/* By the change of cum instead. */
void diff_sort(struct diff *d, enum top_order order);

/* The row with this name, or NULL. */
const struct diff_row *diff_find(const struct diff *d, const char *name);

#endif
