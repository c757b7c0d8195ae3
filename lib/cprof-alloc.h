#ifndef CPROF_ALLOC_H
#define CPROF_ALLOC_H

/*
 * For allocators of a program's own: blocks that do not come from malloc(3) appear in profiles of
 * cprof record --alloc and --heap, too.
 *
 *     void *p = my_arena_get(arena, n);
 *     cprof_alloc_note(p, n);           // after the block was handed out
 *     ...
 *     cprof_alloc_forget(p);            // before it can be handed out again
 *     my_arena_put(arena, p);
 *
 * Both calls do nothing unless libcprof-alloc.so is loaded, and cost a nanosecond unless a profiler
 * is attached.  Nothing needs to be linked.  Do not use them for memory that the allocator gets
 * from malloc(3): it would count twice.  cprof-memory(7) has the rules.
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Defined by libcprof-alloc.so; without it their addresses are NULL. */
extern void cprof_alloc_allocated(void *block, size_t n_bytes) __attribute__((weak));
extern void cprof_alloc_freed(void *block) __attribute__((weak));

/* The block of n_bytes was handed out; NULL is ignored.  errno does not change. */
static inline void cprof_alloc_note(void *block, size_t n_bytes)
{
	if (cprof_alloc_allocated)
		cprof_alloc_allocated(block, n_bytes);
}

/* The block is about to be free; NULL is ignored.  errno does not change. */
static inline void cprof_alloc_forget(void *block)
{
	if (cprof_alloc_freed)
		cprof_alloc_freed(block);
}

#ifdef __cplusplus
}
#endif

#endif
