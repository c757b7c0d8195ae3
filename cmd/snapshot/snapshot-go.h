#ifndef CPROF_CMD_SNAPSHOT_GO_H
#define CPROF_CMD_SNAPSHOT_GO_H

/* Goroutines as Go's net/http/pprof writes them, for tools that read these texts. */

#include <stdio.h>

struct cprof_recorder;

/* As /debug/pprof/goroutine?debug=1: stacks and labels, and how many goroutines have them; or
 * -ENOMEM.  The recorder has a snapshot with names (cprof_snapshot_names). */
int snapshot_go_counts(const struct cprof_recorder *r, FILE *to);

/* As debug=2, which is also the text of an unrecovered panic: each goroutine with its stack. */
void snapshot_go_stacks(const struct cprof_recorder *r, FILE *to);

#endif
