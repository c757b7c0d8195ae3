#ifndef CPROF_RECORDER_KINDS_ALLOCBLOCKS_H
#define CPROF_RECORDER_KINDS_ALLOCBLOCKS_H

/* What samples of allocated and freed blocks mean for a profile. */

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct kind_alloc;
struct record;

/* Larger blocks, and larger distances between samples, are no real ones: programs may write any
 * number. */
#define ALLOCBLOCKS_BYTES_MAX (UINT64_C(1) << 40)

struct allocblocks_block {
	uint64_t addr, n_bytes;
	uint64_t n, value;         /* the sample stands for: parts of a block (allocs.h); bytes */
	bool is_tracked;           /* its end will be reported */
};

/* SAMPLE r, of any process, is of a block that was allocated; or freed: only targets have blocks.
 */
void allocblocks_add(struct kind_alloc *a, struct engine *g, const struct record *r,
		     const struct allocblocks_block *b);
void allocblocks_remove(struct kind_alloc *a, struct engine *g, const struct record *r,
			uint64_t addr);

/* A record of a ring (source/allocring.h). */
void allocblocks_take(struct kind_alloc *a, struct engine *g, const struct record *r);

#endif
