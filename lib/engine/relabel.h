#ifndef CPROF_ENGINE_RELABEL_H
#define CPROF_ENGINE_RELABEL_H

/*
 * Gives strings and label sets new ids, and forgets those that nobody has asked to keep.  What
 * processes and the programs' labels refer to is kept of its own accord; counts are the caller's.
 *
 * Nothing of the engine changes before relabel_commit, which cannot fail.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agg/labels.h"
#include "base/strtab.h"

struct engine;

struct relabel {
	struct engine *g;
	struct strtab strings;     /* the new ones */
	struct labels labels;
	uint32_t *string_id;       /* by old id: the new one, 0: not kept */
	uint32_t *set_id;          /* likewise */
	bool is_out;               /* of memory: not to be committed */
};

/* relabel_done is to be called in any case.  -ENOMEM. */
int relabel_begin(struct relabel *r, struct engine *g);

/* The set's new id. */
uint32_t relabel_keep_set(struct relabel *r, uint32_t set);

void relabel_commit(struct relabel *r);
void relabel_done(struct relabel *r);

#endif
