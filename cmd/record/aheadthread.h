#ifndef CPROF_CMD_RECORD_AHEADTHREAD_H
#define CPROF_CMD_RECORD_AHEADTHREAD_H

/* A thread of the lowest priority that unpacks debug information while recording goes on. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cprof_ahead;
struct cprof_recorder;

/* All zero: not begun. */
struct aheadthread {
	uint64_t next_ns;              /* when to look for files */
	struct cprof_ahead *work;      /* NULL: there is no thread */
	pthread_t thread;
	atomic_bool is_done;
};

/* To be called often: now and then it looks whether there is something to unpack. */
void aheadthread_poll(struct aheadthread *a, struct cprof_recorder *r);

/* Recording is over: the thread is told to stop, and has its CPU time for that meanwhile. */
void aheadthread_stop(struct aheadthread *a);

/* Waits for it. */
void aheadthread_done(struct aheadthread *a);

#endif
