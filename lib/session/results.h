#ifndef CPROF_SESSION_RESULTS_H
#define CPROF_SESSION_RESULTS_H

/* What an engine came to, as the public API tells it: the same for recording and for import. */

#include <stdbool.h>
#include <stddef.h>

struct cprof_stack_ends;
struct cprof_stats;
struct engine;
struct names;
struct source;

/* Sets what engine, source, and names (NULL: not looked up yet) know; leaves the rest alone. */
void results_stats(const struct engine *g, const struct source *s, const struct names *names,
		   struct cprof_stats *ret);

/* As cprof_recorder_stack_ends. */
bool results_stack_ends(const struct engine *g, size_t i, struct cprof_stack_ends *ret);

/* The sum, and behind it the files with the most early ends, worst first; returns how many entries
 * of ret that makes, 1 to n_max. */
size_t results_worst_ends(const struct engine *g, struct cprof_stack_ends *ret, size_t n_max);

#endif
