#ifndef CPROF_STACK_LATEJOIN_H
#define CPROF_STACK_LATEJOIN_H

/*
 * Stacks that ended beyond their copy, before it was known how they go on: a later whole stack of
 * the thread tells it, or one that was cut itself and is completed by now.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/stackmark.h"

struct budget;
struct counts;
struct procs_space;
struct stackwalk;
struct unwind_frame;
struct unwind_memo;

/* So many stacks of a thread wait, or are there for others to be put on, and none for longer. */
#define LATEJOIN_CUTS_MAX 256u
#define LATEJOIN_NS_MAX 250000000u

/* Frames of all threads, of which is known where they stand: 2 MiB. */
#define LATEJOIN_PLACES_MAX 131072u

struct latejoin_pool {
	uint32_t n_places;
};

/* A counted sample whose stack was cut. */
struct latejoin_cut {
	uint64_t time_ns, value;
	uint64_t pc;            /* an address in the outermost function that is known */
	uint64_t cfa;           /* the stack pointer of the frame that called it */
	uint64_t space;         /* userstack_serial */
	uint32_t event, stack, labels;
	uint32_t plain_labels;  /* the same without that of mark */
	struct stackmark mark;
	bool is_beyond;         /* as counted: n_truncated, else n_cut of struct stackwalk_stats */
	/* Private. */
	bool is_done;           /* completed, on top of n_outer frames whose node is outer */
	uint32_t outer, n_outer;
	uint32_t first, n_places; /* of latejoin.place, outermost first */
};

/* One per thread; zeroed at first, but for the pool, which all share. */
struct latejoin {
	struct latejoin_pool *pool;
	struct latejoin_cut *cut;      /* oldest first */
	uint32_t n, n_waiting;
	struct latejoin_place {
		uint64_t pc;
		uint32_t off8;         /* stack pointer: cfa - off8 * 8 */
		uint32_t node;         /* of a stack that was completed */
	} *place;
	uint32_t n_places, cap_places;
	uint64_t whole_ns, whole_space, whole_sp; /* of the last whole stack that was kept */
};
/* The pool stays. */
void latejoin_done(struct latejoin *l);
size_t latejoin_bytes(const struct latejoin *l);

/* Where samples are counted.  label is the label set with that of mark; walk's counters are set to
 * those of the completed stacks. */
struct latejoin_to {
	struct stackwalk *walk;
	struct counts *counts;
	uint32_t (*label)(void *ctx, uint32_t plain_labels, const struct stackmark *mark);
	void *label_ctx;
};

/*
 * Remembers cut, whose n frames are given innermost first.  Completes it, if a stack that was
 * completed before tells how it goes on, and then others that wait for it; returns how many.  The
 * oldest are forgotten when there are too many.  Without memory nothing is remembered.
 */
uint32_t latejoin_note(struct latejoin *l, const struct latejoin_cut *cut,
		       const struct unwind_frame *frame, uint32_t n, const struct latejoin_to *to);

/*
 * memo holds a whole stack, its caller_id set, of a sample of that time.  Counts each cut sample
 * that it completes for the completed stack instead, and those that stand on these; forgets those
 * that waited too long.  Returns how many were completed.
 */
uint32_t latejoin_complete(struct latejoin *l, struct procs_space *space,
			   const struct unwind_memo *memo, uint64_t time_ns,
			   const struct latejoin_to *to);

#endif
