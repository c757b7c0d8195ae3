#ifndef CPROF_CMD_SUMMARYPARTS_H
#define CPROF_CMD_SUMMARYPARTS_H

/* Parts that the summaries of record and import share. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct cprof_losses;
struct cprof_stack_ends;
struct cprof_stats;

/* Selects the levels in the table of losses. */
enum summaryparts_of { SUMMARYPARTS_RECORD, SUMMARYPARTS_IMPORT };

/* The losses that happened, a line each: "  3 samples lost: the ring was full". */
void summaryparts_losses(const struct cprof_losses *losses, enum summaryparts_of of, bool verbose,
			 FILE *to);
/* With -q: only those that affect more than 5 % of the samples, or any. */
void summaryparts_losses_quiet(const struct cprof_losses *losses, enum summaryparts_of of,
			       bool any, FILE *to);
/* "lost": 3, "truncated": 0 ... */
void summaryparts_losses_json(const struct cprof_losses *losses, enum summaryparts_of of,
			      FILE *to);

/* "12 root, 3 no CFI" and a line end. */
void summaryparts_ends(const struct cprof_stack_ends *ends, FILE *to);
/* The same for one file, on a line of its own. */
void summaryparts_file_ends(const struct cprof_stack_ends *ends, FILE *to);
/* The number of stacks and frames, and how many of them have names. */
void summaryparts_frames(const struct cprof_stats *st, FILE *to);

/* "key": "value"; null for NULL. */
void summaryparts_json_string(FILE *to, const char *key, const char *value);

#endif
