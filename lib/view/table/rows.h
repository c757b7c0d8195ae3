#ifndef CPROF_VIEW_TABLE_ROWS_H
#define CPROF_VIEW_TABLE_ROWS_H

/*
 * What the frames of a profile are called in a report: each location becomes a few rows,
 * innermost first, and frames with the same row are one thing.
 *
 *   function   by name; without one, the mapping's file as "[libfoo.so]", or "<unknown>"
 *   line       by function, file and line, as "name file.c:12"
 *   file       source file; without one as for functions.  Here and with lines "a/../b" is "b"
 *   module     the mapping's file
 *   label      the values of a label ("thread" is the label thread_name); frames play no
 *              part: a sample is one row
 */

#include "view/model/filter.h"
#include "view/model/model.h"

#include <stdbool.h>

struct err;

enum rows_by { ROWS_FUNCTION, ROWS_LINE, ROWS_FILE, ROWS_MODULE, ROWS_LABEL };

struct row {
	const char *name;      /* as above; never empty */
	const char *file;      /* source file, of the first frame that had one; "" */
	const char *module;    /* the mapping's file, of the first frame that had one; "" */
	int64_t line;          /* of the first frame; 0: unknown */
	bool is_inlined, is_called;  /* seen as an inlined frame; as a frame of its own */
};

struct rows {
	struct row *row;       /* by row number */
	uint32_t n_rows;
	/* Rows of location l: of[first[l]] .. of[first[l + 1] - 1], innermost first; none if it is
	 * filtered out. */
	uint32_t *of;
	size_t *first;
	uint32_t *of_labels;   /* ROWS_LABEL: the row of each label set, else NULL */
	enum rows_by by;
	struct rows_private *priv;
};

/* f: filtered frames have no rows; may be NULL.  label: the key for ROWS_LABEL.  The model must
 * outlive the result.  -ENOENT: no sample has this label (with a hint); -ENOMEM. */
int rows_new(const struct model *m, const struct filter *f, enum rows_by by, const char *label,
	     struct rows **ret, struct err *e);
void rows_free(struct rows *r);

/* The rows of one sample, leaf first: `for (struct rows_walk w = rows_begin(...);
 * rows_next(&w);)` and w.row, w.is_inlined.  f may be NULL. */
struct rows_walk {
	const struct rows *rows;
	const uint32_t *location, *location_end;
	const uint32_t *at, *end;    /* what is left of the current location */
	uint32_t row;
	bool is_inlined;             /* into the next one */
};
struct rows_walk rows_begin(const struct rows *r, const struct model *m, const struct filter *f,
			    uint32_t sample);
static inline bool rows_next(struct rows_walk *w)
{
	while (w->at == w->end) {
		if (w->location == w->location_end)
			return false;
		w->at = w->rows->of + w->rows->first[*w->location];
		w->end = w->rows->of + w->rows->first[*w->location + 1];
		w->location++;
	}
	w->row = *w->at++;
	w->is_inlined = w->at != w->end;
	return true;
}

#endif
