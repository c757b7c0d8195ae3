#ifndef CPROF_ENGINE_GC_TABLES_H
#define CPROF_ENGINE_GC_TABLES_H

/*
 * Forgets what no count refers to any more: stacks, frames, label sets, strings, files, and what
 * was remembered of them.  So a recording that goes on for ever needs memory only for the profile
 * that it would write now, and for the processes that live.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counts;
struct engine;
struct stack_user_counts;

/* What was counted before the engine's present counts, and is kept. */
struct gc_tables_part {
	struct counts *counts;
	const struct stack_user_counts *user;  /* or NULL */
};

/* How large the tables were after the last run. */
struct gc_tables_sizes {
	uint32_t nodes, strings, sets, dsos, pids;
};

/* Worth it?  So few times that its cost is small beside that of the samples since. */
bool gc_tables_is_due(const struct engine *g);

/*
 * Gives frames, stacks, label sets and strings new ids, in the engine and in n further parts.  What
 * threads remember of their last stacks goes; ids that the caller has kept are void.  -ENOMEM with
 * all as it was.
 */
int gc_tables_run(struct engine *g, const struct gc_tables_part *part, size_t n);

/* The same for a recording that keeps all its stacks: frames and stacks keep their ids. */
bool gc_tables_names_are_due(const struct engine *g);
int gc_tables_names(struct engine *g);

#endif
