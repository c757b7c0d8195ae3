#ifndef CPROF_ENGINE_WAITCOUNT_H
#define CPROF_ENGINE_WAITCOUNT_H

/* From the pieces of waits (waits.h) to counts: which profiles each belongs to, and its labels. */

#include "engine/waits.h"

/* A waits_count_fn; ctx is the struct engine. */
void waitcount_add(void *ctx, const struct waits_piece *p);

#endif
