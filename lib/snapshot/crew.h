#ifndef CPROF_SNAPSHOT_CREW_H
#define CPROF_SNAPSHOT_CREW_H

/*
 * Several threads for work of many equal parts, such as reading files of /proc.  Others than the
 * caller's take part only while CPUs are idle, so that the programs that are looked at do not have
 * to wait for them.
 */

#include <stddef.h>
#include <stdint.h>

#include "engine/readerpool.h"

struct host;
struct keepoff;

#define CREW_AUTO UINT32_MAX            /* CPROF_READERS_AUTO */
#define CREW_THREADS_MAX 4u             /* with CREW_AUTO */

/* Does the parts first to end - 1.  Each part is done once, by any thread. */
typedef void crew_fn(void *ctx, size_t first, size_t end);

struct crew {
	/* Set by the caller after crew_init: as cprof_config.n_readers and on_reader.  With a
	 * number, so many threads take part even if no CPU is idle. */
	uint32_t n_readers;
	void (*on_reader)(void *ctx, bool begins);
	void *on_reader_ctx;
	struct keepoff *keepoff;        /* for all but the caller's thread; NULL */
	/* Private. */
	unsigned version[CREW_THREADS_MAX];     /* keepoff_help, of each thread */
	const struct host *host;
	unsigned n_idle;                /* CPUs, since there were any; 0: not yet */
	struct readerpool pool;
	crew_fn *fn;                    /* of the present work */
	void *ctx;
	size_t n, next;                 /* parts; the first one that nobody has taken */
};

void crew_init(struct crew *c, const struct host *h);
void crew_done(struct crew *c);

/* All parts from 0 to n - 1; returns when they are done. */
void crew_run(struct crew *c, size_t n, crew_fn *fn, void *ctx);

#endif
