#ifndef CPROF_ENGINE_GC_THREADS_H
#define CPROF_ENGINE_GC_THREADS_H

/* Ends threads whose EXIT record was lost. */

#include <stdbool.h>
#include <stdint.h>

struct engine;

#define GC_THREADS_EVERY_NS 1000000000u

struct gc_threads {
	uint32_t n_losses_seen;
	uint64_t looked_ns;
	bool has_missed;           /* the last check did not find some thread */
	uint64_t n_ended;          /* threads that ended without an EXIT record */
};

/* If records were lost: checks which threads still live, at most every GC_THREADS_EVERY_NS.  Call
 * it when all records up to now were fed. */
void gc_threads_ended(struct engine *g, uint64_t now_ns);

#endif
