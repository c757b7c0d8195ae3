#ifndef CPROF_INTERP_ACTIVATIONS_H
#define CPROF_INTERP_ACTIVATIONS_H

/*
 * An activation of an interpreter's loop, in the stack of a sample: its registers, and the slots of
 * its native frame.  The loop keeps the instruction that it executes, and its frame of the
 * interpreter, in some of them; compilers decide in which.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "stack/stack-regs.h"

/* A place is the number of a register, or of a slot: the n-th word below the CFA. */
#define ACTIVATION_SLOTS 160u
#define ACTIVATION_PLACES (ARCH_REGS_MAX + ACTIVATION_SLOTS)
#define ACTIVATION_NO_PLACE UINT32_MAX

struct activation {
	uint64_t pc;                    /* in the loop: an address of the file */
	uint64_t cfa;                   /* 0: unknown */
	uint64_t caller_pc;             /* to which it returns, likewise; 0: unknown */
	struct unwind_regs regs;        /* those that are known */
};

/* Those of one stack, innermost first. */
struct activations {
	VEC(struct activation) v;
	struct stack_regs_walk walk;    /* private: over the copy of the stack */
};
void activations_done(struct activations *a);

/* Finds them: is_loop says of each of the walk's frames whether it is one, innermost first.  bias:
 * address in the process = address of the file + bias.  False: no memory. */
bool activations_find(struct activations *a, const struct stack_regs_walk *walk,
		      const bool *is_loop, uint64_t bias);

/* What is in a place; false: it is unknown. */
static inline bool activations_value(const struct activations *a, const struct activation *one,
				     uint32_t place, uint64_t *ret)
{
	if (place < ARCH_REGS_MAX) {
		*ret = one->regs.r[place];
		return one->regs.valid >> place & 1;
	}
	if (place >= ACTIVATION_PLACES || !one->cfa)
		return false;
	return stack_regs_load(&a->walk, one->cfa - 8 * (uint64_t)(place - ARCH_REGS_MAX + 1),
			       ret);
}

#endif
