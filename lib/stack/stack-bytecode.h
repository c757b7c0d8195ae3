#ifndef CPROF_STACK_STACK_BYTECODE_H
#define CPROF_STACK_STACK_BYTECODE_H

/*
 * Frames of functions that an interpreter executes, and whose frames say which: they get the
 * address of their bytecode as pc.  It does not matter how the stack was unwound.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "symbolize/runtime/runtime-code.h"

struct arch;
struct jit;
struct procs_space;
struct record_sample;
struct unwind_frame;
struct unwind_result;

#define STACK_BYTECODE_KNOWN_N 1024u

struct stack_bytecode {
	const struct arch *arch;                /* set by the caller */
	VEC(struct unwind_frame) frames;        /* the changed stack */
	VEC(struct runtime_frame) asked;
	VEC(uint32_t) index;                    /* of each asked one in frames */
	/* Private: what outer frames were in copies that were long enough. */
	struct { uint64_t space, sp, pc, found; } known[STACK_BYTECODE_KNOWN_N];
};

void stack_bytecode_done(struct stack_bytecode *b);

/* u is the stack of the sample in that state of the address space (stack_user_serial).  Its frames
 * are replaced, until the next call, if some are such frames. */
void stack_bytecode_apply(struct stack_bytecode *b, struct jit *j, struct procs_space *space,
			  uint64_t serial, const struct record_sample *s, struct unwind_result *u);

#endif
