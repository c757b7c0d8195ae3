#ifndef CPROF_CMD_STAT_STAT_FIGURE_H
#define CPROF_CMD_STAT_STAT_FIGURE_H

/* Figures that are derived from counts: instructions per cycle, the part of references that missed,
 * CPUs used, events per second. */

#include <stdbool.h>
#include <stddef.h>

#include "cprof-counter.h"

struct stat_figure_input {
	const struct cprof_counter_event *event;
	const double *value;            /* NAN: not counted */
	size_t n;
	double elapsed_ns;
	bool whole_cpus;                /* rates are per second, else per second of CPU time */
};

struct stat_figure {
	double value;
	const char *key;                /* for programs: "instructions_per_cycle"; static */
	const char *words;              /* after the value: "per cycle"; static */
	bool is_percent;
};

/* The figure of event i; false: there is none. */
bool stat_figure_of(const struct stat_figure_input *in, size_t i, struct stat_figure *ret);

#endif
