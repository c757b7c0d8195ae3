#ifndef CPROF_PRELOAD_ALLOC_LIVE_H
#define CPROF_PRELOAD_ALLOC_LIVE_H

/*
 * The addresses of sampled blocks that are in use.  Every free looks here, so a small table of
 * counters, which stays in the CPU's cache, answers almost all of them.  Without locks: any thread
 * and any signal handler may call it at any time.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ALLOC_LIVE_FILTER_BITS 15u

extern __attribute__((visibility("hidden")))
_Atomic uint8_t alloc_live_filter[1u << ALLOC_LIVE_FILTER_BITS];

/* Addresses may carry a tag in their high byte (arm64). */
static inline uint64_t alloc_live_hash(const void *block)
{
	return ((uint64_t)block << 8 >> 12) * 0x9e3779b97f4a7c15u;
}

/* Neighbouring blocks are neighbours in the filter, so that it takes a small part of the cache: one
 * counter for 64 bytes, one cache line for a page. */
static inline unsigned alloc_live_filter_place(const void *block)
{
	uint64_t a = (uint64_t)block;
	return (unsigned)(a >> 6 ^ a >> 21) & ((1u << ALLOC_LIVE_FILTER_BITS) - 1);
}

/* False: it is certainly not in the table. */
static inline bool alloc_live_may_have(const void *block)
{
	unsigned i = alloc_live_filter_place(block);
	return atomic_load_explicit(&alloc_live_filter[i], memory_order_relaxed) != 0;
}

/* False: there is no room near its place. */
bool alloc_live_add(const void *block);

/* Removes it; false: it is not in the table. */
bool alloc_live_take(const void *block);

/* Removes all, while no other thread calls alloc_live_add. */
void alloc_live_clear(void);

#endif
