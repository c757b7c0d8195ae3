#ifndef CPROF_TESTS_BENCH_CPUS_READERS_H
#define CPROF_TESTS_BENCH_CPUS_READERS_H

/* The clocks of a recorder's readers. */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "cprof.h"

/* Real time, also while the simulated machine has a clock of its own. */
uint64_t cpus_clock_ns(clockid_t id);

/* For cprof_config.on_reader; counts the recorder's threads. */
void cpus_note_reader(void *ctx, bool begins);
extern unsigned cpus_n_readers;

/* CPU time of the caller's thread and of the others; CPROF_READERS_MAX + 1 at most. */
void cpus_read_clocks(uint64_t *ns);

/* Ends the program if r is an error. */
void cpus_check(int r, const struct cprof_error *e);

#endif
