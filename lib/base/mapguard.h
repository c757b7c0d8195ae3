#ifndef CPROF_BASE_MAPGUARD_H
#define CPROF_BASE_MAPGUARD_H

/*
 * Mapped files that somebody may truncate.  Access to a page beyond the new end raises SIGBUS.  A
 * program whose handler calls mapguard_repair survives that: the rest of the mapping becomes zeros,
 * and the reader learns of it when it asks.  The library itself installs no handler: without one,
 * such a file ends the program, as everywhere.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapguard {                  /* one mapping; all members are private */
	_Atomic int state;
	_Atomic bool is_hit;
	uintptr_t start, end;
};

#define MAPGUARD_MAPS_MAX 256

/* The mappings that the program's handler knows; all zeros when it is empty. */
struct mapguard_table {
	struct mapguard map[MAPGUARD_MAPS_MAX];
};

/* Watches a private mapping of n_bytes at base.  NULL: the table is full, or NULL. */
struct mapguard *mapguard_add(struct mapguard_table *t, void *base, size_t n_bytes);

/* Before the mapping is removed; g may be NULL. */
void mapguard_remove(struct mapguard *g);

/* Has the file lost pages that were read since?  g may be NULL. */
bool mapguard_is_hit(const struct mapguard *g);

/* For a handler of SIGBUS, with the address of the fault.  False: it is in no watched mapping. */
bool mapguard_repair(struct mapguard_table *t, void *address);

#endif
