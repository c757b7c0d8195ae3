#ifndef CPROF_SYMBOLIZE_RUNTIME_HOTSPOT_HEAP_H
#define CPROF_SYMBOLIZE_RUNTIME_HOTSPOT_HEAP_H

/* The heaps of a JVM's code cache, and the pieces of code (blobs) in them. */

#include <stdbool.h>
#include <stdint.h>

struct hotspot_layout;
struct runtime_memory;

#define HOTSPOT_HEAPS_MAX 8u

struct hotspot_heap {
	uint64_t low, high;             /* the part that is in use */
	uint64_t segments_low, segments_high;  /* a byte for each segment */
	uint32_t log2;                  /* of a segment's size in bytes */
};

struct hotspot_heaps {
	unsigned int n;
	struct hotspot_heap heap[HOTSPOT_HEAPS_MAX];
};

/* Heaps grow, and there are none when a JVM has just started.  False: they cannot be read. */
bool hotspot_heaps_read(const struct hotspot_layout *l, const struct runtime_memory *memory,
			struct hotspot_heaps *ret);

const struct hotspot_heap *hotspot_heaps_find(const struct hotspot_heaps *h, uint64_t pc);

/* The address of the blob whose block contains pc; 0: that memory is free, or not readable.
 * *ret_segment: that of the byte of the segment map that says where the block begins; it is 0. */
uint64_t hotspot_heap_blob(const struct hotspot_layout *l, const struct runtime_memory *memory,
			   const struct hotspot_heap *h, uint64_t pc, uint64_t *ret_segment);

#endif
