#ifndef CPROF_CMD_SUMMARYPARTS_H
#define CPROF_CMD_SUMMARYPARTS_H

/* What the summaries of record and import have in common. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct cprof_losses;
struct cprof_stack_ends;
struct cprof_stats;

/* Which levels of the table of losses hold. */
enum summaryparts_of { SUMMARYPARTS_RECORD, SUMMARYPARTS_IMPORT };

/* The losses that happened, a line each: "  3 samples lost: the ring was full". */
void summaryparts_losses(const struct cprof_losses *losses, enum summaryparts_of of, bool verbose,
			 FILE *to);
/* "lost": 3, "truncated": 0 ... */
void summaryparts_losses_json(const struct cprof_losses *losses, enum summaryparts_of of,
			      FILE *to);

/* "12 root, 3 no CFI" and the end of the line. */
void summaryparts_ends(const struct cprof_stack_ends *ends, FILE *to);
/* The same for one file, as a line of its own. */
void summaryparts_file_ends(const struct cprof_stack_ends *ends, FILE *to);
/* How many stacks and frames there are, and how many have names. */
void summaryparts_frames(const struct cprof_stats *st, FILE *to);

/* "key": "value"; null for NULL. */
void summaryparts_json_string(FILE *to, const char *key, const char *value);

#endif
