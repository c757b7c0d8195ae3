#ifndef CPROF_CMD_RECORD_EVENTLINES_H
#define CPROF_CMD_RECORD_EVENTLINES_H

/* The answer to the control command "evlist". */

#include <stdbool.h>
#include <stdio.h>

struct cprof_recorder;

/*
 * Lists the events, one a line.  options is what stands behind the word: " -v" with the fields of
 * struct perf_event_attr that are not 0, " -F" with the rate only, " -g" with groups in braces,
 * "" the names alone.  False, with nothing printed, for anything else.
 */
bool eventlines_print(struct cprof_recorder *r, const char *options, FILE *to);

#endif
