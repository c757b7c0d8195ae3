#ifndef CPROF_PROFILE_LESSDETAIL_H
#define CPROF_PROFILE_LESSDETAIL_H

/* What a profile of limited size leaves out. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct names;

/*
 * Chooses about `keep` of all samples (0 < keep < 1), at equal distances in the order of the
 * entries, which have n_samples[] each.  A chosen entry stands for those between it and the last
 * one: it moves to the front of them, and is_folded[] is set for the others, whose values are to be
 * added to its own.  Neighbours have similar stacks, so each function keeps its share within a
 * sample or two.  The seed decides where to begin.  Returns the number of folded samples.
 */
uint64_t lessdetail_thin(uint32_t *entry, size_t n, const uint64_t *n_samples, double keep,
			 uint64_t seed, bool *is_folded);

/*
 * Gives all frames of a function, as it is shown, the location of the first of them: frame[] are
 * n frames in the order of their location[], which begin with 1.  Changes both, and returns the
 * number of frames that are left; SIZE_MAX: out of memory.
 */
size_t lessdetail_fold(const struct names *names, uint32_t *frame, size_t n, uint32_t *location);

#endif
