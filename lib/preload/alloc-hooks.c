/*
 * malloc(3) and its relatives: each calls the next library's function of that name, so blocks are
 * exactly what the program's allocator returns.  On x86-64 the most frequent ones begin in
 * alloc-entry.S.
 */

#include "preload/alloc-hooks.h"

#include "cprof-alloc.h"
#include "preload/alloc-next.h"
#include "preload/alloc-sampler.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

/* ---- the most frequent ones ---------------------------------------------------------------- */

/* While nobody listens, a hook is a test and a jump; a block that is not sampled is counted before
 * it is allocated, so that the hook needs no frame.  The rest is in functions of their own: if a
 * compiler puts both into one, a dormant hook has a jump more. */
#define RECORDED __attribute__((noinline))
#define RARE __attribute__((noinline, cold))

static inline bool passes(size_t n_bytes)
{
	uint32_t recording = alloc_sampler_recording();
	return alloc_sampler_is_idle(recording) ||
	       __builtin_expect(alloc_sampler_passes(recording, n_bytes), 1);
}

static inline void *taken(void *block, size_t n_bytes)
{
	alloc_sampler_take(block, n_bytes);
	return block;
}

RARE void *malloc_taken(size_t n)
{
	return taken(alloc_next.malloc(n), n);
}

RARE static void *calloc_taken(size_t n, size_t each)
{
	return taken(alloc_next.calloc(n, each), n * each);
}

RECORDED void *calloc_recorded(size_t n, size_t each)
{
	bool is_passed = alloc_sampler_passes(alloc_sampler_recording(), n * each);
	return __builtin_expect(is_passed, 1) ? alloc_next.calloc(n, each) : calloc_taken(n, each);
}

RARE void free_sampled(void *block)
{
	alloc_sampler_end(block);
	alloc_next.free(block);
}

RECORDED void *realloc_recorded(void *block, size_t n)
{
	bool was_sampled = alloc_sampler_wants_frees() && alloc_sampler_suspend(block);
	void *moved = alloc_next.realloc(block, n);
	/* realloc(p, 0) may have freed the block */
	if (!moved && was_sampled && n)
		alloc_sampler_restore(block);
	return alloc_sampler_passes(alloc_sampler_recording(), n) ? moved : taken(moved, n);
}

#ifndef ALLOC_ENTRY_IN_ASSEMBLER

RECORDED static void *malloc_recorded(size_t n)
{
	bool is_passed = alloc_sampler_passes(alloc_sampler_recording(), n);
	return __builtin_expect(is_passed, 1) ? alloc_next.malloc(n) : malloc_taken(n);
}

EXPORT void *malloc(size_t n)
{
	bool is_idle = alloc_sampler_is_idle(alloc_sampler_recording());
	return is_idle ? alloc_next.malloc(n) : malloc_recorded(n);
}

EXPORT void *calloc(size_t n, size_t each)
{
	bool is_idle = alloc_sampler_is_idle(alloc_sampler_recording());
	return is_idle ? alloc_next.calloc(n, each) : calloc_recorded(n, each);
}

EXPORT void free(void *block)
{
	if (!alloc_sampler_wants_frees() || __builtin_expect(!alloc_live_may_have(block), 1))
		alloc_next.free(block);
	else
		free_sampled(block);
}

EXPORT void *realloc(void *block, size_t n)
{
	bool is_idle = alloc_sampler_is_idle(alloc_sampler_recording());
	return is_idle ? alloc_next.realloc(block, n) : realloc_recorded(block, n);
}

/* These mean our own functions, also if another library has the name first. */
__asm__(".globl alloc_hooks_malloc, alloc_hooks_realloc\n"
	".hidden alloc_hooks_malloc, alloc_hooks_realloc\n"
	".set alloc_hooks_malloc, malloc\n"
	".set alloc_hooks_realloc, realloc");

#endif

/* ---- others --------------------------------------------------------------------------------- */

EXPORT void *reallocarray(void *block, size_t n, size_t each)
{
	size_t n_bytes;
	if (!__builtin_mul_overflow(n, each, &n_bytes))
		return alloc_hooks_realloc(block, n_bytes);
	errno = ENOMEM;
	return NULL;
}

EXPORT int posix_memalign(void **ret, size_t align, size_t n)
{
	bool is_passed = passes(n);
	int r = alloc_next.posix_memalign(ret, align, n);
	if (!is_passed)
		alloc_sampler_take(r == 0 ? *ret : NULL, n);
	return r;
}

EXPORT void *aligned_alloc(size_t align, size_t n)
{
	bool is_passed = passes(n);
	void *block = alloc_next.aligned_alloc(align, n);
	return is_passed ? block : taken(block, n);
}

EXPORT void *memalign(size_t align, size_t n)
{
	return passes(n) ? alloc_next.memalign(align, n) : taken(alloc_next.memalign(align, n), n);
}

EXPORT void *valloc(size_t n)
{
	return passes(n) ? alloc_next.valloc(n) : taken(alloc_next.valloc(n), n);
}

EXPORT void *pvalloc(size_t n)
{
	return passes(n) ? alloc_next.pvalloc(n) : taken(alloc_next.pvalloc(n), n);
}

/* ---- cprof-alloc.h -------------------------------------------------------------------------- */

EXPORT void cprof_alloc_allocated(void *block, size_t n_bytes)
{
	if (block && !passes(n_bytes))
		alloc_sampler_take(block, n_bytes);
}

EXPORT void cprof_alloc_freed(void *block)
{
	if (alloc_sampler_wants_frees() && block && alloc_live_may_have(block))
		alloc_sampler_end(block);
}
