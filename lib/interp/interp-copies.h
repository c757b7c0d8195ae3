#ifndef CPROF_INTERP_INTERP_COPIES_H
#define CPROF_INTERP_INTERP_COPIES_H

/*
 * Which memory the kernel copies at the samples of a thread: that which was used when the functions
 * of the thread were read, and, as far as there is room, what was used before.  The copy of a
 * sample's stack belongs to it as well: CPython 3.11 and 3.12 begin there (struct _PyCFrame).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/runtime/runtime-pages.h"

struct interp_runtime;
struct stack_regs_walk;

#define INTERP_COPIES_THREADS 64u

struct interp_copies {
	/* The caller's.  NULL: the kernel copies nothing. */
	bool (*find)(void *ctx, uint32_t cpu, uint32_t tid, uint64_t time_ns,
		     struct runtime_copy *ret);
	/* Parts of pages, at most RUNTIME_COPY_PARTS.  False: they will not be copied. */
	bool (*want)(void *ctx, uint32_t tid, const uint64_t *at, size_t n);
	void *ctx;
	/* Private. */
	struct runtime_copy present;
	struct interp_copies_thread {
		uint32_t tid, n;
		uint64_t at[RUNTIME_COPY_PARTS];
	} thread[INTERP_COPIES_THREADS];
};

/* The copy at a sample, until the next call; NULL: there is none.  The sample has brought a copy of
 * its stack, too, which is borrowed from w. */
const struct runtime_copy *interp_copies_find(struct interp_copies *c, uint32_t cpu, uint32_t tid,
					      uint64_t time_ns, const struct stack_regs_walk *w);

/* The functions of the thread were read.  What is on its stack comes with its samples, so it is not
 * wanted; w: the stack of one of them. */
void interp_copies_want(struct interp_copies *c, const struct interp_runtime *r, uint32_t tid,
			const struct stack_regs_walk *w);

#endif
