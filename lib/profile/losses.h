#ifndef CPROF_PROFILE_LOSSES_H
#define CPROF_PROFILE_LOSSES_H

/* Collects the counters of the table in losses.c from the objects that count them. */

#include "cprof-losses.h"

struct cprof_event_stats;
struct cprof_import_stats;
struct cprof_stats;
struct engine;
struct names;
struct source;

/* Objects with counters; NULL: those counters are 0. */
struct losses_from {
	const struct engine *engine;
	const struct source *source;
	const struct names *names;
	const struct cprof_stats *stats;
	const struct cprof_import_stats *import;
};

void losses_collect(const struct losses_from *from, struct cprof_losses *ret);

/* Adds the counters of one event. */
void losses_add_event(struct cprof_losses *l, const struct cprof_event_stats *event);

#endif
