#ifndef CPROF_STACK_STACK_GO_H
#define CPROF_STACK_STACK_GO_H

/*
 * Stacks of Go's runtime on a thread's own stack go on with the goroutine that it works for, whose
 * stack is not in the sample's copy, but in the chain of frame pointers that the kernel followed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/unwind/unwind.h"

struct record;

struct stack_go {
	/* Of the last stack: what called it, return addresses, innermost first. */
	uint64_t between;              /* before those of the chain; 0: none */
	const uint64_t *ra;            /* borrowed of the record */
	uint32_t n;                    /* 0: nothing follows */
	bool is_whole;                 /* the outermost one is in a root */
	uint64_t n_switched;           /* stacks that ended where Go switches stacks */
	uint64_t n_followed;           /* of them, gone on with */
	struct stack_go_known *known;   /* private: made when first needed */
};

void stack_go_done(struct stack_go *g);

/* What follows the stack that was unwound of SAMPLE r: sets g->between to g->is_whole. */
void stack_go_follow(struct stack_go *g, const struct arch *arch, module_find *find_module,
		    const struct unwind_input *in, const struct record *r,
		    const struct unwind_result *stack);

#endif
