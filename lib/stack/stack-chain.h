#ifndef CPROF_STACK_STACK_CHAIN_H
#define CPROF_STACK_STACK_CHAIN_H

/*
 * A sample's callchain is innermost first, in parts that are marked by PERF_CONTEXT_* words: the
 * kernel's frames, then the user's.  The user's part may come from the CPU's own record of calls
 * (LBR) instead.
 *
 * Within a part, the first address is where the sample (or the system call, or the interrupt)
 * happened, and is exact.  All others are return addresses: minus one, they are within the call.
 * Exceptions are the signal trampoline and the function that the signal has interrupted.
 */

#include <linux/perf_event.h>

#include "source/record.h"
#include "stack/stack-walk.h"

/* No record is longer than 64 KiB. */
#define STACK_CHAIN_MAX 8192u

/* misc: of a record. */
static inline bool stack_chain_is_kernel(uint16_t misc)
{
	uint16_t mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
	return mode == PERF_RECORD_MISC_KERNEL || mode == PERF_RECORD_MISC_HYPERVISOR;
}

/* Lays the callchain out in w->pc, root first and with adjusted addresses; returns their number.
 * *ret_truncated: there were more, or may have been. */
uint32_t stack_chain_lay_out(struct stack_walk *w, const struct record *r, bool *ret_truncated);

#endif
