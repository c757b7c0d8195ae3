#ifndef CPROF_ENGINE_GC_IDS_H
#define CPROF_ENGINE_GC_IDS_H

/*
 * Gives strings and label sets new ids, and forgets those that nobody has asked to keep.  What
 * processes and the programs' labels refer to is kept of its own accord; counts are the caller's.
 *
 * Nothing of the engine changes before gc_ids_commit, which cannot fail.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agg/labels.h"
#include "base/strtab.h"

struct engine;

struct gc_ids {
	struct engine *g;
	struct strtab strings;     /* the new ones */
	struct labels labels;
	uint32_t *string_id;       /* by old id: the new one, 0: not kept */
	uint32_t *set_id;          /* likewise */
	bool is_out;               /* of memory: not to be committed */
};

/* gc_ids_done is to be called in any case.  -ENOMEM. */
int gc_ids_begin(struct gc_ids *r, struct engine *g);

/* The set's new id. */
uint32_t gc_ids_keep_set(struct gc_ids *r, uint32_t set);

void gc_ids_commit(struct gc_ids *r);
void gc_ids_done(struct gc_ids *r);

#endif
