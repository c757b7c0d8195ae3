#ifndef CPROF_SNAPSHOT_KEEPOFF_H
#define CPROF_SNAPSHOT_KEEPOFF_H

/*
 * Leaves the CPUs on which threads of the targets run to them, for as long as a snapshot takes and
 * if other CPUs are idle.  Otherwise the kernel may move the thread that takes it to such a CPU
 * when something else runs for a moment, and both take turns there for many milliseconds.  It may
 * move a target's thread as well: when the thread that takes the snapshot has to wait for its CPU,
 * another one looks where the targets run now.
 */

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct host;

#define KEEPOFF_WATCHED_MAX 16

struct keepoff_thread {
	uint32_t pid, tid;
};

struct keepoff {
	/* Private. */
	const struct host *host;
	bool is_on;
	cpu_set_t before;               /* of this thread */
	cpu_set_t used;                 /* by targets */
	pid_t owner;                    /* this thread */
	/* The thread that watches. */
	bool may_watch, is_watched;
	pthread_t watch;
	int end_fd;                     /* an eventfd that ends it */
	int schedstat_fd;               /* of the owner */
	pthread_mutex_t lock;           /* for what follows */
	cpu_set_t rest;                 /* for the owner and for helpers */
	unsigned version;               /* of rest; 0: not on */
	struct keepoff_thread watched[KEEPOFF_WATCHED_MAX];
	unsigned n_watched;
};

/* The calling thread stays on its CPU until it is known where threads of the targets run.  Another
 * thread looks again only if n_readers (cprof_config.n_readers) is more than 1.  *k was { 0 } at
 * first, or begins anew. */
void keepoff_begin(struct keepoff *k, const struct host *h, uint32_t n_readers);

/* A thread of a target runs on this CPU; counts from keepoff_apply on. */
void keepoff_add(struct keepoff *k, uint32_t cpu);

/* This thread of a target is looked for again when the owner has to wait, if there are not too many
 * of them.  Its process must be one that cannot hold back readers of its files (remotemem.h). */
void keepoff_watch(struct keepoff *k, uint32_t pid, uint32_t tid);

/* Adds those of a process, up to a number of threads. */
void keepoff_add_process(struct keepoff *k, uint32_t pid);

/* Lets this thread use the other CPUs, unless there are none. */
void keepoff_apply(struct keepoff *k);

/* The same for another thread that works for the one that has begun; *version is its own, 0 at
 * first. */
void keepoff_help(struct keepoff *k, unsigned *version);

/* This thread may use the CPUs that it could use before. */
void keepoff_end(struct keepoff *k);

#endif
