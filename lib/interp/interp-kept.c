#include "interp/interp-kept.h"

#include <stdlib.h>
#include <string.h>

#define ACTIVATIONS_MAX 32u
#define STACK_BYTES_MAX (32u << 10)

/* The part of the stack with the slots of all activations.  They are innermost first, so the CFA of
 * the last one that is known is the end. */
static size_t used_bytes(const struct activations *a)
{
	const struct stack_regs_walk *w = &a->walk;
	size_t i = a->v.n;
	while (i > 0 && !a->v.v[i - 1].cfa)
		i--;
	uint64_t n = i ? a->v.v[i - 1].cfa - w->stack_at : 0;
	return n < w->n_stack_bytes ? n : w->n_stack_bytes;
}

bool interp_kept_copy(struct interp_kept *ret, const struct activations *a)
{
	size_t n = used_bytes(a);
	*ret = (struct interp_kept){ .stack = NULL };
	if (a->v.n > ACTIVATIONS_MAX || n > STACK_BYTES_MAX || !(ret->stack = malloc(n + 1)) ||
	    !VEC_RESERVE(&ret->activations.v, a->v.n)) {
		interp_kept_done(ret);
		return false;
	}
	memcpy(ret->activations.v.v, a->v.v, a->v.n * sizeof(*a->v.v));
	ret->activations.v.n = a->v.n;
	if (n)
		memcpy(ret->stack, a->walk.stack, n);
	ret->activations.walk = (struct stack_regs_walk){
		.stack = ret->stack, .stack_at = a->walk.stack_at, .n_stack_bytes = n,
	};
	ret->n_bytes = n + a->v.n * sizeof(*a->v.v);
	return true;
}

void interp_kept_done(struct interp_kept *k)
{
	VEC_FREE(&k->head);
	activations_done(&k->activations);
	free(k->stack);
	*k = (struct interp_kept){ .stack = NULL };
}
