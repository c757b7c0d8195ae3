#ifndef CPROF_PROFILE_TIMESETS_H
#define CPROF_PROFILE_TIMESETS_H

/* Label sets with times (labels/timelabel.h), as a file contains them: those that differ only in
 * buckets that were narrower in the beginning are one. */

#include <stdint.h>

struct engine;

struct timesets {
	uint32_t *shown;         /* by set: the one in the file; NULL: there are no times */
	uint32_t n;
	uint32_t key;            /* string id of the label; 0: there is none */
	uint64_t width_ns, start_ns;
};

/* For a profile of that time, CLOCK_MONOTONIC.  -ENOMEM. */
int timesets_make(const struct engine *g, uint64_t start_ns, uint64_t end_ns, struct timesets *ret);
void timesets_done(struct timesets *t);

/* The set in the file. */
static inline uint32_t timesets_of(const struct timesets *t, uint32_t set)
{
	return t->shown && set < t->n ? t->shown[set] : set;
}

/* The time that a label of that key shows, in ns; value is a string id. */
uint64_t timesets_ns(const struct timesets *t, const struct engine *g, uint32_t value);

#endif
