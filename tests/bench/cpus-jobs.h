#ifndef CPROF_TESTS_BENCH_CPUS_JOBS_H
#define CPROF_TESTS_BENCH_CPUS_JOBS_H

/* Several processes that measure the same thing at the same time. */

#include <stdbool.h>
#include <stdint.h>

/* Makes n - 1 more processes.  Returns whether this is the first one, which prints. */
bool cpus_jobs_begin(unsigned n);
bool cpus_jobs_is_first(void);

/* Waits until all processes are here. */
void cpus_jobs_meet(void);

/* All call these at the same place, and have the same answer. */
uint64_t cpus_jobs_longest(uint64_t ns);
uint64_t cpus_jobs_sum(uint64_t n);

/* The first process waits for the others.  Returns the exit status. */
int cpus_jobs_end(void);

#endif
