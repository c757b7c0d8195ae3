#ifndef CPROF_ENGINE_GC_TABLES_H
#define CPROF_ENGINE_GC_TABLES_H

/*
 * Frees what no count refers to any more: stacks, frames, label sets, strings, files, and what was
 * cached for them.  So an endless recording needs memory only for the profile that it would write
 * now, and for living processes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counts;
struct engine;
struct stack_user_counts;

/* Older counts that are kept beside the engine's present ones. */
struct gc_tables_part {
	struct counts *counts;
	const struct stack_user_counts *user;  /* or NULL */
};

/* Sizes of the tables after the last run. */
struct gc_tables_sizes {
	uint32_t nodes, strings, sets, dsos, pids;
};

/* Is a run due?  Rarely enough that it costs little compared with the samples since the last. */
bool gc_tables_is_due(const struct engine *g);

/*
 * Gives frames, stacks, label sets and strings new ids, in the engine and in n further parts.
 * Threads' caches of stacks are dropped; ids that the caller has kept become invalid.  -ENOMEM:
 * nothing has changed.
 */
int gc_tables_run(struct engine *g, const struct gc_tables_part *part, size_t n);

/* Like gc_tables_run, for a recording that keeps all stacks: frames and stacks keep their ids. */
bool gc_tables_names_are_due(const struct engine *g);
int gc_tables_names(struct engine *g);

#endif
