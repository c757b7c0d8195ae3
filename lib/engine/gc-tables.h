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

struct allocs;
struct applabels;
struct golabels;
struct budget;
struct counts;
struct dso_table;
struct frames;
struct jit;
struct labels;
struct procs;
struct locklabels;
struct wakees;
struct samplelabels;
struct stack_user_counts;
struct stack_walk;
struct stacks;
struct strtab;
struct targets;
struct throttle;
struct waits;

/* Sizes of the tables after a run. */
struct gc_tables_sizes {
	uint32_t nodes, strings, sets, dsos, pids;
};

struct gc_tables {
	/* The engine's, borrowed; set once. */
	struct budget *budget;
	struct strtab *strings;
	uint32_t n_fixed_strings;    /* the first string ids, which never change */
	struct labels *labels;
	struct frames *frames;
	struct stacks *stacks;
	struct counts *counts;
	struct stack_walk *walk;
	struct samplelabels *own_labels;
	struct applabels *app;
	struct golabels *go;
	struct locklabels *locks;
	struct wakees *wakees;
	struct procs *procs;
	struct dso_table *dsos;
	struct targets *targets;
	struct jit *jit;
	struct throttle *throttle;
	struct waits *waits;
	struct allocs *allocs;
	const uint64_t *last_ns;     /* time of the last counted sample */
	/* To be read. */
	uint32_t n_runs;             /* how often frames got new ids */
	/* Private. */
	struct gc_tables_sizes last_run, last_names;  /* after the last full run; after any */
	uint32_t n_cfis;             /* open after the last gc_files_cfi */
};

/* Older counts that are kept beside the engine's present ones. */
struct gc_tables_part {
	struct counts *counts;
	const struct stack_user_counts *user;  /* or NULL */
};

/* Is a run due?  Rarely enough that it costs little compared with the samples since the last. */
bool gc_tables_is_due(const struct gc_tables *t);

/*
 * Gives frames, stacks, label sets and strings new ids, in the tables and in n further parts.
 * Threads' caches of stacks are dropped; ids that the caller has kept become invalid.  -ENOMEM:
 * nothing has changed.
 */
int gc_tables_run(struct gc_tables *t, const struct gc_tables_part *part, size_t n);

/* Like gc_tables_run, for a recording that keeps all stacks: frames and stacks keep their ids. */
bool gc_tables_names_are_due(const struct gc_tables *t);
int gc_tables_names(struct gc_tables *t);

#endif
