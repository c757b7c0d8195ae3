#ifndef CPROF_SOURCE_LIVE_LIVEGROW_H
#define CPROF_SOURCE_LIVE_LIVEGROW_H

/* Replaces a ring by a larger one while events write into it: see livegrow.c. */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct live;
struct live_ring;
struct source;

/* So many rings may grow at the same time. */
#define LIVEGROW_RINGS 8u

enum livegrow_state {
	LIVEGROW_FREE,
	LIVEGROW_MAPPING,      /* the new ring is mapped */
	LIVEGROW_MOVING,       /* events are moved to the new ring, which is beside the old one */
	LIVEGROW_MOVED,        /* all events write into the new ring; the old one is not empty */
	LIVEGROW_DRAINING,     /* the old one is beside it, until it is empty for good */
	LIVEGROW_SPLIT,        /* some events could not be moved: both stay */
};

/* A place for one more ring: live.ring[live.n_rings + its index]. */
struct livegrow_place {
	enum livegrow_state state;
	size_t ring;           /* which one grows */
	const struct live *live;       /* for the thread, as next and n_bytes */
	struct live_ring *next;        /* the new ring; NULL: it is in its place */
	uint64_t n_bytes;
	int fd;                /* of the new ring */
	int *event_fd;         /* to be moved; borrowed descriptors */
	size_t n_event_fds;
	pthread_t thread;
	int result;            /* of the thread; 1: it has not ended; atomic */
	bool ends;             /* the thread shall end early; atomic */
	uint64_t since_ns;     /* of LIVEGROW_DRAINING */
};

struct livegrow {
	bool is_possible;
	size_t n_places;       /* 0: rings never grow */
	struct livegrow_place place[LIVEGROW_RINGS];
	void *empty;           /* the memory of rings that are not in use */
	uint64_t past_bytes;   /* taken out of rings that are closed */
};

/* Before the rings are merged: makes room for more rings, if they may grow.  -ENOMEM. */
int livegrow_init(struct live *l, bool is_possible);
void livegrow_done(struct live *l);

/* The operation of the source: see source_grow_ring. */
int livegrow_ring(struct source *s, size_t ring, uint64_t n_bytes, struct err *e);

/* Between rounds: goes on with what has been begun.  Returns after how many ms it is due again; -1:
 * any time. */
int livegrow_step(struct live *l, uint64_t now_ns);

/* Is this ring, or SOURCE_ALL_RINGS, being replaced? */
bool livegrow_is_busy(const struct live *l, size_t ring);

/* The index of the CPU's ring that the records of ring i belong to. */
static inline size_t livegrow_ring_of(const struct livegrow *g, size_t n_rings, size_t i)
{
	return i < n_rings ? i : g->place[i - n_rings].ring;
}

#endif
