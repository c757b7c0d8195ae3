#ifndef CPROF_CMD_SNAPSHOT_SNAPSHOT_TEXT_H
#define CPROF_CMD_SNAPSHOT_SNAPSHOT_TEXT_H

/* A snapshot for people. */

#include <stdint.h>
#include <stdio.h>

struct cprof_recorder;
struct cprof_snapshot_entry;

/* When it was taken, how many entries there are, and what is missing; lines that begin with '#'. */
void snapshot_text_head(FILE *to, const struct cprof_recorder *r);

/* Each thread with its stack. */
void snapshot_text_print(FILE *to, const struct cprof_recorder *r);

/* The i-th thread on one line, without its stack. */
void snapshot_text_entry(FILE *to, const struct cprof_recorder *r, size_t i,
			 const struct cprof_snapshot_entry *e);

/* The frames of a stack, one per line. */
void snapshot_text_stack(FILE *to, const struct cprof_recorder *r, uint32_t stack);

#endif
