#ifndef CPROF_PRELOAD_ALLOC_ENTRY_H
#define CPROF_PRELOAD_ALLOC_ENTRY_H

/* What alloc-entry.S knows of structures: alloc-jumps.c checks it. */

#define ALLOC_ENTRY_ACTIVE 16          /* struct allocformat_head */
#define ALLOC_ENTRY_ACTIVE_FREES 20
#define ALLOC_ENTRY_RECORDING 0        /* struct alloc_thread */
#define ALLOC_ENTRY_LEFT 8
#define ALLOC_ENTRY_FILTER_MASK 0x7fff /* of alloc_live_filter */
#define ALLOC_ENTRY_MALLOC 0           /* struct alloc_next */
#define ALLOC_ENTRY_CALLOC 8
#define ALLOC_ENTRY_FREE 16
#define ALLOC_ENTRY_REALLOC 24

#endif
