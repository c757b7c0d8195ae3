#ifndef CPROF_ENGINE_GC_THREADS_H
#define CPROF_ENGINE_GC_THREADS_H

/* Forgets processes that have ended unseen, and files that nothing refers to any more. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gc_tables_part;
struct engine;

#define GC_THREADS_EVERY_NS 1000000000u

struct gc_threads {
	uint32_t n_losses_seen;
	uint64_t looked_ns;
	bool has_missed;           /* some thread was not there when it was looked for */
	uint64_t n_ended;          /* threads whose end nobody told */
	uint32_t n_cfis;           /* open after the last gc_threads_code */
};

/* When records were lost: looks which threads live yet, at most every GC_THREADS_EVERY_NS.  To be
 * called when all records up to now were fed. */
void gc_threads_ended(struct engine *g, uint64_t now_ns);

/* The CFI of files that no process has mapped any more, when there may be much of it. */
void gc_threads_code(struct engine *g);

/* Files that no frame, no process and no statistic (the parts', too) refers to, what was read of
 * them, and ids of targets that are no more.  -ENOMEM with all as it was. */
int gc_threads_unused(struct engine *g, const struct gc_tables_part *part, size_t n_parts);

#endif
