#ifndef CPROF_PROFILE_COMMENTS_H
#define CPROF_PROFILE_COMMENTS_H

/* A profile's description of itself, as text for people (cprof-profile(7)). */

#include <stddef.h>

#include "base/vec.h"
#include "cprof.h"

struct cprof_losses;
struct source_facts;

struct comments {
	VEC(char *) list;
};

/* The number of entries for early stack ends: the sum, and the worst files. */
#define COMMENTS_ENDS_MAX 21u

/* The comments for one event.  event->n_rate_cuts of its rate cuts, stats->n_scope_changes of the
 * scope; ends: the sum, then files; the losses of this event; coverage_percent: negative if
 * unknown.  -ENOMEM. */
int comments_make(struct comments *c, const struct cprof_config *config,
		  const struct source_facts *facts, const struct cprof_stats *stats,
		  const struct cprof_event_stats *event, const struct cprof_stack_ends *ends,
		  size_t n_ends, const struct cprof_rate_cut *cuts,
		  const struct cprof_scope_change *changes,
		  const struct cprof_losses *losses, double coverage_percent);
void comments_done(struct comments *c);

const char *comments_scope_name(enum cprof_scope scope);

#endif
