#ifndef CPROF_ENGINE_ALLOCS_H
#define CPROF_ENGINE_ALLOCS_H

/*
 * Sampled blocks of memory that are in use: (process, address) -> stack, labels, and what the
 * sample stands for.  The sums over all of them are counts of an event of their own, so that what
 * is in use is known at any time.
 *
 * The most bytes that were in use at a time are the peak.  What was in use then follows from what
 * is in use now and from the changes since: two more events, of blocks that came and blocks that
 * went.  A new peak empties them, so a change costs the same however many blocks there are.
 *
 * The table is bounded.  When it is full, every second block is dropped, and the others, and those
 * to come, stand for twice as much: sums stay right on average.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashindex.h"

struct budget;
struct counts;

#define ALLOCS_BLOCKS_MAX 1000000u

/* Numbers of samples are counted in these parts of one. */
#define ALLOCS_PARTS 256u

struct allocs_block {
	uint64_t addr;
	uint64_t n, value;         /* in parts of a block; in bytes */
	uint32_t pid;
	uint32_t stack, labels;    /* ids of the engine */
	uint64_t time_ns;          /* CLOCK_MONOTONIC: when it was allocated */
	bool is_older;             /* than the present profile, which shows changes only */
};

struct allocs {
	struct budget *budget;
	struct counts *counts;
	/* Events: what is in use; what was at the start of the profile, and is not any more; what
	 * came and what went since the peak; what is in use again, with its age. */
	uint32_t held, gone, came, went, aged;
	bool is_delta;             /* the profile shows changes since its start */
	bool has_peak;             /* it shows the peak, too; not with is_delta */
	bool has_age;              /* it shows aged instead of held: allocs_add_ages */
	uint64_t n_bytes, peak_bytes; /* in use: now; at the peak */
	uint32_t *changed;         /* entries of counts, of blocks that came or went */
	uint32_t n_changed, changed_cap;
	uint32_t n_max;            /* ALLOCS_BLOCKS_MAX; tests choose fewer */
	struct allocs_block *v;
	uint32_t n, cap;
	struct hashindex index;
	unsigned n_halvings;
	bool is_halving;
	uint64_t random;
	uint64_t n_unfit;          /* blocks that are not in the table for lack of memory */
};

/* budget and counts are borrowed; nothing is allocated.  The events are the first one and those
 * after it. */
#define ALLOCS_EVENTS 5u
void allocs_init(struct allocs *a, struct budget *budget, struct counts *counts,
		 uint32_t first_event);
void allocs_done(struct allocs *a);

/* A block is in use from now on; one at the same address is not any more. */
void allocs_add(struct allocs *a, const struct allocs_block *b);

/* A block is not in use any more; *ret (may be NULL) is what it was.  False: it is unknown. */
bool allocs_remove(struct allocs *a, uint32_t pid, uint64_t addr, struct allocs_block *ret);

/* A process has forked another one: it has a copy of its blocks. */
void allocs_fork(struct allocs *a, uint32_t pid, uint32_t child);

/* A process has become another program, or has ended. */
void allocs_forget(struct allocs *a, uint32_t pid);

/* The counts are empty: another profile begins. */
void allocs_restart(struct allocs *a);

/* What is in use now is the peak so far: earlier ones do not matter. */
void allocs_restart_peak(struct allocs *a);

/* Counts the blocks in use once more, as aged, with the labels that label_of returns for those of a
 * block of this age.  What was counted so before is replaced. */
void allocs_add_ages(struct allocs *a, uint64_t now_ns,
		     uint32_t (*label_of)(void *ctx, uint32_t labels, uint64_t age_ns), void *ctx);

/* Entries of the counts have other places now. */
void allocs_counts_moved(struct allocs *a);

#endif
