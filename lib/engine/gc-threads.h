#ifndef CPROF_ENGINE_GC_THREADS_H
#define CPROF_ENGINE_GC_THREADS_H

/* Frees processes whose end was not recorded, and files that nothing refers to any more. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gc_tables_part;
struct engine;

#define GC_THREADS_EVERY_NS 1000000000u

struct gc_threads {
	uint32_t n_losses_seen;
	uint64_t looked_ns;
	bool has_missed;           /* the last check did not find some thread */
	uint64_t n_ended;          /* threads that ended without an EXIT record */
	uint32_t n_cfis;           /* open after the last gc_threads_code */
};

/* If records were lost: checks which threads still live, at most every GC_THREADS_EVERY_NS.  Call
 * it when all records up to now were fed. */
void gc_threads_ended(struct engine *g, uint64_t now_ns);

/* Closes the CFI of files that no process has mapped any more, when much of it is open. */
void gc_threads_code(struct engine *g);

/* Frees files that no frame, process or statistic (including those of the parts) refers to, what
 * was read from them, and target ids of ended processes.  -ENOMEM: nothing has changed. */
int gc_threads_unused(struct engine *g, const struct gc_tables_part *part, size_t n_parts);

#endif
