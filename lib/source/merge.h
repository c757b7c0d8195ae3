#ifndef CPROF_SOURCE_MERGE_H
#define CPROF_SOURCE_MERGE_H

/*
 * Merges one ring per CPU into one stream in time order, without waiting and without copying.
 *
 * A round fetches every ring's head twice.  Whatever caused a record that the first pass saw (an
 * mmap on another CPU, a fork) was written earlier, and is therefore seen by the second pass.  So
 * the rings are merged by time up to the second heads, until every ring has passed its first head.
 * Then the round ends, and the remaining records belong to the next one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/record.h"
#include "source/ring.h"

struct merge {
	const struct record_format *format;  /* of all records of all rings; borrowed */
	struct merge_input *in;              /* one per ring */
	size_t n_in;
	uint32_t *heap;                      /* indices of inputs with a record, least time first */
	size_t n_heap;
	size_t n_unfinished;                 /* inputs not yet past their first head */
	uint64_t last_time_ns;               /* of the youngest record delivered */
	uint64_t n_out_of_order;             /* delivered after a younger one */
	bool in_round;
};

/* The rings are borrowed and must outlive m.  -ENOMEM. */
int merge_init(struct merge *m, const struct record_format *format,
	       struct ring *const *rings, size_t n_rings);
void merge_done(struct merge *m);

/*
 * The next raw record, and the index of its ring.  NULL when the round is over: the rings have been
 * released, and the next call starts a new round.  A ring is also released during the round,
 * whenever a quarter of it was consumed.  The bytes are valid until the next call.
 */
const void *merge_next(struct merge *m, size_t *ret_n_bytes, size_t *ret_ring);

#endif
