#ifndef CPROF_CMD_STAT_STAT_SERIES_H
#define CPROF_CMD_STAT_STAT_SERIES_H

/* The counts of one or several runs, with the description of each event. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "cprof-counter.h"

struct err;

struct stat_run {
	uint64_t elapsed_ns;
	uint64_t user_ns, system_ns;    /* of a counted command, by the kernel's accounts */
	uint64_t busy_ns;               /* of the counted CPUs */
	int status;                     /* of the command */
};

struct stat_series {
	size_t n_events, n_rows, n_cpus;
	struct cprof_counter_event *event;      /* with names of its own */
	struct cprof_counter_row *row;
	VEC(struct stat_run) runs;
	VEC(struct cprof_counter_value) values; /* [(run * n_rows + row) * n_events + event] */
};

/* A number that varies over the runs. */
struct stat_spread {
	double mean, deviation, error;  /* error: standard error of the mean */
};

/* An event in a row over all runs; values are scaled to the time for which they were enabled. */
struct stat_sum {
	struct stat_spread value;
	double running;                 /* the part of the time for which the event ran, up to 1 */
	bool is_counted;                /* it ran at some time */
	bool was_enabled;               /* its target ran at some time */
};

/* Adds a run.  False: out of memory. */
bool stat_series_add(struct stat_series *s, const struct cprof_counter *c,
		     const struct stat_run *run);
void stat_series_done(struct stat_series *s);

void stat_series_sum(const struct stat_series *s, size_t row, size_t event, struct stat_sum *ret);

/* The value of one run, scaled; false: the event did not run in it. */
bool stat_series_value(const struct stat_series *s, size_t run, size_t row, size_t event,
		       double *ret);

/* Over all runs; of(run) gives the number. */
struct stat_spread stat_series_spread(const struct stat_series *s,
				      uint64_t (*of)(const struct stat_run *run));

uint64_t stat_run_elapsed_ns(const struct stat_run *run);
uint64_t stat_run_user_ns(const struct stat_run *run);
uint64_t stat_run_system_ns(const struct stat_run *run);
uint64_t stat_run_busy_ns(const struct stat_run *run);

/* The part of the commands' CPU time that no clock has counted; 0: unknown, or too small to tell
 * from what is used before exec. */
double stat_series_uncounted(const struct stat_series *s);

#endif
