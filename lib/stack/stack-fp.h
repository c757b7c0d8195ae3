#ifndef CPROF_STACK_STACK_FP_H
#define CPROF_STACK_STACK_FP_H

/* The frame pointer of a thread of which only stack pointer and pc are known (threadread.h). */

#include <stdbool.h>

#include "symbolize/unwind/unwind.h"

enum stack_fp {
	STACK_FP_NONE,          /* none was needed */
	STACK_FP_MISSING,       /* it was not found */
	STACK_FP_GUESSED,       /* the call before the return address may be of another function */
	STACK_FP_PROVED,        /* a direct call of the function precedes the return address */
};

/*
 * *ret is the result of in, which ended with UNWIND_NO_FP, and regs is what in->regs points to.
 * Searches for the frame pointer and unwinds again.  If it is found, regs has it, and *ret is
 * complete up to a root, or up to code on another stack that a signal has interrupted.  Otherwise
 * both are as before.
 */
enum stack_fp stack_fp_find(struct unwind *u, const struct arch *arch, module_find *find_module,
			    struct unwind_input *in, struct unwind_regs *regs,
			    struct unwind_result *ret);

/* Is the outermost frame code that a signal has interrupted?  If the handler has a stack of its
 * own, the copy ends there. */
bool stack_fp_is_interrupted(const struct unwind_result *r);

#endif
