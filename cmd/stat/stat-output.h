#ifndef CPROF_CMD_STAT_STAT_OUTPUT_H
#define CPROF_CMD_STAT_STAT_OUTPUT_H

/* The result of cprof stat, for people and for programs. */

#include <stdio.h>

struct stat_opts;
struct stat_series;

void stat_output_text(FILE *to, const struct stat_series *s, const struct stat_opts *o);
void stat_output_json(FILE *to, const struct stat_series *s, const struct stat_opts *o);

#endif
