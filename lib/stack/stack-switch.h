#ifndef CPROF_STACK_STACK_SWITCH_H
#define CPROF_STACK_STACK_SWITCH_H

/*
 * A runtime may switch from one stack to another and call its functions there: the outer frames of
 * such a stack are on one that the sample's copy does not contain.  They are found in the chain of
 * frame pointers that the kernel has followed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/unwind/unwind.h"

struct record;

struct stack_switch {
	/* Return addresses of the frames that called the last stack, innermost first. */
	uint64_t between;               /* one that the chain lacks, before the others; 0: none */
	const uint64_t *ra;             /* borrowed from the record */
	uint32_t n;                     /* 0: nothing follows */
	bool is_whole;                  /* the outermost one is in a root */
	uint64_t n_switched;            /* stacks that ended where a runtime switches stacks */
	uint64_t n_followed;            /* of these, stacks that were continued */
	struct stack_switch_known *known; /* private: allocated when first needed */
};

void stack_switch_done(struct stack_switch *s);

/* Sets between, ra, n and is_whole to what follows the stack that was unwound from SAMPLE r. */
void stack_switch_follow(struct stack_switch *s, const struct arch *arch,
			 module_find *find_module,
			 const struct unwind_input *in, const struct record *r,
			 const struct unwind_result *stack);

#endif
