#ifndef CPROF_PROC_IDMAP_H
#define CPROF_PROC_IDMAP_H

/*
 * Maps a process or thread id to a pointer.  Removal leaves no tombstones, so a map that has seen
 * millions of short-lived ids stays as small as its peak.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashindex.h"
#include "base/vec.h"

struct idmap_item {
	uint32_t id;
	void *value;
};

struct idmap {                           /* all zeros: empty */
	struct hashindex index;
	VEC(struct idmap_item) item;     /* in no order */
};

void idmap_done(struct idmap *m);

/* Sets the value (not NULL) of id, replacing an older one; false: no memory. */
bool idmap_put(struct idmap *m, uint32_t id, void *value);

/* The value of id.  If there is none yet: a new one of n_bytes, all zeros, which the caller owns as
 * any other value and frees.  NULL: no memory. */
void *idmap_make(struct idmap *m, uint32_t id, size_t n_bytes);

/* Removes id if it is there. */
void idmap_remove(struct idmap *m, uint32_t id);

/* The value of id, or NULL. */
void *idmap_get(const struct idmap *m, uint32_t id);

/* Memory held, for the budget. */
static inline size_t idmap_n_bytes(const struct idmap *m)
{
	return m->index.n_slots * sizeof(*m->index.slot) + m->item.cap * sizeof(*m->item.v);
}

#endif
