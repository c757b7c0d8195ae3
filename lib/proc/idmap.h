#ifndef CPROF_PROC_IDMAP_H
#define CPROF_PROC_IDMAP_H

/*
 * Maps a process or thread id to a pointer: open addressing with linear probing, at most half full.
 * Removal shifts later entries back, so there are no tombstones, and a map that has seen millions
 * of short-lived ids stays as small as its peak.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idmap_slot {
	uint32_t id;
	void *value;           /* NULL: free */
};

struct idmap {
	struct idmap_slot *slot;
	uint32_t n, n_slots;   /* n_slots: a power of two, or 0 before the first put */
};

void idmap_done(struct idmap *m);

/* Sets the value (not NULL) of id, replacing an older one; false: no memory. */
bool idmap_put(struct idmap *m, uint32_t id, void *value);

/* Removes id if it is there. */
void idmap_remove(struct idmap *m, uint32_t id);

/* The value of id, or NULL. */
void *idmap_get(const struct idmap *m, uint32_t id);

/* Memory held, for the budget. */
static inline size_t idmap_n_bytes(const struct idmap *m)
{
	return m->n_slots * sizeof(*m->slot);
}

#endif
