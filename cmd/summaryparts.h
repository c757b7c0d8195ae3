#ifndef CPROF_CMD_SUMMARYPARTS_H
#define CPROF_CMD_SUMMARYPARTS_H

/* What the summaries of record and import have in common. */

#include <stdint.h>
#include <stdio.h>

struct cprof_stack_ends;
struct cprof_stats;

/* "12 root, 3 no CFI" and the end of the line. */
/* A line "  3 samples lost ...", of `what`, whose first word is a plural. */
void summaryparts_count(uint64_t n, const char *what, FILE *to);

void summaryparts_ends(const struct cprof_stack_ends *ends, FILE *to);
/* The same for one file, as a line of its own. */
void summaryparts_file_ends(const struct cprof_stack_ends *ends, FILE *to);
/* How many stacks and frames there are, and how many have names. */
void summaryparts_frames(const struct cprof_stats *st, FILE *to);

/* "key": "value"; null for NULL. */
void summaryparts_json_string(FILE *to, const char *key, const char *value);

#endif
