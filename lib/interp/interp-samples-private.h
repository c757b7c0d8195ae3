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
	bool is_cut;                    /* a copy ends before that; not with is_read */
	size_t caller, n_callers;       /* with either: in the chain */
	uint32_t node;                  /* of its callers; INTERP_CHAINS_NONE: unknown */
	enum interp_quality quality;
};

/* Finds a frame in a chain that was read, from *at on.  A function whose frame is missing has
 * returned: its memory may still look like a frame, but not that of its callers. */
bool interp_samples_find(const struct interp_chain *c, uint64_t frame, size_t *at);

/* Looks for the callers of all parts.  is_whole: the stack reaches the thread's first function;
 * is_early: the thread was read at once. */
void interp_samples_callers(struct interp_samples *s, const struct interp_runtime *r, bool is_whole,
			    bool is_early);

/* The index after the last function of the activation that the one at index `at` belongs to.
 * False: there is none. */
bool interp_samples_end(const struct interp_chain *c, size_t at, size_t *ret);

/* The frames of all parts, and of those further out if the stack is not whole.  Returns how sure
 * they are; INTERP_QUALITY_UNKNOWN: there are none, or no memory. */
enum interp_quality interp_samples_frames(struct interp_samples *s,
					  const struct interp_runtime *r, bool is_whole,
					  struct interp_frames *ret);

#endif
