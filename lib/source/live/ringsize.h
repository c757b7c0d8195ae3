#ifndef CPROF_SOURCE_LIVE_RINGSIZE_H
#define CPROF_SOURCE_LIVE_RINGSIZE_H

/* How large the rings are at first: what the expected records need, within a budget for all. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ringsize {
	bool has_copies;           /* samples carry copies of the stack */
	bool is_seldom_read;
	uint64_t rate_hz;          /* of each ring; 0: unknown */
	size_t n_rings;
	uint64_t budget_bytes;     /* for all rings together; 0: no limit */
};

/* The size of each ring, a power of two. */
uint64_t ringsize_choose(const struct ringsize *z);

/* How full such a ring is when its reader wakes up.  rate_hz as above. */
uint64_t ringsize_wakeup(uint64_t n_bytes, uint64_t rate_hz);

#endif
