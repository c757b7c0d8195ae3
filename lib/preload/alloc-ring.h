#ifndef CPROF_PRELOAD_ALLOC_RING_H
#define CPROF_PRELOAD_ALLOC_RING_H

/* The writing side of source/allocformat.h.  Only system calls: no lock of libc is taken, nothing
 * is allocated by malloc(3). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/allocformat.h"

/* Registers of the caller of a hook: those in ALLOCFORMAT_REGS, in its order. */
struct alloc_ring_regs { uint64_t r[ALLOCFORMAT_N_REGS]; };

/* Of this library: reached without the loader's table of addresses. */
#pragma GCC visibility push(hidden)

/* At least a page of this machine. */
#if defined(__x86_64__)
#define ALLOC_RING_PAGE 4096u
#else
#define ALLOC_RING_PAGE ALLOCFORMAT_HEAD_BYTES
#endif

/* The head that the profiler writes to: at a fixed place, over which alloc_ring_open maps that of
 * the memfd.  Until then it says dormant. */
extern union alloc_ring_page {
	struct allocformat_head head;
	unsigned char bytes[ALLOC_RING_PAGE];
} alloc_ring_page;

/* Makes or finds the memory, once.  Failure leaves the library dormant for ever. */
void alloc_ring_open(void);

/* The time, if a profiler reads the ring, or 0; if it has been silent for too long, that ends
 * here. */
uint64_t alloc_ring_read_time(void);

struct alloc_ring_block {
	const void *block;
	uint64_t n_bytes, time_ns;
	struct allocformat_tail tail;
	bool is_tracked;
	const struct alloc_ring_regs *regs;
};

/* Writes a block with the stack from the stack pointer of regs upwards.  False: it is lost. */
bool alloc_ring_put_alloc(const struct alloc_ring_block *b);

/* id: ALLOCFORMAT_FREE or _RESTORE. */
void alloc_ring_put_free(const void *block, enum allocformat_id id, uint64_t time_ns);

/* The library is not the one whose malloc(3) the program calls; or operator new does not call
 * malloc(3).  Before alloc_ring_open. */
void alloc_ring_set_shadowed(void);
void alloc_ring_set_other_new(void);

#pragma GCC visibility pop

#endif
