#ifndef CPROF_STACK_STACK_PATCHLATER_H
#define CPROF_STACK_STACK_PATCHLATER_H

/*
 * Completes truncated stacks later: by a whole stack of the same thread that comes after them, or
 * by a truncated one that was completed meanwhile.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/stack-marks.h"

struct budget;
struct counts;
struct procs_space;
struct stack_user;
struct stacks;
struct unwind_frame;
struct unwind_memo;

/* How many stacks of a thread wait for their outer part or can provide it to others, and for how
 * long. */
#define STACK_PATCHLATER_CUTS_MAX 256u
#define STACK_PATCHLATER_NS_MAX 250000000u

/* Frames of all threads whose stack address is kept: 2 MiB. */
#define STACK_PATCHLATER_PLACES_MAX 131072u

struct stack_patchlater_pool {
	uint32_t n_places;
};

/* A counted sample whose stack is truncated. */
struct stack_patchlater_cut {
	uint64_t time_ns, n_samples, value;
	uint64_t pc;            /* an address in the outermost known function */
	uint64_t cfa;           /* the stack pointer of the frame that called it */
	uint64_t space;         /* stack_user_serial */
	uint32_t event, stack, labels;
	uint32_t plain_labels;  /* labels without that of mark */
	struct stack_marks mark;
	bool is_beyond;         /* deeper than its copy or max_depth, not truncated otherwise */
	/* Private. */
	bool is_done;           /* completed: n_outer frames, whose node is outer, were put below */
	uint32_t outer, n_outer;
	uint32_t first, n_places; /* of struct stack_patchlater's place, outermost first */
};

/* One per thread; zeroed at first, except for the pool, which all share. */
struct stack_patchlater {
	struct stack_patchlater_pool *pool;
	struct stack_patchlater_cut *cut;      /* oldest first */
	uint32_t n, n_waiting;
	uint32_t n_old;        /* of the oldest, which are too old at old_ns */
	uint64_t old_ns;
	/* Not a VEC: the pool limits the places that all threads have room for, so room is added
	 * in steps that are checked against it first. */
	struct stack_patchlater_place {
		uint64_t pc;
		uint32_t off8;         /* stack pointer: cfa - off8 * 8 */
		uint32_t node;         /* of a completed stack */
	} *place;
	uint32_t n_places, cap_places;
	uint64_t whole_ns, whole_space, whole_sp; /* of the last whole stack that was kept */
};

/* Keeps the pool. */
void stack_patchlater_done(struct stack_patchlater *l);
size_t stack_patchlater_bytes(const struct stack_patchlater *l);

/* What completing works on; all borrowed.  label returns plain_labels with the label of mark. */
struct stack_patchlater_to {
	struct stacks *stacks;
	struct stack_user *user;
	struct counts *counts;
	uint32_t truncated;     /* the frame that a truncated stack begins with */
	uint32_t (*label)(void *ctx, uint32_t plain_labels, const struct stack_marks *mark);
	void *label_ctx;
};

/* The number of completed stacks, by is_beyond.  The caller has counted them as truncated, and
 * corrects that. */
struct stack_patchlater_completed {
	uint32_t n_beyond, n_cut;
};

/*
 * Remembers cut, whose n frames are given innermost first.  If a completed stack has its outer
 * part, completes it and others that wait for it.  The oldest are forgotten when there are too
 * many.  Without memory nothing is remembered.
 */
struct stack_patchlater_completed
stack_patchlater_note(struct stack_patchlater *l, const struct stack_patchlater_cut *cut,
		      const struct unwind_frame *frame, uint32_t n,
		      const struct stack_patchlater_to *to);

/*
 * memo holds a whole stack of a sample at time_ns, with caller_id set.  Moves each waiting sample
 * that it completes to the completed stack, and then those that these complete; forgets those that
 * have waited too long.
 */
struct stack_patchlater_completed
stack_patchlater_complete(struct stack_patchlater *l, struct procs_space *space,
			  const struct unwind_memo *memo, uint64_t time_ns,
			  const struct stack_patchlater_to *to);

#endif
