#ifndef CPROF_SOURCE_LIVE_LIVEGROUP_H
#define CPROF_SOURCE_LIVE_LIVEGROUP_H

/* A leader's sample with the counters of its group becomes one sample for each event that has
 * counted. */

#include "base/hashindex.h"
#include "base/vec.h"
#include "source/record.h"

struct live;

/* The sample, while it is delivered. */
struct livegroup {
	struct record record;
	uint64_t at;                   /* the next counter; past the end if there is no group */
	VEC(struct livegroup_last) last;  /* previous values */
	struct hashindex index;
};

/* Starts with a leader's sample; livegroup_next gives one sample at a time until it returns false.
 */
void livegroup_begin(struct livegroup *g, const struct record *r);
bool livegroup_next(const struct live *l, struct livegroup *g, struct record *ret);
void livegroup_done(struct livegroup *g);

#endif
