#include "stack/stack-chain.h"

#include <string.h>

/* The sizes of existing LBRs (Intel's manual, volume 3, "last branch records"). */
static bool may_be_full(uint64_t n_branches)
{
	return n_branches == 8 || n_branches == 16 || n_branches == 32;
}

/*
 * The user's part of a stack from the calls that the CPU has recorded, innermost first.  `from` is
 * the call itself and needs no adjustment.  `to` is the start of the called function, which is used
 * for a sample in the kernel whose callchain does not contain the user's pc.
 */
static uint32_t lay_out_calls(struct stack_walk *w, const struct record_sample *s, uint64_t leaf,
			      uint32_t at)
{
	const struct perf_branch_entry *call = s->branches;
	for (uint64_t i = 0; i <= s->n_branches && at > 0; i++) {
		uint64_t pc = i > 0 ? call[i - 1].from : leaf ? leaf : call[0].to;
		if (!pc)
			continue;
		at--;
		w->pc[at] = pc;
		w->is_kernel[at] = false;
	}
	return at;
}

/* The first address of the user's part; 0: the sample has none. */
static uint64_t user_leaf(const struct record *r)
{
	const struct record_sample *s = &r->sample;
	for (uint64_t i = 0; i + 1 < s->n_callchain; i++)
		if (s->callchain[i] == (uint64_t)PERF_CONTEXT_USER)
			return s->callchain[i + 1];
	return stack_chain_is_kernel(r->misc) ? 0 : s->ip;
}

uint32_t stack_chain_lay_out(struct stack_walk *w, const struct record *r, bool *ret_truncated)
{
	const struct record_sample *s = &r->sample;
	uint32_t at = STACK_CHAIN_MAX;  /* filled from the end, innermost first */
	bool kernel = stack_chain_is_kernel(r->misc), first = true, skip = false;
	bool has_calls = s->n_branches && s->branches_are_calls;
	uint32_t n_ips = 0;
	for (uint64_t i = 0; i < s->n_callchain && at > 0; i++) {
		uint64_t pc = s->callchain[i];
		if (pc >= (uint64_t)PERF_CONTEXT_MAX) {
			kernel = pc == (uint64_t)PERF_CONTEXT_KERNEL ||
				 pc == (uint64_t)PERF_CONTEXT_HV;
			skip = !kernel && pc != (uint64_t)PERF_CONTEXT_USER;
			first = true;
			continue;
		}
		n_ips++;
		if (skip || pc == 0 || (has_calls && !kernel))
			continue;
		at--;
		w->pc[at] = first ? pc : pc - 1;
		w->is_kernel[at] = kernel;
		first = false;
	}
	*ret_truncated = w->max_stack && n_ips >= w->max_stack;
	if (has_calls) {
		at = lay_out_calls(w, s, user_leaf(r), at);
		*ret_truncated = w->max_branches ? s->n_branches >= w->max_branches
						 : may_be_full(s->n_branches);
	}
	if (at == STACK_CHAIN_MAX) {
		at--;
		w->pc[at] = s->ip;
		w->is_kernel[at] = stack_chain_is_kernel(r->misc);
	}
	uint32_t n = STACK_CHAIN_MAX - at;
	memmove(w->pc, w->pc + at, n * sizeof(*w->pc));
	memmove(w->is_kernel, w->is_kernel + at, n * sizeof(*w->is_kernel));
	return n;
}
