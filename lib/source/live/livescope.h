#ifndef CPROF_SOURCE_LIVE_LIVESCOPE_H
#define CPROF_SOURCE_LIVE_LIVESCOPE_H

/* Changes of the scope while events are open. */

#include <stdbool.h>
#include <stdint.h>

#include "source/live/live.h"

struct live;

struct livescope {
	bool is_changing;         /* the old events are still open */
	uint64_t cut_ns;          /* when they end, and the new ones begin to count */
	uint64_t random;          /* state of a generator */
};

/*
 * Replaces the events of threads by events of CPUs (LIVE_TASK, LIVE_CPU), or the reverse, for which
 * `processes` must be known.  Each moment is covered by the samples of one of them, and each sample
 * says whose it is: record.of_target.  The change ends during source_wait; then another one is
 * possible (-EAGAIN before).  On failure nothing changes; -EOPNOTSUPP: never possible.
 */
int livescope_set(struct source *s, enum live_scope scope, struct err *e);
bool livescope_is_changing(const struct source *s);

/* Closes the old events if it is time.  In how many ms to call it again; -1: there is no change. */
int livescope_step(struct live *l, uint64_t now_ns);

#endif
