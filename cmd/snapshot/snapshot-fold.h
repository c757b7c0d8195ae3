#ifndef CPROF_CMD_SNAPSHOT_SNAPSHOT_FOLD_H
#define CPROF_CMD_SNAPSHOT_SNAPSHOT_FOLD_H

/* Equal stacks once, the most frequent first, each with its threads. */

#include <stdio.h>

struct cprof_recorder;

/* -ENOMEM. */
int snapshot_fold_print(FILE *to, const struct cprof_recorder *r);

#endif
