#ifndef CPROF_CMD_RECORD_EVENTLINES_H
#define CPROF_CMD_RECORD_EVENTLINES_H

/* The answer to the control command "evlist". */

#include <stdbool.h>
#include <stdio.h>

struct cprof_recorder;

/*
 * Lists the events, one per line.  options is the argument of the command:
 *  - "": only names
 *  - " -v": with all fields of struct perf_event_attr that are not 0
 *  - " -F": with the rate
 *  - " -g": groups in braces.
 * Prints nothing and returns false for anything else.
 */
bool eventlines_print(struct cprof_recorder *r, const char *options, FILE *to);

#endif
