#ifndef CPROF_PRELOAD_ALLOC_SAMPLER_H
#define CPROF_PRELOAD_ALLOC_SAMPLER_H

/* Chooses the blocks that are sampled, and reports them and their end: to the probes
 * otel_memory:alloc and :free, and to the ring. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/alloc-live.h"
#include "preload/alloc-ring.h"

#pragma GCC visibility push(hidden)

/* The semaphores of the probes: the kernel increments them while somebody listens. */
extern union alloc_sampler_wanted {
	unsigned short allocs_frees[2];
	uint32_t any;
} alloc_sampler_wanted;

struct alloc_sampler_thread {
	int64_t left;              /* bytes until the next sample */
	uint64_t random;           /* 0: none yet */
	uint32_t recording;        /* that `left` belongs to */
	uint32_t is_busy;          /* in a hook: a signal handler must not begin another */
};
extern __thread struct alloc_sampler_thread alloc_sampler_thread
	__attribute__((tls_model("initial-exec")));

#define ALLOC_SAMPLER_BY_PROBE UINT32_MAX

/* 0: nobody listens, which is the only test that a dormant library makes. */
static inline uint32_t alloc_sampler_recording(void)
{
	uint32_t active = __atomic_load_n(&alloc_ring_page.head.active, __ATOMIC_RELAXED);
	uint32_t probes = __atomic_load_n(&alloc_sampler_wanted.any, __ATOMIC_RELAXED);
	if (__builtin_expect(!(active | probes), 1))
		return 0;
	return active ? active : ALLOC_SAMPLER_BY_PROBE;
}

/* Likewise for the ends of blocks. */
static inline bool alloc_sampler_wants_frees(void)
{
	uint32_t active = __atomic_load_n(&alloc_ring_page.head.active_frees, __ATOMIC_RELAXED);
	return active | __atomic_load_n(&alloc_sampler_wanted.any, __ATOMIC_RELAXED);
}

/* Is a block of this size to be sampled?  Only while there is a recording. */
static inline bool alloc_sampler_is_due(uint32_t recording, size_t n_bytes)
{
	struct alloc_sampler_thread *t = &alloc_sampler_thread;
	t->left -= n_bytes < INT64_MAX / 2 ? (int64_t)n_bytes : INT64_MAX / 2;
	return __builtin_expect(t->left <= 0 || t->recording != recording, 0);
}

/* After alloc_sampler_is_due: the block was allocated; NULL: it was not. */
void alloc_sampler_take(void *block, size_t n_bytes, uint32_t recording);

/* Before the block is freed: reports its end if it was sampled. */
void alloc_sampler_end(void *block);

static inline void alloc_sampler_freed(void *block)
{
	if (__builtin_expect(alloc_live_may_have(block), 0))
		alloc_sampler_end(block);
}

/* As alloc_sampler_end, before realloc(3).  True: it was sampled, and is to be restored if the call
 * fails. */
bool alloc_sampler_suspend(void *block);
void alloc_sampler_restore(void *block);

/* Reads the environment; once, before the first block. */
void alloc_sampler_configure(void);

#pragma GCC visibility pop

#endif
