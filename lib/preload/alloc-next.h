#ifndef CPROF_PRELOAD_ALLOC_NEXT_H
#define CPROF_PRELOAD_ALLOC_NEXT_H

/* The functions of the next library that has malloc(3). */

#include <stddef.h>

#pragma GCC visibility push(hidden)

/* Until they have been looked up, functions that do so.  The first four are in the order of
 * preload/alloc-entry.h. */
extern struct alloc_next {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void (*free)(void *);
	void *(*realloc)(void *, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
} alloc_next;

#pragma GCC visibility pop

#endif
