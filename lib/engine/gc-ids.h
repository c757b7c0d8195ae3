#ifndef CPROF_ENGINE_GC_IDS_H
#define CPROF_ENGINE_GC_IDS_H

/*
 * Gives strings and label sets new ids, and frees those that are not kept.  Strings and sets of
 * processes and of programs' labels are kept automatically; those of counts are the caller's task.
 *
 * Nothing changes before gc_ids_commit, which cannot fail.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agg/labels.h"
#include "base/strtab.h"

struct gc_tables;

struct gc_ids {
	const struct gc_tables *of;
	struct strtab strings;     /* the new ones */
	struct labels labels;
	uint32_t *string_id;       /* by old id: the new one; 0: not kept */
	uint32_t *set_id;          /* likewise */
	bool is_out;               /* out of memory: must not be committed */
};

/* -ENOMEM.  gc_ids_done must be called in any case. */
int gc_ids_begin(struct gc_ids *r, const struct gc_tables *of);

/* Keeps a set; returns its new id. */
uint32_t gc_ids_keep_set(struct gc_ids *r, uint32_t set);

void gc_ids_commit(struct gc_ids *r);
void gc_ids_done(struct gc_ids *r);

#endif
