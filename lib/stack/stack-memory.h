#ifndef CPROF_STACK_STACK_MEMORY_H
#define CPROF_STACK_STACK_MEMORY_H

/*
 * Continues a stack that is longer than its copy by reading the memory of the running process.  The
 * calls before the return addresses prove that the memory still holds the same stack.
 */

#include <stdbool.h>
#include <stdint.h>

#include "symbolize/unwind/unwind.h"

struct host;

/* Stacks are read in steps, each only when the previous one was too short. */
#define STACK_MEMORY_BYTES_MAX (2u << 20)

struct stack_memory {
	const struct host *host;        /* NULL: an import, whose processes are gone */
	const struct arch *arch;
	uint8_t *buf;
	uint64_t allowed_bytes;         /* may be read at time_ns */
	uint64_t time_ns;               /* of the last sample for which memory was read */
};

/* host is borrowed. */
void stack_memory_init(struct stack_memory *d, const struct host *host, const struct arch *arch);
void stack_memory_done(struct stack_memory *d);

/* Is it worthwhile to read memory for the next stack of a thread, after n_vain failures in a row,
 * the last one since_ns ago? */
bool stack_memory_is_due(uint32_t n_vain, uint64_t since_ns);

/*
 * Extends in->stack beyond in->n_stack_bytes, and beyond address `need` if possible (0: any), from
 * /proc/TID/mem of the sample's thread.  in is that of a sample at time_ns (CLOCK_MONOTONIC),
 * perhaps extended before.  in->stack is valid until the next call.  False, with *in unchanged:
 *
 * - the memory cannot be read, or there is no more of it;
 * - the end of the copy has changed in memory;
 * - too much was read in too short a time.
 */
bool stack_memory_lengthen(struct stack_memory *d, uint32_t tid, uint64_t time_ns,
			   uint64_t need, struct unwind_input *in);

/*
 * Does the part of the stack beyond copy_end (an address) belong to the part below?  r is the
 * unwound stack, memo a complete stack of that thread or NULL; find_module and ctx are as in the
 * unwinder.
 */
bool stack_memory_is_proved(const struct arch *arch, module_find *find_module, void *ctx,
			    const struct unwind_result *r, const struct unwind_memo *memo,
			    uint64_t copy_end);

#endif
