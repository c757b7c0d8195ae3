#ifndef CPROF_INTERP_INTERP_COPIES_H
#define CPROF_INTERP_INTERP_COPIES_H

/*
 * Which memory the kernel copies at the samples of a thread: that which was used when the functions
 * of the thread were read, and, as far as there is room, what was used before.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/runtime/runtime-pages.h"

struct interp_runtime;

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

/* The copy at a sample, until the next call; NULL: there is none. */
const struct runtime_copy *interp_copies_find(struct interp_copies *c, uint32_t cpu, uint32_t tid,
					      uint64_t time_ns);

/* The functions of the thread were read. */
void interp_copies_want(struct interp_copies *c, const struct interp_runtime *r, uint32_t tid);

#endif
