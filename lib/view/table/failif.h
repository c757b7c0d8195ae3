#ifndef CPROF_VIEW_TABLE_FAILIF_H
#define CPROF_VIEW_TABLE_FAILIF_H

/*
 * A condition on a comparison, for scripts that must fail if a program has become slower:
 *
 *	flat(NAME) > +2%      cum(NAME) >= 30%      total > +5%      flat(*) > +1%
 *
 * flat and cum apply to the row NAME, or to any row with '*'; total to the whole profile.
 * Operators: > >= < <=.  The number is one of:
 *
 *   +2%     with a sign: the change from base to new, in percentage points if rows are shares of
 *           the total, else in percent of base's value
 *   30%     the new value's share of the total
 *   120ms   the new value itself, per second if the comparison is
 *
 * A change must also be significant, if that is known: noise fulfils no condition.  This is less
 * strict than in the table (diff.h), since a condition is about one row, or about large rows.
 */

#include "view/table/diff.h"

struct err;

enum failif_metric { FAILIF_FLAT, FAILIF_CUM, FAILIF_TOTAL };

struct failif {
	const char *text;       /* borrowed, for messages */
	char *name;             /* NULL: any row, or total */
	enum failif_metric metric;
	bool is_greater, or_equal, is_change, is_percent;
	double number;
	char unit[16];          /* "" with percent */
};

/* -EINVAL (is_usage), -ENOMEM. */
int failif_parse(struct failif *g, const char *text, struct err *e);
void failif_done(struct failif *g);

/* unit: of the values.  1: it holds, for *ret_row (NULL for total); 0: it does not hold;
 * -ENOENT: no such row in either profile; -EINVAL: incompatible units, or a unit for a share. */
int failif_holds(const struct failif *g, const struct diff *d, const char *unit,
		 const struct diff_row **ret_row, struct err *e);

#endif
