#ifndef CPROF_STACK_STACK_MEMORY_H
#define CPROF_STACK_STACK_MEMORY_H

/*
 * Continues a stack that is longer than its copy from the memory of the living process, and proves
 * by the calls before the return addresses that what was read still is that stack.
 */

#include <stdbool.h>
#include <stdint.h>

#include "symbolize/unwind/unwind.h"

struct host;

/* Stacks are read in steps, each only when the one before was too short. */
#define STACK_MEMORY_BYTES_MAX (2u << 20)

struct stack_memory {
	const struct host *host;        /* NULL: a replay, whose processes are gone */
	const struct arch *arch;
	uint8_t *buf;
	uint64_t allowed_bytes;         /* that may be read at time_ns */
	uint64_t time_ns;               /* of the last sample for which something was read */
};

/* host is borrowed. */
void stack_memory_init(struct stack_memory *d, const struct host *host, const struct arch *arch);
void stack_memory_done(struct stack_memory *d);

/* Is it worth while to read on for the next stack of a thread that was tried n_vain times in a row
 * for nothing, the last time since_ns before? */
bool stack_memory_is_due(uint32_t n_vain, uint64_t since_ns);

/*
 * Lengthens in->stack to more than in->n_stack_bytes, and beyond address `need` if it can be (0:
 * no matter), from /proc/TID/mem of the sample's thread; in is a sample's of that time
 * (CLOCK_MONOTONIC), or one that was lengthened before.  False, with *in as it was, when that
 * cannot be read, when the end of the copy is not there unchanged any more, when there is no
 * more, or when much was read within this time.  in->stack is valid until the next call.
 */
bool stack_memory_lengthen(struct stack_memory *d, uint32_t tid, uint64_t time_ns,
			uint64_t need, struct unwind_input *in);

/*
 * Is the part of the stack beyond copy_end (an address) the one that belongs to the part below?
 * r is what was unwound, memo a whole stack of that thread or NULL, find_module and ctx as in the
 * unwinder.
 */
bool stack_memory_is_proved(const struct arch *arch, module_find *find_module, void *ctx,
			 const struct unwind_result *r, const struct unwind_memo *memo,
			 uint64_t copy_end);

#endif
