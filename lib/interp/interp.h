#ifndef CPROF_INTERP_INTERP_H
#define CPROF_INTERP_INTERP_H

/*
 * The functions of interpreters in native stacks.  An interpreter executes functions in a loop,
 * which calls itself through native functions.  Each activation of the loop is one native frame,
 * and executes one or more functions.  A runtime (interp-python.c) reads which; this module puts
 * them in the place of the loop's frame.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct dso_table;
struct frames;
struct host;
struct stacks;
struct vfuncs;

/* What a stack shows; see cprof-languages(7). */
enum interp_mode {
	INTERP_AUTO,    /* functions; native frames, too, but those of the loop and of its calls */
	INTERP_MIXED,   /* functions and all native frames */
	INTERP_ONLY,    /* functions and the innermost native frame */
	INTERP_NONE,    /* native frames */
};

/* The tables that frames and stacks are in: the engine's. */
struct interp_tables {
	struct dso_table *dsos;
	struct frames *frames;
	struct stacks *stacks;
	struct vfuncs *vfuncs;
	const struct host *host;
	struct interp_files *files;     /* of all processes; NULL: not shared */
};

/* The functions of a thread, innermost first. */
struct interp_frames {
	VEC(uint32_t) frames;           /* ids of the table */
	VEC(uint32_t) ends;             /* of each activation: the index after its last function */
	bool is_whole;                  /* they reach the thread's first function */
};
void interp_frames_done(struct interp_frames *f);

/* What the frames of a file are to its interpreter. */
struct interp_code {
	uint32_t dso;                   /* the file */
	uint64_t bias;                  /* address in the process = vaddr + bias */
	void *ctx;
	bool (*is_loop)(void *ctx, uint64_t vaddr);
	/* Does the code only pass calls on, so that between two activations it says nothing? */
	bool (*is_glue)(void *ctx, uint64_t vaddr);
	/* Is it the code that waits for the lock that a thread must hold to execute functions?
	 * NULL: there is no such lock, or it is not known. */
	bool (*is_lock_wait)(void *ctx, uint64_t vaddr);
};

enum interp_found {
	INTERP_PLACED,                  /* *node is the stack with the functions */
	INTERP_NO_LOOP,                 /* no activation, and no function */
	INTERP_UNKNOWN,                 /* they do not fit: the stack is unchanged */
};

/* Puts the functions into a stack.  is_whole: it reaches the thread's first native function.  If it
 * does not, further functions come before its outermost native frame. */
enum interp_found interp_place(const struct interp_tables *t, const struct interp_code *code,
			       enum interp_mode mode, const struct interp_frames *f,
			       bool is_whole, uint32_t *node);

#endif
