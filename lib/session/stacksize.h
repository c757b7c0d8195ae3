#ifndef CPROF_SESSION_STACKSIZE_H
#define CPROF_SESSION_STACKSIZE_H

/*
 * How much of the user's stack each sample copies: as much as the stacks need that
 * are really seen, and no more than the rings can carry.
 */

#include <stdbool.h>
#include <stdint.h>

struct stacksize {
	bool is_fixed;             /* chosen by the user, or cannot be changed */
	uint32_t bytes, max_bytes;
	uint64_t ring_bytes;
	/* At the last decision. */
	uint64_t n_stacks, n_beyond, n_lost;
	uint64_t time_ns;
	uint32_t n_changes;
};

void stacksize_init(struct stacksize *z, uint32_t bytes, uint64_t ring_bytes, bool is_fixed);

/*
 * Given what was seen so far (stacks unwound, of them ended beyond the copy, samples lost, and
 * the time), the size that stack copies should have: z->bytes, or another, which the caller sets
 * and tells by stacksize_changed.
 */
uint32_t stacksize_wanted(struct stacksize *z, uint64_t n_stacks, uint64_t n_beyond,
			  uint64_t n_lost, uint64_t now_ns);
void stacksize_changed(struct stacksize *z, uint32_t bytes);

#endif
