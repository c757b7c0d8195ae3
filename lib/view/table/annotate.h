#ifndef CPROF_VIEW_TABLE_ANNOTATE_H
#define CPROF_VIEW_TABLE_ANNOTATE_H

/*
 * The cost of the source lines, or the instructions, of some functions.  flat: samples whose
 * innermost frame is there; cum: including callees.  A sample counts once per line or instruction,
 * and once per function.
 */

#include "base/cleanup.h"
#include "view/model/filter.h"
#include "view/model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* A function as users see it: a name in one source file of one binary. */
struct annotate_function {
	const char *name, *system_name, *filename;
	uint32_t mapping;              /* of its first frame; MODEL_NONE if unknown */
	int64_t start_line, flat, cum;
	size_t first, n;               /* in spot */
};

struct annotate_spot {
	uint64_t at;                   /* line number, or address in the profile */
	int64_t flat, cum;
	int64_t line;                  /* for addresses: the source line */
};

struct annotate {
	struct annotate_function *function;   /* the most expensive by cum first */
	uint32_t n_functions;
	struct annotate_spot *spot;           /* ascending within a function */
	size_t n_spots;
	int64_t total;                        /* of the whole profile */
};

/* Annotates functions whose name matches the regex.  by_address: spots are addresses, else lines.
 * f may be NULL.  -ENOENT: no such function; -EINVAL (is_usage): a bad regex; -ENOMEM. */
int annotate_new(const struct model *m, const struct filter *f, uint32_t type, const char *regex,
		 bool by_address, struct annotate **ret, struct err *e);
void annotate_free(struct annotate *a);
CLEANUP_DEFINE(struct annotate, annotate_free)

/* Adds up the spots of fn at addresses from start up to, but not including, end.  Returns their
 * number. */
size_t annotate_sum(const struct annotate *a, const struct annotate_function *fn, uint64_t start,
		    uint64_t end, int64_t *ret_flat, int64_t *ret_cum);

#endif
