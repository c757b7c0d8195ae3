#ifndef CPROF_SOURCE_LIVE_LIVESCAN_H
#define CPROF_SOURCE_LIVE_LIVESCAN_H

/* All threads of the processes that are targets now, while they create others. */

#include <stdbool.h>
#include <sys/types.h>

#include "base/hashindex.h"
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
	bool is_late;                  /* the first scan repeats an earlier one, too */
	VEC(pid_t) pids;
	struct hashindex seen;         /* threads, by their ids */
};

/* Calls open for the threads of all processes, and again for what was created meanwhile, until
 * nothing new is found.  -errno with e set: that of open, or threads appear too fast. */
int livescan_run(struct livescan *k, struct err *e);
/* The same for given processes. */
int livescan_processes(struct livescan *k, const pid_t *pid, size_t n, struct err *e);
/* The same for a thread and the processes that it has created; with the first thread of a process,
 * for all of this process. */
int livescan_child(struct livescan *k, pid_t pid, pid_t tid, struct err *e);

bool livescan_has(const struct livescan *k, pid_t tid);
/* Adds a thread that is not to be opened; false: out of memory. */
bool livescan_add(struct livescan *k, pid_t tid);
void livescan_done(struct livescan *k);

#endif
