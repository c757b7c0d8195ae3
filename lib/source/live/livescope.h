#ifndef CPROF_SOURCE_LIVE_LIVESCOPE_H
#define CPROF_SOURCE_LIVE_LIVESCOPE_H

/* Changes of the scope while events are open: livescope_set (live.h). */

#include <stdbool.h>
#include <stdint.h>

struct live;

struct livescope {
	bool is_changing;         /* the old events are still open */
	uint64_t cut_ns;          /* when they end, and the new ones begin to count; UINT64_MAX:
				   * this is not chosen yet */
	uint64_t settle_ns;       /* not before this time */
	bool is_read;             /* the rings have been read since */
	uint64_t random;          /* state of a generator */
};

/* Closes the old events if it is time.  In how many ms to call it again; -1: there is no change. */
int livescope_step(struct live *l, uint64_t now_ns);

#endif
