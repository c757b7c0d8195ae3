#ifndef CPROF_SOURCE_LIVE_LIVEREADERS_H
#define CPROF_SOURCE_LIVE_LIVEREADERS_H

/* Several readers of live rings. */

#include "source/live/live-private.h"
#include "source/share.h"

extern const struct share_ops livereaders_ops;

/* Back to one reader. */
void livereaders_done(struct live *l);

#endif
