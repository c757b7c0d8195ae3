#ifndef CPROF_VIEW_TABLE_ROWS_H
#define CPROF_VIEW_TABLE_ROWS_H

/*
 * The rows of a report.  Each location has a few rows, innermost first; frames with the same row
 * are counted together.  The kinds of rows:
 *
 *   function   by name; without one, the mapping's file as "[libfoo.so]", or "<unknown>"
 *   line       by function, file and line, as "name file.c:12"
 *   file       by source file; without one as for functions.  Here and for lines, "a/../b" is "b"
 *   module     by the mapping's file
 *   label      by the value of a label; each sample has one row, whatever its frames
 *
 * The flat cost of a sample belongs to its innermost row.  That of a wait belongs to the innermost
 * one outside of the kernel, the C library and the wait functions of runtimes (waitframes.h), since
 * all waits are in the kernel's scheduler.
 */

#include "base/cleanup.h"
#include "view/model/filter.h"
#include "view/model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum rows_by { ROWS_FUNCTION, ROWS_LINE, ROWS_FILE, ROWS_MODULE, ROWS_LABEL };

/* As the label of rows: names of threads, with each number as '#', since the threads of a pool have
 * numbers. */
#define ROWS_POOL_LABEL "thread_name#"

/* A value of --by. */
struct rows_kind {
	const char *name, *plural;
	enum rows_by by;
	const char *label;     /* ROWS_LABEL: its key */
};

/* The i-th kind's name, for completions; NULL after the last. */
const char *rows_kind_name(size_t i);

/* Any name that is not a kind's is the key of a label. */
struct rows_kind rows_kind_find(const char *name);

struct row {
	const char *name;      /* see above; never empty */
	const char *file;      /* source file of the first frame that has one, or "" */
	const char *module;    /* the mapping's file of the first such frame, or "" */
	int64_t line;          /* of the first frame; 0 if unknown */
	bool is_inlined, is_called;  /* seen inlined; seen as a frame of its own */
};

struct rows {
	struct row *row;       /* by row number */
	uint32_t n_rows;
	/* The rows of location l are of[first[l]] to of[first[l + 1] - 1], innermost first.  A
	 * location that is filtered out has no rows. */
	uint32_t *of;
	size_t *first;
	uint32_t *of_labels;   /* ROWS_LABEL: the row of each label set, else NULL */
	unsigned char *waits;  /* by label set: enum waiting_set; NULL: there are no waits */
	uint32_t *n_calls;     /* with waits, by stack: waiting_calls() */
	enum rows_by by;
	struct rows_private *priv;
};

/* f may be NULL; frames that it leaves out have no rows.  label: the key for ROWS_LABEL.  The model
 * must outlive the result.  -ENOENT: no sample has this label (with a hint), but not for
 * "thread_name": other tools have other labels for threads, and one thread needs none; -ENOMEM. */
int rows_new(const struct model *m, const struct filter *f, enum rows_by by, const char *label,
	     struct rows **ret, struct err *e);
void rows_free(struct rows *r);
CLEANUP_DEFINE(struct rows, rows_free)

/* Walks the rows of one sample, leaf first: `for (struct rows_walk w = rows_begin(...);
 * rows_next(&w);)`, with w.row, w.is_inlined and w.is_flat.  f may be NULL. */
struct rows_walk {
	const struct rows *rows;
	const uint32_t *location, *location_end;
	const uint32_t *at, *end;    /* the rest of the current location */
	uint32_t row;
	bool is_inlined;             /* into the next one */
	bool is_flat;                /* the sample's flat cost belongs to this row */
	const uint32_t *flat_from;   /* private: not to locations before this one */
	bool had_flat;               /* private */
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
	w->is_flat = !w->had_flat && (!w->flat_from || w->location > w->flat_from);
	w->had_flat |= w->is_flat;
	return true;
}

#endif
