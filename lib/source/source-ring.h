#ifndef CPROF_SOURCE_SOURCE_RING_H
#define CPROF_SOURCE_SOURCE_RING_H

/* What the operations of a source say about one of its rings. */

#include <stddef.h>
#include <stdint.h>

/* One of the rings that records come from. */
struct source_ring {
	int cpu;                  /* negative: it belongs to no CPU */
	uint64_t size_bytes;      /* of its data */
	uint64_t taken_bytes;     /* taken out of it so far */
	uint64_t peak_bytes;      /* the most that was in it since it was last asked */
	uint64_t n_lost;          /* samples that did not fit so far, by its LOST records */
};

#define SOURCE_ALL_RINGS SIZE_MAX

#endif
