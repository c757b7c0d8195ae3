#ifndef CPROF_VIEW_HTML_HTML_SIDE_H
#define CPROF_VIEW_HTML_HTML_SIDE_H

/*
 * One profile of a set: the frames of its locations, its labels and its units.
 */

#include "view/html/html-tables.h"
#include "view/html/html.h"
#include "view/table/rows.h"

struct html_side {
	const struct html_part *part;
	struct rows *rows;
	VEC(uint32_t) frame;             /* of locations, innermost first */
	size_t *first;                   /* by location: index in frame */
	uint32_t *labels;                /* by label set of the model */
	uint32_t *type;                  /* the model's type for each of fresh's */
	double *ratio;                   /* from its unit to fresh's */
};

/* fresh is the model whose types are shown.  *s must be zero; free it with html_side_done() in any
 * case.  0, an error of rows_new(), or 0 with tables->failed set. */
int html_side_open(struct html_tables *tables, struct html_side *s, const struct html_part *part,
		   const struct model *fresh, struct err *e);
void html_side_done(struct html_side *s);

/* A value of that type of fresh, in fresh's unit. */
int64_t html_scaled(const struct html_side *s, uint32_t type, int64_t value);

/* The same, of a sample of the model. */
int64_t html_value(const struct html_side *s, uint32_t sample, uint32_t type);

#endif
