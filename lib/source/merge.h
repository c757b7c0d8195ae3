#ifndef CPROF_SOURCE_MERGE_H
#define CPROF_SOURCE_MERGE_H

/*
 * Merges one ring per CPU into one stream in time order, without waiting and without copying.
 *
 * A round fetches every ring's head twice.  Whatever caused a record that the first pass saw (an
 * mmap on another CPU, a fork) was written earlier, and is therefore seen by the second pass.  So
 * the rings are merged by time up to the second heads, until every ring has passed its first head.
 * Then the round ends, and the remaining records belong to the next one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/record.h"
#include "source/ring.h"

/*
 * Linux prepares the data of a software event's sample once for all recorders that have opened this
 * event (do_perf_sw_event() in kernel/events/core.c, seen with 6.18): the time is that of the first
 * recorder's clock, which may be another one than ours.  Such a time is recognised by its distance
 * from our clock; then, and for a second after that, samples of these events get the time of the
 * record before them in their ring.
 */
struct merge_shared {
	/* May this record have another recorder's time?  NULL: no record may. */
	bool (*is_shared)(const void *ctx, const void *raw, size_t n_bytes);
	const void *ctx;                     /* borrowed */
	uint64_t since_ns;                   /* no record is older; set when the rings are empty */
	uint64_t now_ns;                     /* private: when the present round began */
	uint64_t distrust_ns;                /* private: until then */
};

struct merge {
	const struct record_format *format;  /* of all records of all rings; borrowed */
	uint64_t until_ns;                   /* set by the caller: see merge_next; UINT64_MAX */
	struct merge_shared shared;          /* set by the caller after merge_init */
	struct merge_input *in;              /* one per ring */
	size_t n_in;
	uint32_t *heap;                      /* indices of inputs with a record, least time first */
	size_t n_heap;
	size_t n_unfinished;                 /* inputs not yet past their first head */
	uint64_t last_time_ns;               /* of the youngest record delivered */
	uint64_t n_out_of_order;             /* delivered after a younger one */
	bool in_round, has_heads;            /* private */
	const struct merge *leader;          /* NULL: it reads the heads itself */
	uint64_t n_delivered;                /* records; equal for all mergers of the same rings */
};

/* The rings are borrowed and must outlive m.  -ENOMEM. */
int merge_init(struct merge *m, const struct record_format *format,
	       struct ring *const *rings, size_t n_rings);
void merge_done(struct merge *m);

/*
 * Several readers can merge the same rings, each by a struct merge over views of its own (ring.h).
 * One of them leads: it reads the heads, and the others take them over, so that all deliver the
 * same records in the same order.  The caller begins a round of the leader and then of the others
 * by merge_begin, in one thread; then each calls merge_next, in any thread, until its round is
 * over.  All rounds must be over before the next begins.
 */
void merge_follow(struct merge *m, const struct merge *leader);
/* Returns how many bytes wait. */
uint64_t merge_begin(struct merge *m);

/*
 * The next raw record, and the index of its ring.  NULL when the round is over: the rings have been
 * released, and the next call starts a new round.  A ring is also released during the round,
 * whenever a quarter of it was consumed.  The bytes are valid until the next call.
 *
 * The round also ends before a record that is younger than until_ns: it waits for a later round.
 * So with until_ns read from the records' clock before the round starts, the round delivers the
 * records that were written up to then, and no others.
 */
const void *merge_next(struct merge *m, size_t *ret_n_bytes, size_t *ret_ring);

/* The time of the record that merge_next returned last, as the rings are ordered by it. */
uint64_t merge_time_ns(const struct merge *m);

#endif
