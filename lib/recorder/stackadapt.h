#ifndef CPROF_RECORDER_STACKADAPT_H
#define CPROF_RECORDER_STACKADAPT_H

/* What samples hold of users' stacks, as the stacks that were seen so far need it. */

#include <stdint.h>

struct cprof_recorder;

/* Called when the rings were drained; now_ns by CLOCK_MONOTONIC. */
void stackadapt_step(struct cprof_recorder *r, uint64_t now_ns);

#endif
