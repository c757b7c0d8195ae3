#ifndef CPROF_STACK_STACK_LINK_H
#define CPROF_STACK_STACK_LINK_H

/* The link register of a thread of which only stack pointer and pc are known (threadread.h). */

#include <stdbool.h>

#include "symbolize/unwind/unwind.h"

/*
 * *ret is the result of in, which ended in its first frame, because the return address is in the
 * link register; regs is what in->regs points to.  Searches for the function that has made the call
 * and unwinds again.  True: regs has the link register, and *ret is a guess, complete up to a root,
 * or up to code on another stack that a signal has interrupted.  Otherwise both are as before.
 */
bool stack_link_find(struct unwind *u, const struct arch *arch, module_find *find_module,
		     struct unwind_input *in, struct unwind_regs *regs,
		     struct unwind_result *ret);

#endif
