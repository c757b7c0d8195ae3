/*
 * A block's place is one of the 16 slots of two neighbouring cache lines, so nothing needs to move
 * when another one is removed.
 */

#include "preload/alloc-live.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINE 8u
#define LINES_BITS 17u
#define LINES (1u << LINES_BITS)
#define PAGE_MAX 65536u        /* of all machines: whole pages are given back */

_Atomic uint8_t alloc_live_filter[1u << ALLOC_LIVE_FILTER_BITS];
static _Atomic uint64_t slot[LINES * LINE];

static _Atomic uint64_t *slot_of(uint64_t hash, unsigned k)
{
	unsigned line = (unsigned)(hash >> (64 - LINES_BITS)) + k / LINE;
	return &slot[(line & (LINES - 1)) * LINE + k % LINE];
}

/* A counter that has reached its end stays there. */
static void count(const void *block, int by)
{
	_Atomic uint8_t *f = &alloc_live_filter[alloc_live_filter_place(block)];
	uint8_t old = atomic_load(f);
	while (old != UINT8_MAX && !(by < 0 && old == 0) &&
	       !atomic_compare_exchange_weak(f, &old, (uint8_t)(old + by)))
		;
}

bool alloc_live_add(const void *block)
{
	uint64_t hash = alloc_live_hash(block);
	/* its last end may have been missed while nobody listened */
	for (unsigned k = 0; k < 2 * LINE; k++)
		if (atomic_load_explicit(slot_of(hash, k), memory_order_relaxed) == (uint64_t)block)
			return true;
	for (unsigned k = 0; k < 2 * LINE; k++) {
		uint64_t none = 0;
		if (!atomic_compare_exchange_strong(slot_of(hash, k), &none, (uint64_t)block))
			continue;
		count(block, 1);
		return true;
	}
	return false;
}

bool alloc_live_take(const void *block)
{
	uint64_t hash = alloc_live_hash(block);
	for (unsigned k = 0; k < 2 * LINE; k++) {
		uint64_t own = (uint64_t)block;
		if (atomic_load_explicit(slot_of(hash, k), memory_order_relaxed) != own ||
		    !atomic_compare_exchange_strong(slot_of(hash, k), &own, 0))
			continue;
		count(block, -1);
		return true;
	}
	return false;
}

/* Most pages were never used, and stay without memory. */
void alloc_live_clear(void)
{
	uintptr_t start = ((uintptr_t)slot + PAGE_MAX - 1) / PAGE_MAX * PAGE_MAX;
	uintptr_t end = ((uintptr_t)slot + sizeof(slot)) / PAGE_MAX * PAGE_MAX;
	for (_Atomic uint64_t *p = slot; (uintptr_t)p < start; p++)
		atomic_store_explicit(p, 0, memory_order_relaxed);
	for (uintptr_t p = end; p < (uintptr_t)slot + sizeof(slot); p += sizeof(*slot))
		atomic_store_explicit((_Atomic uint64_t *)p, 0, memory_order_relaxed);
	syscall(SYS_madvise, start, end - start, MADV_DONTNEED);
	for (unsigned i = 0; i < sizeof(alloc_live_filter); i++)
		atomic_store_explicit(&alloc_live_filter[i], 0, memory_order_relaxed);
}
