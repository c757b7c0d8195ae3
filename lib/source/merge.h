#ifndef CPROF_SOURCE_MERGE_H
#define CPROF_SOURCE_MERGE_H

/*
 * One reader's way through a round (round.h), without waiting and without copying.
 *
 * The ordered records of all rings come in order of time, and equal times in order of the rings.
 * With round.by_ring, samples come between them: all samples that are older than the next ordered
 * record, ring after ring.  So each sees the maps and names of its time, and the samples of a CPU,
 * which resemble each other, follow each other.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/round.h"

/* Orders the records of all readers: those with a smaller segment first, then by `at`. */
struct merge_place { uint64_t segment, at; };

struct merge {
	struct round *round;                 /* borrowed */
	/* Set by the caller after merge_init.  Whether samples of this thread are not this
	 * reader's; NULL: all are. */
	bool (*skips)(void *ctx, uint32_t tid);
	void *skips_ctx;
	uint32_t reader, n_readers;          /* several readers: merge_begin */

	struct merge_place place;            /* of the record that was delivered last */
	uint64_t time_ns;                    /* its time, as it was ordered by */
	/* Private. */
	struct merge_input *in;              /* by ring */
	uint64_t *sample_ns;                 /* by ring: its next sample's; UINT64_MAX: none */
	uint32_t *heap;                      /* rings with ordered records, least time first */
	size_t n_heap, at;
	uint64_t end_ns, least_ns;
	uint64_t cut_ns;                     /* the next ordered record; UINT64_MAX: none */
	size_t last;                         /* ring of the last record; SIZE_MAX: none */
	bool is_begun;
};

/* The round is borrowed and must outlive m.  -ENOMEM. */
int merge_init(struct merge *m, struct round *r);
void merge_done(struct merge *m);

/*
 * The next raw record, and the index of its ring.  NULL when the round is over.  A ring is also
 * released during the round, whenever a quarter of it was consumed.  The bytes are valid until the
 * next call.
 *
 * A single reader begins and ends rounds by itself: the call after NULL begins the next one.  Of
 * several readers, each calls merge_begin when all of the round was scanned.
 */
const void *merge_next(struct merge *m, size_t *ret_n_bytes, size_t *ret_ring);
void merge_begin(struct merge *m);

#endif
