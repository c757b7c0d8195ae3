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
	/* Of the last stack: what called it, return addresses, innermost first. */
	uint64_t between;              /* before those of the chain; 0: none */
	const uint64_t *ra;            /* borrowed of the record */
	uint32_t n;                    /* 0: nothing follows */
	bool is_whole;                 /* the outermost one is in a root */
	uint64_t n_switched;           /* stacks that ended where Go switches stacks */
	uint64_t n_followed;           /* of them, gone on with */
	struct stack_switch_known *known;   /* private: made when first needed */
};

void stack_switch_done(struct stack_switch *g);

/* What follows the stack that was unwound of SAMPLE r: sets g->between to g->is_whole. */
void stack_switch_follow(struct stack_switch *g, const struct arch *arch,
			 module_find *find_module,
		    const struct unwind_input *in, const struct record *r,
		    const struct unwind_result *stack);

#endif
