#ifndef CPROF_SNAPSHOT_SNAPSHOT_THREADS_H
#define CPROF_SNAPSHOT_SNAPSHOT_THREADS_H

/* A snapshot of threads: reads them, and adds an entry for each. */

#include <stddef.h>
#include <stdint.h>

#include "event/evopen.h"
#include "interp/interp.h"
#include "snapshot/threadscan.h"

struct err;
struct host;
struct keepoff;
struct snapshot;

/* Which threads may be stopped while they are read. */
enum snapshot_stop {
	SNAPSHOT_STOP_NEVER,    /* running ones are sampled */
	SNAPSHOT_STOP_RUNNING,  /* those that run */
	SNAPSHOT_STOP_ALL,      /* all of them, at once */
};

struct snapshot_threads {
	const struct host *host;
	evopen_fn *open;                /* for samples of running threads */
	const uint32_t *pid;
	size_t n_pids;
	const uint32_t *tid;            /* only these threads of the processes; NULL: all */
	size_t n_tids;
	enum snapshot_stop stop;
	enum interp_mode interpreter;
	struct threadscan_limits limits;
	struct keepoff *keepoff;        /* has begun */
	uint32_t n_readers;             /* crew.h */
	void (*on_reader)(void *ctx, bool begins);
	void *on_reader_ctx;
};

/*
 * Processes that have ended, and threads that may not be read, are counted in s; if no thread can
 * be read, the reason is the error.  -errno with e set.
 */
int snapshot_threads_take(struct snapshot *s, const struct snapshot_threads *o, struct err *e);

#endif
