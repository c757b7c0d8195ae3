/*
 * A block's place is one of the 16 slots of two neighbouring cache lines, so nothing needs to move
 * when another one is removed.  There are three tables: a larger one is used once the places in the
 * smaller one are taken, so a program with few sampled blocks touches few pages.
 */

#include "preload/alloc-live.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINE 8u
#define LEVELS 3u
#define BITS_0 10u             /* lines: 64 KiB, 512 KiB, 8 MiB */
#define BITS_1 13u
#define BITS_2 17u
#define SLOTS (((1u << BITS_0) + (1u << BITS_1) + (1u << BITS_2)) * LINE)
#define PAGE_MAX 65536u        /* of all machines: whole pages are given back */

_Atomic uint8_t alloc_live_filter[1u << ALLOC_LIVE_FILTER_BITS];
static _Atomic uint64_t slot[SLOTS];
static const struct { uint32_t bits, first; } level[LEVELS] = {
	{ BITS_0, 0 }, { BITS_1, (1u << BITS_0) * LINE },
	{ BITS_2, ((1u << BITS_0) + (1u << BITS_1)) * LINE },
};
static _Atomic uint32_t n_used[LEVELS];

static _Atomic uint64_t *slot_of(unsigned l, uint64_t hash, unsigned k)
{
	uint32_t line = (uint32_t)(hash >> (64 - level[l].bits)) + k / LINE;
	return &slot[level[l].first + (line & ((1u << level[l].bits) - 1)) * LINE + k % LINE];
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

static bool has(unsigned l, const void *block)
{
	uint64_t hash = alloc_live_hash(block);
	for (unsigned k = 0; k < 2 * LINE; k++)
		if (atomic_load_explicit(slot_of(l, hash, k), memory_order_relaxed) ==
		    (uint64_t)block)
			return true;
	return false;
}

static bool add(unsigned l, const void *block)
{
	uint64_t hash = alloc_live_hash(block);
	for (unsigned k = 0; k < 2 * LINE; k++) {
		uint64_t none = 0;
		if (!atomic_compare_exchange_strong(slot_of(l, hash, k), &none, (uint64_t)block))
			continue;
		atomic_fetch_add(&n_used[l], 1);
		count(block, 1);
		return true;
	}
	return false;
}

static bool take(unsigned l, const void *block)
{
	uint64_t hash = alloc_live_hash(block);
	for (unsigned k = 0; k < 2 * LINE; k++) {
		uint64_t own = (uint64_t)block;
		if (atomic_load_explicit(slot_of(l, hash, k), memory_order_relaxed) != own ||
		    !atomic_compare_exchange_strong(slot_of(l, hash, k), &own, 0))
			continue;
		atomic_fetch_sub(&n_used[l], 1);
		count(block, -1);
		return true;
	}
	return false;
}

static bool is_used(unsigned l)
{
	return atomic_load_explicit(&n_used[l], memory_order_acquire) != 0;
}

bool alloc_live_add(const void *block)
{
	/* its last end may have been missed while nobody listened */
	for (unsigned l = 0; l < LEVELS; l++)
		if (is_used(l) && has(l, block))
			return true;
	for (unsigned l = 0; l < LEVELS; l++)
		if (add(l, block))
			return true;
	return false;
}

bool alloc_live_take(const void *block)
{
	for (unsigned l = 0; l < LEVELS; l++)
		if (is_used(l) && take(l, block))
			return true;
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
	for (unsigned l = 0; l < LEVELS; l++)
		atomic_store(&n_used[l], 0);
	for (unsigned i = 0; i < sizeof(alloc_live_filter); i++)
		atomic_store_explicit(&alloc_live_filter[i], 0, memory_order_relaxed);
}
