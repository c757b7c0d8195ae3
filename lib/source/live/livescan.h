#ifndef CPROF_SOURCE_LIVE_LIVESCAN_H
#define CPROF_SOURCE_LIVE_LIVESCAN_H

/* All threads of the processes that are targets now, while they create others. */

#include <stdbool.h>
#include <sys/types.h>

#include "base/vec.h"
#include "source/live/live-private.h"

struct livescan_thread {
	pid_t tid;
	bool is_late;                  /* a repeated scan has found it */
	bool is_unproven;              /* it is so new that it may be a target, or not */
};

struct livescan {
	const struct live_options *options;
	/* Opens events on a thread; -ESRCH: it has ended. */
	int (*open)(void *ctx, const struct livescan_thread *t, struct err *e);
	void *ctx;
	uint64_t since_ns;             /* when the first events were opened; CLOCK_BOOTTIME */
	VEC(pid_t) pids;
	VEC(pid_t) seen;               /* threads, in the order in which they were opened */
};

/* Calls open for the threads of all processes, and again for what was created meanwhile, until
 * nothing new is found.  -errno with e set: that of open, or threads appear too fast. */
int livescan_run(struct livescan *k, struct err *e);
bool livescan_has(const struct livescan *k, pid_t tid);
void livescan_done(struct livescan *k);

#endif
