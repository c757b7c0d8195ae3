#ifndef CPROF_CMD_RECORD_GOSUMMARY_H
#define CPROF_CMD_RECORD_GOSUMMARY_H

/* What the summary says about labels of goroutines. */

#include <stdbool.h>
#include <stdio.h>

struct cprof_stats;

void gosummary_print(const struct cprof_stats *st, bool verbose, FILE *to);

/* ", " and keys. */
void gosummary_print_json(const struct cprof_stats *st, FILE *to);

#endif
