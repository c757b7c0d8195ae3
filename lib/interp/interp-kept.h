#ifndef CPROF_INTERP_INTERP_KEPT_H
#define CPROF_INTERP_INTERP_KEPT_H

/*
 * The activations of a sample, with a copy of the part of its stack where they are: for samples at
 * the start, before it is known where a loop keeps things, or before callers are remembered.
 */

#include <stdbool.h>
#include <stddef.h>

#include "interp/activations.h"

struct interp_kept {
	struct activations activations;
	size_t n_bytes;                 /* of memory that it takes */
	void *stack;                    /* private */
};

/* False: they are too large, or there is no memory. */
bool interp_kept_copy(struct interp_kept *ret, const struct activations *a);
void interp_kept_done(struct interp_kept *k);

#endif
