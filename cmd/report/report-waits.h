#ifndef CPROF_CMD_REPORT_REPORT_WAITS_H
#define CPROF_CMD_REPORT_REPORT_WAITS_H

/* The lines above a table of waits: its states, its threads, and what is left out as idle. */

#include "view/model/filter.h"
#include "view/table/rows.h"
#include "view/table/top.h"

struct err;
struct report;
struct report_options;
struct report_view;

/* A profile split by a label; NULL: it lacks the label. */
struct report_split {
	struct rows *rows;
	struct top *top;
};

struct report_waits {
	struct report_split state, pool;
	struct filter *only_idle;     /* what report_view.f leaves out as idle; NULL: nothing */
	struct report_split idle;
};

/* Empty unless the values are thread time.  -ENOMEM; close in any case. */
int report_waits_open(struct report_waits *w, const struct report_view *v,
		      const struct report_options *o, struct err *e);
void report_waits_close(struct report_waits *w);

/* As lines, or as further members of a JSON object. */
void report_waits_print(const struct report *r);
void report_waits_json(const struct report *r);

#endif
