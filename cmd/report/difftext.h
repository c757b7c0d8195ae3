#ifndef CPROF_CMD_REPORT_DIFFTEXT_H
#define CPROF_CMD_REPORT_DIFFTEXT_H

/* The text of cprof report --diff: totals, a verdict, and the table of changes. */

#include "view/model/scale.h"
#include "view/table/diff.h"

#include <stdbool.h>

struct report;
struct report_view;

struct difftext {
	const struct report *r;
	const struct diff *d;
};

/* A value of norm: "12.34%" for a share, otherwise in the unit of the table. */
const char *difftext_value(const struct difftext *p, enum diff_norm norm, double value,
			   bool with_sign, char buf[SCALE_TEXT_MAX]);

void difftext_print(const struct difftext *p, const struct report_view *base);

#endif
