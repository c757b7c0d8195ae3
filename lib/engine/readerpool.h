#ifndef CPROF_ENGINE_READERPOOL_H
#define CPROF_ENGINE_READERPOOL_H

/*
 * Threads that work together in rounds, the caller's included.  They wait between rounds, and are
 * kept when fewer take part, so that a change of their number costs nothing.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct err;
struct readerpool_thread;

/* What thread `index` does in a round; 0 is the caller's.  -errno with e set. */
typedef int readerpool_fn(void *ctx, uint32_t index, struct err *e);

struct readerpool {
	/* Set by the caller after readerpool_init. */
	readerpool_fn *work;
	void *ctx;
	void (*on_thread)(void *ctx, bool begins);  /* in each new thread; NULL */
	void *on_thread_ctx;
	/* Private. */
	VEC(struct readerpool_thread *) thread;
	pid_t owner;                   /* a forked child has no threads */
	pthread_mutex_t lock;
	pthread_cond_t begin, met, end;
	uint64_t round;                /* the threads' work begins when it changes */
	uint32_t n, n_busy, n_met;     /* in the round */
	bool is_over;
};

void readerpool_init(struct readerpool *p);
/* Ends the threads. */
void readerpool_done(struct readerpool *p);

/* Makes threads until n, the caller included, can work.  -errno with e set. */
int readerpool_fit(struct readerpool *p, uint32_t n, struct err *e);

/* A round of n threads; returns when all are ready.  The first error, with e set. */
int readerpool_run(struct readerpool *p, uint32_t n, struct err *e);

/* Called once in a round by each of its threads: waits until all have called it.  For one of them
 * it returns true; the others wait until that one has called readerpool_part. */
bool readerpool_meet(struct readerpool *p);
void readerpool_part(struct readerpool *p);

#endif
