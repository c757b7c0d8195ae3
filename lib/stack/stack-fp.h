#ifndef CPROF_STACK_STACK_FP_H
#define CPROF_STACK_STACK_FP_H

/* The frame pointer of a thread of which only stack pointer and pc are known (threadread.h). */

#include <stdbool.h>

#include "symbolize/unwind/unwind.h"

/*
 * *ret is the result of in, which ended with UNWIND_NO_FP, and regs is what in->regs points to.
 * Searches for the frame pointer and unwinds again.  True: *ret is complete up to a root, and regs
 * has the frame pointer; false: both are as before.
 */
bool stack_fp_find(struct unwind *u, const struct arch *arch, module_find *find_module,
		   struct unwind_input *in, struct unwind_regs *regs, struct unwind_result *ret);

#endif
