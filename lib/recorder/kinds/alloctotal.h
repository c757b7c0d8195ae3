#ifndef CPROF_RECORDER_KINDS_ALLOCTOTAL_H
#define CPROF_RECORDER_KINDS_ALLOCTOTAL_H

/* How many blocks a sampled block stands for.  The sum over all samples keeps close to the bytes
 * that the library has counted, so a profile's total is off by a few means at most. */

#include <stdint.h>

#include "source/allocformat.h"

/* Zeros: no sample yet. */
struct alloctotal {
	double missing_bytes;      /* were allocated, and no sample stands for them yet */
};

/* The next sample, of any thread, in the order of the ring.  n_bytes and the mean are not 0; the
 * rest may be any number. */
double alloctotal_blocks(struct alloctotal *t, uint64_t n_bytes,
			 const struct allocformat_tail *tail);

#endif
