#ifndef CPROF_VIEW_TABLE_DIFF_H
#define CPROF_VIEW_TABLE_DIFF_H

/*
 * What has changed between two profiles, row by row (rows.h), and whether it exceeds chance.  Rows
 * with the same name are the same; several of one name in a table are matched in their order.
 *
 * A profile is a random sample: in another recording, a row of n samples would have about sqrt(n)
 * more or fewer.  The standard error of a change quantifies this.  This covers only the sampling: a
 * difference between two runs of the program is a change.  If both profiles have several runs
 * (runs.h), standard errors are those of the scatter of the runs, if they are larger, and
 * Student's distribution is used.  If the runs are pairs, what both runs of a pair have in common,
 * such as the load of the machine, is no scatter.
 *
 * A change is significant if chance causes any such change in the whole table in fewer than one of
 * a hundred comparisons (Bonferroni).
 */

#include "base/cleanup.h"
#include "view/table/runs.h"
#include "view/table/top.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum diff_norm {
	DIFF_SHARE,       /* part of the profile's total, 0..1 */
	DIFF_PER_SECOND,  /* of the profile's duration */
	DIFF_ABSOLUTE,    /* plain values; if both profiles have runs, for each run */
};

#define DIFF_CHANCE 0.01  /* of an error in a table, or in a condition (failif.h) */

struct diff_side {
	int64_t raw;
	double value;        /* normalised */
	double var;          /* of the sampling */
};
struct diff_change {
	struct diff_side base, fresh;
	double delta;        /* fresh - base, normalised */
	double se;           /* standard error of delta; 0 if unknown */
	double chance;       /* of at least this change without a real one; 1 if unknown */
	bool is_significant;
};
struct diff_row {
	const struct row *row;    /* of fresh if it has one, else of base */
	struct diff_change flat, cum;
	bool is_joined;           /* private: fresh has it */
};

struct diff {
	struct diff_row *row;     /* significant first, then by change of flat */
	uint32_t n_rows;
	struct diff_change total;
	struct diff_change absolute;  /* the total in plain values, whatever norm is */
	enum diff_norm norm;
	bool has_var;
	double z_needed;          /* standard errors that are significant, if there are no runs */
	uint32_t base_runs, fresh_runs;  /* 0: one of the profiles has none, and none are used */
	bool has_pairs;
	uint32_t n_significant;
};

/* runs may be NULL, else it has the rows of top. */
struct diff_input {
	const struct top *top;
	const struct runs *runs;
	double seconds;
	bool has_pairs;      /* with the runs of the other input: set it in both */
};

/* base and fresh must have one sample type and outlive the result.  unit_ratio: base's unit divided
 * by fresh's.  -EINVAL: DIFF_PER_SECOND for a profile without a duration; -ENOMEM. */
int diff_new(const struct diff_input *base, const struct diff_input *fresh, double unit_ratio,
	     enum diff_norm norm, struct diff **ret, struct err *e);
void diff_free(struct diff *d);
CLEANUP_DEFINE(struct diff, diff_free)

/* Significant changes first, then the largest; TOP_BY_NAME: by name only. */
void diff_sort(struct diff *d, enum top_order order);

/* The row with the largest significant change of flat, or, if there is none, of cum; of shares the
 * one that changed like the total, if that changed.  NULL: no row changed significantly.
 * *ret_change is that change. */
const struct diff_row *diff_largest(const struct diff *d, const struct diff_change **ret_change);

/* The row with this name, or NULL. */
const struct diff_row *diff_find(const struct diff *d, const char *name);

#endif
