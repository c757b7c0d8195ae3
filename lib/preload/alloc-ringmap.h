#ifndef CPROF_PRELOAD_ALLOC_RINGMAP_H
#define CPROF_PRELOAD_ALLOC_RINGMAP_H

/* The memory that alloc-ring.c writes to: of the profiler that has started the program, or made by
 * alloc_ring_open. */

#include <stdbool.h>
#include <stdint.h>

#include "preload/alloc-ring.h"

#pragma GCC visibility push(hidden)

extern bool alloc_ringmap_is_open;
extern uint32_t alloc_ringmap_data_bytes;

/* The ring, which the first call maps; NULL: that failed. */
unsigned char *alloc_ringmap_data(void);

#pragma GCC visibility pop

#endif
