#ifndef CPROF_CMD_RECORD_PYSUMMARY_H
#define CPROF_CMD_RECORD_PYSUMMARY_H

/* What the summary says about functions of interpreters. */

#include <stdbool.h>
#include <stdio.h>

struct cprof_stats;

void pysummary_print(const struct cprof_stats *st, bool verbose, FILE *to);

/* ", " and keys. */
void pysummary_print_json(const struct cprof_stats *st, FILE *to);

#endif
