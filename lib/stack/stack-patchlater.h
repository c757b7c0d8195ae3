#ifndef CPROF_STACK_STACK_PATCHLATER_H
#define CPROF_STACK_STACK_PATCHLATER_H

/*
 * Stacks that ended beyond their copy, before it was known how they go on: a later whole stack of
 * the thread tells it, or one that was cut itself and is completed by now.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/stack-marks.h"

struct budget;
struct counts;
struct procs_space;
struct stack_walk;
struct unwind_frame;
struct unwind_memo;

/* So many stacks of a thread wait, or are there for others to be put on, and none for longer. */
#define STACK_PATCHLATER_CUTS_MAX 256u
#define STACK_PATCHLATER_NS_MAX 250000000u

/* Frames of all threads, of which is known where they stand: 2 MiB. */
#define STACK_PATCHLATER_PLACES_MAX 131072u

struct stack_patchlater_pool {
	uint32_t n_places;
};

/* A counted sample whose stack was cut. */
struct stack_patchlater_cut {
	uint64_t time_ns, n_samples, value;
	uint64_t pc;            /* an address in the outermost function that is known */
	uint64_t cfa;           /* the stack pointer of the frame that called it */
	uint64_t space;         /* stack_user_serial */
	uint32_t event, stack, labels;
	uint32_t plain_labels;  /* the same without that of mark */
	struct stack_marks mark;
	bool is_beyond;         /* as counted: n_truncated, else n_cut of struct stack_walk_stats */
	/* Private. */
	bool is_done;           /* completed, on top of n_outer frames whose node is outer */
	uint32_t outer, n_outer;
	uint32_t first, n_places; /* of latejoin.place, outermost first */
};

/* One per thread; zeroed at first, but for the pool, which all share. */
struct stack_patchlater {
	struct stack_patchlater_pool *pool;
	struct stack_patchlater_cut *cut;      /* oldest first */
	uint32_t n, n_waiting;
	struct stack_patchlater_place {
		uint64_t pc;
		uint32_t off8;         /* stack pointer: cfa - off8 * 8 */
		uint32_t node;         /* of a stack that was completed */
	} *place;
	uint32_t n_places, cap_places;
	uint64_t whole_ns, whole_space, whole_sp; /* of the last whole stack that was kept */
};
/* The pool stays. */
void stack_patchlater_done(struct stack_patchlater *l);
size_t stack_patchlater_bytes(const struct stack_patchlater *l);

/* Where samples are counted.  label is the label set with that of mark; walk's counters are set to
 * those of the completed stacks. */
struct stack_patchlater_to {
	struct stack_walk *walk;
	struct counts *counts;
	uint32_t (*label)(void *ctx, uint32_t plain_labels, const struct stack_marks *mark);
	void *label_ctx;
};

/*
 * Remembers cut, whose n frames are given innermost first.  Completes it, if a stack that was
 * completed before tells how it goes on, and then others that wait for it; returns how many.  The
 * oldest are forgotten when there are too many.  Without memory nothing is remembered.
 */
uint32_t stack_patchlater_note(struct stack_patchlater *l, const struct stack_patchlater_cut *cut,
			       const struct unwind_frame *frame, uint32_t n,
			       const struct stack_patchlater_to *to);

/*
 * memo holds a whole stack, its caller_id set, of a sample of that time.  Counts each cut sample
 * that it completes for the completed stack instead, and those that stand on these; forgets those
 * that waited too long.  Returns how many were completed.
 */
uint32_t stack_patchlater_complete(struct stack_patchlater *l, struct procs_space *space,
			   const struct unwind_memo *memo, uint64_t time_ns,
			   const struct stack_patchlater_to *to);

#endif
