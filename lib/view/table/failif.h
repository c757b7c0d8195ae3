#ifndef CPROF_VIEW_TABLE_FAILIF_H
#define CPROF_VIEW_TABLE_FAILIF_H

/*
 * A condition on a comparison, for scripts that must fail when a program got slower:
 *
 *	flat(NAME) > +2%      cum(NAME) >= 30%      total > +5%      flat(*) > +1%
 *
 * flat, cum: of the row NAME, or of any row with '*'; total: of everything.  Operators:
 * > >= < <=.  A number with a sign is about the change from base to new: in percentage points
 * where rows are shares of the total, in percent of base's value otherwise.  One without
 * sign is about the new value alone: its share of the total in percent, or
 * with a unit ("120ms") the value itself, per second or not, as the comparison is.
 * A change holds only if it is significant, too, where that is known: noise fails no gate.
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

/* unit: of the values.  *ret_row: the row for which it holds (NULL with total), so far as it is
 * true.  1: it holds; 0: it does not; -ENOENT: no such row in either profile; -EINVAL: units
 * that do not compare, or a change of a share wanted by unit. */
int failif_holds(const struct failif *g, const struct diff *d, const char *unit,
	       const struct diff_row **ret_row, struct err *e);

#endif
