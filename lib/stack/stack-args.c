#include "stack/stack-args.h"

#include "source/record.h"
#include "symbolize/arch/arch.h"

#include <linux/perf_event.h>

/* Perf gives one value for each bit of the mask. */
bool stack_args(const struct arch *arch, const struct record *r, uint64_t ret[STACK_ARGS])
{
	const struct record_sample *s = &r->sample;
	if (!arch || !s->user_regs || s->user_abi != PERF_SAMPLE_REGS_ABI_64)
		return false;
	for (unsigned i = 0; i < STACK_ARGS; i++) {
		uint64_t bit = UINT64_C(1) << arch->perf_syscall_arg[i];
		if (!(s->user_regs_mask & bit))
			return false;
		ret[i] = s->user_regs[__builtin_popcountll(s->user_regs_mask & (bit - 1))];
	}
	return true;
}
