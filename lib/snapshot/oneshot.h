#ifndef CPROF_SNAPSHOT_ONESHOT_H
#define CPROF_SNAPSHOT_ONESHOT_H

/* One sample of each of some running threads: a perf event that stops after its first sample. */

#include <stddef.h>
#include <stdint.h>

#include "event/evopen.h"

struct host;
struct record;

/* How long a thread has to get a CPU. */
#define ONESHOT_WAIT_NS 100000000u

struct oneshot {
	evopen_fn *open;
	const struct host *host;
	uint64_t end_ns;                /* CLOCK_MONOTONIC: the latest end of everything */
	/* The SAMPLE of thread i, with user registers and a copy of the stack; borrowed.  There is
	 * no call for threads that are not running, have ended, or may not be sampled. */
	void (*sample)(void *ctx, size_t i, const struct record *r);
	void *ctx;
};

void oneshot_take(const struct oneshot *o, const uint32_t *tid, size_t n);

#endif
