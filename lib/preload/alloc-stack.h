#ifndef CPROF_PRELOAD_ALLOC_STACK_H
#define CPROF_PRELOAD_ALLOC_STACK_H

#include <stdint.h>

#include "preload/alloc-thread.h"

/* Copies the thread's stack from sp upwards.  Returns the number of bytes that could be copied: a
 * multiple of 8, at most n_max. */
__attribute__((visibility("hidden")))
uint64_t alloc_stack_copy(struct alloc_thread *t, void *to, uint64_t sp, uint64_t n_max);

#endif
