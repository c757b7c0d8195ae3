#ifndef CPROF_INTERP_INTERP_SAMPLES_PRIVATE_H
#define CPROF_INTERP_INTERP_SAMPLES_PRIVATE_H

/* Shared by the files of interp-samples.h. */

#include "interp/interp-samples.h"

/* An activation: its innermost function, and its callers. */
struct interp_samples_part {
	uint32_t code, off;
	uint64_t frame;                 /* 0: unknown */
	uint64_t caller_pc;             /* 0: unknown */
	bool was_known;                 /* node, in a sample that was kept */
	bool is_read;                   /* its callers lead to the next activation */
	size_t first, n;                /* if so: its functions in the chain */
	uint32_t node;                  /* of its callers; INTERP_CHAINS_NONE: unknown */
	enum interp_quality quality;
};

/* The index after the last function of the activation that the one at index `at` belongs to.
 * False: there is none. */
bool interp_samples_end(const struct interp_chain *c, size_t at, size_t *ret);

/* The frames of all parts, and of those further out if the stack is not whole.  Returns how sure
 * they are; INTERP_QUALITY_UNKNOWN: there are none, or no memory. */
enum interp_quality interp_samples_frames(struct interp_samples *s,
					  const struct interp_runtime *r, bool is_whole,
					  struct interp_frames *ret);

#endif
