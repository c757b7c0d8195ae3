#ifndef CPROF_SOURCE_ROUND_H
#define CPROF_SOURCE_ROUND_H

/*
 * What waits in the rings, one per CPU, is read in rounds.
 *
 * A round fetches every ring's head twice.  Whatever caused a record that the first pass saw (an
 * mmap on another CPU, a fork) was written earlier, and is therefore seen by the second pass.  The
 * round ends with the youngest record before a first head; what is younger belongs to the next one.
 *
 * Then the headers of all records are read once, in parallel if there are several readers, into a
 * list for each ring.  From these lists each reader takes its records in order (merge.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "source/divide.h"
#include "source/record.h"
#include "source/ring.h"

/*
 * Linux prepares the data of a software event's sample once for all recorders that have opened this
 * event (do_perf_sw_event() in kernel/events/core.c, seen with 6.18): the time is that of the first
 * recorder's clock, which may be another one than ours.  Such a time is recognised by its distance
 * from our clock; then samples of these events get the time of the record before them in their
 * ring, and after several in a row all do for a second.
 */
struct round_shared {
	/* May this record have another recorder's time?  NULL: no record may. */
	bool (*is_shared)(const void *ctx, const void *raw, size_t n_bytes);
	const void *ctx;                     /* borrowed */
	uint64_t since_ns;                   /* no record is older; set when the rings are empty */
	uint64_t now_ns;                     /* private: when the present round began */
	uint64_t distrust_ns;                /* private: until then; atomic */
};

/* A record of the round. */
struct round_entry {
	uint64_t time_ns;      /* not less than that of the entry before it in its ring */
	uint32_t at8;          /* its position in eighths, from round_ring.begin */
	uint32_t tid;          /* of a sample; UINT32_MAX: unknown */
};

/* So many samples of a thread, one after the other. */
struct round_thread { uint32_t tid, n; };

struct round_ring {
	struct ring *ring;
	uint64_t begin;                      /* position of the round's first record */
	VEC(struct round_entry) sample;      /* delivered in any order of the rings; see by_ring */
	VEC(struct round_entry) ordered;     /* all others */
	VEC(struct round_thread) fresh;      /* see round.divide */
	/* Private. */
	uint64_t first_head, begin_ns, time_ns, end_ns, checked, n_out_of_order;
	uint32_t known_tid;                  /* a thread that is in round.divide */
	uint32_t n_wrong;                    /* shared samples in a row with a wrong time */
	bool is_in_round;                    /* it has records before first_head: end_ns is set */
};

struct round {
	const struct record_format *format;  /* of all records of all rings; borrowed */
	/* Set by the caller after round_init. */
	uint64_t until_ns;                   /* see round_begin; UINT64_MAX */
	struct round_shared shared;
	bool is_live;                        /* no record is younger than CLOCK_MONOTONIC says */
	bool by_ring;                        /* samples need order only within their ring */
	const struct divide *divide;         /* threads that are not in it are listed; NULL */

	struct round_ring *ring;
	size_t n_rings;
	uint64_t now_ns;                     /* private: of the present round; 0: unknown */
	uint64_t delivered_ns;               /* time of the youngest record of earlier rounds */
	unsigned fullest_percent;            /* of a ring, at any round_begin since the caller
					      * cleared it */
	uint64_t n_out_of_order;             /* younger ones were delivered in earlier rounds, or
					      * are before them in their ring */
};

/* The rings are borrowed and must outlive it.  -ENOMEM. */
int round_init(struct round *r, const struct record_format *format,
	       struct ring *const *rings, size_t n_rings);
void round_done(struct round *r);

/* Between rounds: ring a has become ring b, and the reverse; ring i is another one, unread. */
void round_exchange(struct round *r, size_t a, size_t b);
void round_forget(struct round *r, size_t i);

/*
 * Begins a round; returns how many bytes wait.
 *
 * Records that are younger than until_ns wait for a later round.  So with until_ns read from the
 * records' clock before the round begins, it has the records that were written up to then, and no
 * others.
 */
uint64_t round_begin(struct round *r);

/* Reads the headers of part `part` of `n_parts`; each part in any thread.  If memory is short,
 * records wait for the next round. */
void round_scan(struct round *r, uint32_t part, uint32_t n_parts);

/* After all parts: the round has the entries whose time is not above this.  False: it has none. */
bool round_end_ns(const struct round *r, uint64_t *ret_end_ns);

/* Then: up to where all of a ring belongs to the round; its begin, if the next round shares it. */
uint64_t round_ring_end(const struct round_ring *in, uint64_t end_ns);

/* After all readers: releases the rings. */
void round_end(struct round *r);

#endif
