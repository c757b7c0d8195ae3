#ifndef CPROF_INTERP_INTERP_BASE_H
#define CPROF_INTERP_INTERP_BASE_H

/*
 * Where the frames of an activation begin: after the frame of the innermost function of the next
 * activation further out, which has called this one.  So an activation whose innermost function's
 * frame is there executes no other function, but perhaps a generator, whose frame is elsewhere: see
 * interp-entries.h.  And the
 * distance from there says which callers there are between, wherever the activation is in the
 * thread's memory.
 */

#include <stddef.h>
#include <stdint.h>

#include "interp/interp-chains.h"
#include "interp/interp-entries.h"
#include "interp/interp-ops.h"

/* The innermost function of an activation, in a sample or in a reading. */
struct interp_base_head {
	uint32_t code, off;             /* INTERP_NO_CODE: unknown */
	uint64_t frame;                 /* 0: unknown */
};

struct interp_base {
	uint64_t at;                    /* 0: unknown */
	uint32_t outer_code, line;      /* of the caller, or INTERP_BASE_ROOT; line: only if `at`
					 * is known */
	uint64_t outer;                 /* its frame; 0: there is no such activation */
};

/* Instead of a function, outside of a thread's outermost activation. */
#define INTERP_BASE_ROOT (UINT32_MAX - 2)

/* Where the frames of a thread begin, by all functions that it executes; 0: unknown. */
uint64_t interp_base_root(const struct interp_runtime *r, const struct interp_chain *chain);

/* That of the activation that the first of n heads has called; the others are further out.  root:
 * where those of the thread begin, or 0. */
struct interp_base interp_base_find(const struct interp_runtime *r,
				    const struct interp_base_head *outer, size_t n, uint64_t root);

/* Does the activation execute only that function?  entry: what native code has called. */
bool interp_base_is_alone(const struct interp_runtime *r, const struct interp_base *base,
			  enum interp_entry entry, uint32_t code, uint64_t frame);

/* Is the frame so far from `at` that both may be in one piece of memory? */
bool interp_base_has(const struct interp_base *base, uint64_t frame);

/* The place of a function in the activation: by distance, if that is known. */
struct interp_chains_place interp_base_place(const struct interp_base *base, uint32_t code,
					     uint64_t frame);

#endif
