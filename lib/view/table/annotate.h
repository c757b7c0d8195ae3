#ifndef CPROF_VIEW_TABLE_ANNOTATE_H
#define CPROF_VIEW_TABLE_ANNOTATE_H

/*
 * What the source lines, or the instructions, of some functions cost.  flat: samples whose
 * innermost frame stands there; cum: with what was called from there.  A sample counts once for a
 * line or an instruction, and once for its function.
 */

#include "view/model/filter.h"
#include "view/model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* A function as people see it: its name, in one source file, of one binary. */
struct annotate_function {
	const char *name, *system_name, *filename;
	uint32_t mapping;              /* index, or MODEL_NONE: the one of its first frame */
	int64_t start_line, flat, cum;
	size_t first, n;               /* in spot */
};

struct annotate_spot {
	uint64_t at;                   /* line number, or address as in the profile */
	int64_t flat, cum;
	int64_t line;                  /* with addresses: of the source */
};

struct annotate {
	struct annotate_function *function;   /* the most expensive first, by cum */
	uint32_t n_functions;
	struct annotate_spot *spot;           /* ascending within a function */
	size_t n_spots;
	int64_t total;                        /* of the whole profile */
};

/* Functions whose name matches the regex.  by_address: spots are addresses, else lines.  f may
 * be NULL.  -ENOENT: none; -EINVAL (is_usage): a bad regex; -ENOMEM. */
int annotate_new(const struct model *m, const struct filter *f, uint32_t type, const char *regex,
		 bool by_address, struct annotate **ret, struct err *e);
void annotate_free(struct annotate *a);

#endif
