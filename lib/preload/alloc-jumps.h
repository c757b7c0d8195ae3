#ifndef CPROF_PRELOAD_ALLOC_JUMPS_H
#define CPROF_PRELOAD_ALLOC_JUMPS_H

/* Lets the jumps of alloc-entry.S go directly to alloc_next, which is not changed afterwards.  If
 * that is not possible they stay as they are.  Once. */
__attribute__((visibility("hidden"))) void alloc_jumps_make_direct(void);

#endif
