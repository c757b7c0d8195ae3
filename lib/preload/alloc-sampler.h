#ifndef CPROF_PRELOAD_ALLOC_SAMPLER_H
#define CPROF_PRELOAD_ALLOC_SAMPLER_H

/* Chooses the blocks that are sampled, and reports them and their end: to the probes
 * otel_memory:alloc and :free, and to the ring. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/alloc-live.h"
#include "preload/alloc-ring.h"
#include "preload/alloc-thread.h"

#pragma GCC visibility push(hidden)

/* The semaphores of the probes: the kernel increments them while somebody listens. */
extern union alloc_sampler_wanted {
	unsigned short allocs_frees[2];
	uint32_t any;
} alloc_sampler_wanted;

/* The number of the ring's recording; 0: only probes have listeners, if anything has. */
static inline uint32_t alloc_sampler_recording(void)
{
	return __atomic_load_n(&alloc_ring_page.head.active, __ATOMIC_RELAXED);
}

/* Nobody listens, which is the only test that a dormant library makes. */
static inline bool alloc_sampler_is_idle(uint32_t recording)
{
	uint32_t probes = __atomic_load_n(&alloc_sampler_wanted.any, __ATOMIC_RELAXED);
	return __builtin_expect(!(recording | probes), 1);
}

/* Likewise for the ends of blocks. */
static inline bool alloc_sampler_wants_frees(void)
{
	uint32_t active = __atomic_load_n(&alloc_ring_page.head.active_frees, __ATOMIC_RELAXED);
	return active | __atomic_load_n(&alloc_sampler_wanted.any, __ATOMIC_RELAXED);
}

/* Counts a block that is not sampled.  False, and nothing is counted: pass it to
 * alloc_sampler_take once it is allocated. */
static inline bool alloc_sampler_passes(uint32_t recording, size_t n_bytes)
{
	struct alloc_thread *t = &alloc_thread;
	uint64_t left = t->left;
	if (__builtin_expect(t->recording != recording || n_bytes >= left, 0))
		return false;
	t->left = left - n_bytes;
	return true;
}

/* Counts a block, and samples it if it is due; NULL: the allocation has failed. */
void alloc_sampler_take(void *block, size_t n_bytes);

/* Before the block is freed: reports its end if it was sampled. */
void alloc_sampler_end(void *block);

/* As alloc_sampler_end, before realloc(3).  True: it was sampled, and is to be restored if the call
 * fails. */
bool alloc_sampler_suspend(void *block);
void alloc_sampler_restore(void *block);

/* Reads the environment; once, before the first block. */
void alloc_sampler_configure(void);

#pragma GCC visibility pop

#endif
