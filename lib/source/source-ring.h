#ifndef CPROF_SOURCE_SOURCE_RING_H
#define CPROF_SOURCE_SOURCE_RING_H

/* What the operations of a source say about one of its rings. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One of the rings that records come from. */
struct source_ring {
	int cpu;                  /* negative: it belongs to no CPU */
	uint64_t size_bytes;      /* of its data */
	uint64_t wakeup_bytes;    /* how full it is when its reader wakes up */
	uint64_t share_bytes;     /* all rings could have this size; 0: no limit */
	uint64_t taken_bytes;     /* taken out of it so far */
	uint64_t peak_bytes;      /* the most that was in it since it was last asked */
	uint64_t n_lost;          /* samples that did not fit so far, by its LOST records */
};

#define SOURCE_ALL_RINGS SIZE_MAX

struct err;
struct source;

/* See struct source_ops. */
bool source_ring(struct source *s, size_t i, struct source_ring *ret);
int source_set_stack(struct source *s, size_t ring, uint32_t stack_bytes, struct err *e);
int source_set_user_chain(struct source *s, struct err *e);

/* Replaces a ring by one with n_bytes of data, a power of two of pages; source_ring shows when that
 * is done.  -EAGAIN: a change is under way; -ENOSPC: all rings together would be too large; -EPERM:
 * the limit of locked memory; -EOPNOTSUPP: never possible. */
int source_grow_ring(struct source *s, size_t ring, uint64_t n_bytes, struct err *e);

#endif
