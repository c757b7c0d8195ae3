#ifndef CPROF_INTERP_INTERP_SHARED_H
#define CPROF_INTERP_INTERP_SHARED_H

/*
 * What the processes of one interpreter have in common.  A short process ends before it has taught
 * who calls whom, but the next one does the same.  Functions have other addresses there, so they
 * are known by their names, files and sizes; and callers by distance (interp-base.h) do not depend
 * on addresses.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashindex.h"
#include "base/vec.h"
#include "interp/interp-chains.h"
#include "interp/interp-ops.h"

struct interp_base;

struct interp_shared {
	/* Private. */
	VEC(struct interp_function) v;  /* a function's number is its index */
	struct hashindex index;
	struct interp_chains chains;    /* of numbers; offsets are lines */
	uint32_t n_clears;              /* numbers are valid until it changes */
};
void interp_shared_done(struct interp_shared *s);

/* One process. */
struct interp_shared_view {
	struct interp_shared *shared;   /* borrowed; NULL: it shares nothing */
	/* Private. */
	VEC(uint32_t) code;             /* by number, of functions known by name only */
	size_t n_calls;                 /* that were handed over */
	uint32_t n_chains;              /* likewise */
	uint32_t n_clears;
	struct interp_chain chain;      /* the present one */
};
void interp_shared_view_done(struct interp_shared_view *v);

/* The process's functions have new codes, and its calls were forgotten. */
void interp_shared_renew(struct interp_shared_view *v);

/* Hands over a reading of a thread, and the calls that the process has learned since. */
void interp_shared_add(struct interp_shared_view *v, const struct interp_runtime *r,
		       const struct interp_chain *chain, const struct interp_calls *calls);

/* As interp_calls_has_first, in any process. */
bool interp_shared_has_first(struct interp_shared_view *v, const struct interp_runtime *r,
			     const struct interp_base *base, uint32_t callee);

/* A function with its frame, in an activation. */
struct interp_shared_place {
	const struct interp_base *base;
	enum interp_entry entry;
	uint32_t code;
	uint64_t frame;
	bool are_several;               /* the process itself knows several ways of calls there */
};

/* Its callers, by what all processes have taught: *ret_n, innermost first, with lines (0: unknown)
 * instead of offsets.  False: they are unknown. */
bool interp_shared_find(struct interp_shared_view *v, const struct interp_runtime *r,
			const struct interp_shared_place *at,
			struct interp_link ret[INTERP_CALLS_DEPTH], size_t *ret_n);

#endif
