/*
 * The functions further in have not changed the frame pointer, or their call frame information
 * would have found it on the stack.  So it is the address of the first word of a pair above the
 * stack pointer of the frame that needs it: the caller's frame pointer, and a return address, which
 * follows a call of this frame's function.  Functions that have returned leave such pairs behind,
 * so a candidate is right only if the stack that it gives reaches a root.  What they leave behind
 * may also lead to a return address of 0, which looks like a root.  The first candidate is taken
 * whose root is known to have no caller.  Threads of some runtimes have only the 0, so without
 * such a candidate it is the first with a direct call of this frame's function, or else the first;
 * but not if one with a direct call needs more of the stack than was copied.
 */

#include "stack/stack-fp.h"

#include "symbolize/unwind/unwind-call.h"

#include <string.h>

/* Of the frame that needs it: larger frames are rare. */
#define WORDS_MAX 4096u
#define CANDIDATES_MAX 32u

static uint64_t word_at(const struct unwind_input *in, uint64_t at)
{
	uint64_t word;
	memcpy(&word, in->stack + at, sizeof(word));
	return word;
}

bool stack_fp_is_interrupted(const struct unwind_result *r)
{
	return r->n >= 2 && r->end != UNWIND_ROOT &&
	       r->frame[r->n - 2].flags & UNWIND_FRAME_SIGNAL &&
	       r->frame[r->n - 1].flags & UNWIND_FRAME_EXACT;
}

/* Unwinds with this frame pointer. */
static void try_fp(struct unwind *u, const struct arch *arch, struct unwind_input *in,
		   struct unwind_regs *regs, uint64_t fp, struct unwind_result *ret)
{
	regs->r[arch->fp] = fp;
	regs->valid |= 1ull << arch->fp;
	unwind_stack(u, in, NULL, ret);
}

enum stack_fp stack_fp_find(struct unwind *u, const struct arch *arch, module_find *find_module,
			    struct unwind_input *in, struct unwind_regs *regs,
			    struct unwind_result *ret)
{
	const struct unwind_frame last = ret->frame[ret->n - 1];
	uint64_t sp = regs->r[arch->sp], at = last.sp - sp, pc = last.pc, best_fp = 0;
	uint32_t n_candidates = 0;
	struct unwind_regs before = *regs;
	enum stack_fp best = STACK_FP_MISSING;
	bool is_cut = false;
	pc -= !(last.flags & UNWIND_FRAME_EXACT);
	if (!in->stack || last.sp < sp)
		return STACK_FP_MISSING;
	for (uint32_t i = 0; i < WORDS_MAX && at + 16 <= in->n_stack_bytes; i++, at += 8) {
		uint64_t ra = word_at(in, at + 8) & arch->pc_mask;
		struct module m;
		if (!find_module(in->ctx, ra, &m))
			continue;
		enum unwind_call call = unwind_call_before(arch, find_module, in->ctx, pc, ra);
		if (call == UNWIND_CALL_OF_ANOTHER)
			continue;
		if (n_candidates++ >= CANDIDATES_MAX)
			break;
		enum stack_fp found = call == UNWIND_CALL_OF_IT ? STACK_FP_PROVED :
								  STACK_FP_GUESSED;
		try_fp(u, arch, in, regs, sp + at, ret);
		if (unwind_is_root_sure(ret) || stack_fp_is_interrupted(ret))
			return found;
		if (ret->end == UNWIND_ROOT && found > best) {
			best = found;
			best_fp = sp + at;
		}
		is_cut |= found == STACK_FP_PROVED && ret->end == UNWIND_BEYOND;
	}
	if (best == STACK_FP_PROVED || (best == STACK_FP_GUESSED && !is_cut)) {
		try_fp(u, arch, in, regs, best_fp, ret);
		return best;
	}
	*regs = before;
	unwind_stack(u, in, NULL, ret);
	return STACK_FP_MISSING;
}
