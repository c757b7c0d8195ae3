#include "interp/activations.h"

#include "stack/stack-user.h"
#include "symbolize/arch/arch.h"

#include <stdlib.h>

void activations_done(struct activations *a)
{
	VEC_FREE(&a->v);
}

static bool add_activation(struct activations *a, const struct stack_regs_walk *w, uint64_t bias)
{
	const struct unwind_frame *f = &w->frame[w->i];
	struct activation one = {
		.pc = f->pc - bias, .regs = w->regs,
		.cfa = w->i + 1 < w->n ? w->frame[w->i + 1].sp : 0,
		.caller_pc = w->i + 1 < w->n ? w->frame[w->i + 1].pc - bias : 0,
	};
	one.regs.valid &= w->user->arch->callee_saved;
	return VEC_PUSH(&a->v, one);
}

bool activations_find(struct activations *a, const struct stack_regs_walk *walk,
		      const bool *is_loop, uint64_t bias)
{
	uint32_t n = walk->n;
	a->v.n = 0;
	a->walk = *walk;
	while (n > 0 && !is_loop[n - 1])
		n--;
	for (uint32_t i = 0; i < n; i++) {
		if (is_loop[i] && !add_activation(a, &a->walk, bias))
			return false;
		if (i + 1 < n)
			stack_regs_next(&a->walk);
	}
	return true;
}
