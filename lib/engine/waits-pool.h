#ifndef CPROF_ENGINE_WAITS_POOL_H
#define CPROF_ENGINE_WAITS_POOL_H

/*
 * The short waits of one thread while only some of them have a stack, because a thread that
 * switches more often than others can read would make its program slower.
 *
 * Each wait has its exact length, with or without a stack.  So the time of those without one is
 * divided among those with one, in proportion to their own time, and their number in proportion to
 * their number.  The sums stay exact.
 *
 * If stacks are read at arbitrary times instead, a reading meets a wait of twice the length twice
 * as often.  Then each reading stands for the same time, and for a number of waits that is
 * inversely proportional to the length of the one that it met.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "engine/waits-thread.h"

struct budget;

/* Waits that may stand for each other. */
enum waits_pool_class {
	WAITS_POOL_PREEMPTED = 1,
	WAITS_POOL_BELOW = 2,          /* shorter than waits.min_ns */
	WAITS_POOL_N_CLASSES = 4,
};

struct waits_pool_entry {
	struct waits_place at;
	uint8_t class, state;
	uint64_t ns, n;
	uint64_t weight_ns, weight_n;   /* in the division of the rest */
};

struct waits_pool {
	/* Without a stack, or with one that was read at an arbitrary time. */
	struct { uint64_t ns, n; } rest[WAITS_POOL_N_CLASSES];
	VEC(struct waits_pool_entry) entry;
};

/* With more stacks than these, the time is divided. */
#define WAITS_POOL_ENTRIES_MAX 64u

/* Adds a wait, or a part of one, which has n 0 unless it is the first part.  False: there is no
 * memory, or no room. */
bool waits_pool_add(struct waits_pool *p, struct budget *budget, const struct waits_piece *piece);

/* Adds a wait whose stack was read at an arbitrary time.  False: as above. */
bool waits_pool_read(struct waits_pool *p, struct budget *budget, const struct waits_piece *piece);

/* Divides, and empties the pool: calls count with the pieces of this thread. */
void waits_pool_flush(struct waits_pool *p, uint32_t pid, uint32_t tid, waits_count_fn *count,
		      void *ctx);

/* p may be NULL. */
void waits_pool_free(struct waits_pool *p, struct budget *budget);

#endif
