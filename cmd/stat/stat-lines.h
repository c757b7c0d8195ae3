#ifndef CPROF_CMD_STAT_STAT_LINES_H
#define CPROF_CMD_STAT_STAT_LINES_H

/* One row of counts, with what is derived from it. */

#include <stdbool.h>
#include <stddef.h>

#include "cmd/stat/stat-figure.h"
#include "cmd/stat/stat-series.h"

struct stat_opts;

struct stat_lines {
	struct stat_sum *sum;           /* of each event */
	double *value;
	struct stat_figure_input in;
};

/* False: out of memory.  In both cases stat_lines_done frees. */
bool stat_lines_make(struct stat_lines *l, const struct stat_series *s, size_t row,
		     const struct stat_opts *o);
void stat_lines_done(struct stat_lines *l);

/* Why the event has no count; NULL: it has one. */
const char *stat_lines_why_not(const struct stat_lines *l, size_t i, const struct stat_opts *o);

/* "not supported", "not allowed", "not counted": of an event without a count. */
const char *stat_lines_state(const struct stat_lines *l, size_t i);

#endif
