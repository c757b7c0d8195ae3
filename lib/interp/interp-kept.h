#ifndef CPROF_INTERP_INTERP_KEPT_H
#define CPROF_INTERP_INTERP_KEPT_H

/*
 * What is kept of a sample whose functions may be known later.  If the innermost function of each
 * activation is known, these, until callers are remembered.  Otherwise the activations, with a copy
 * of the part of the stack where they are, until it is known where the loop keeps things.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"
#include "interp/activations.h"

/* The innermost function of an activation. */
struct interp_kept_head {
	uint32_t code, off;
	uint64_t frame, caller_pc;      /* 0: unknown */
	uint32_t node;                  /* of its callers; INTERP_CHAINS_NONE: unknown */
};

struct interp_kept {
	VEC(struct interp_kept_head) head;      /* if there are some, there are no activations */
	uint32_t epoch, n_clears;       /* of functions and of chains, which these belong to */
	uint64_t root;                  /* interp_base_root */
	struct activations activations;
	size_t n_bytes;                 /* of memory that it takes */
	void *stack;                    /* private */
};

/* False: they are too large, or there is no memory. */
bool interp_kept_copy(struct interp_kept *ret, const struct activations *a);
void interp_kept_done(struct interp_kept *k);

#endif
