/*
 * A function that calls no other one, such as syscall(3) on arm64, leaves its return address in the
 * link register.  That address is lost, but its function is not: the stack has the return address
 * of that function, which follows a call of it.  So each such address leads to a function, and each
 * call in this function to a possible return address.  The first one is taken whose stack leads
 * back to the address from which it was derived, and on to a root.
 */

#include "stack/stack-link.h"

#include "stack/stack-fp.h"
#include "symbolize/arch/arch.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/unwind/unwind-call.h"

#include <string.h>

/* Of the stack that are searched, and of the code of a function. */
#define WORDS_MAX 512u
#define CODE_BYTES_MAX 8192u
#define CANDIDATES_MAX 64u

struct search {
	struct unwind *u;
	const struct arch *arch;
	module_find *find_module;
	struct unwind_input *in;
	struct unwind_regs *regs;
	struct unwind_result *ret;
	uint32_t n_candidates;
};

/* The address that the call before ra names. */
static bool called(const struct search *s, uint64_t ra, uint64_t *ret)
{
	struct module m;
	uint8_t b[ARCH_CALL_BYTES];
	return ra && s->find_module(s->in->ctx, ra - 1, &m) && m.cfi &&
	       cfi_read_code(m.cfi, ra - sizeof(b) - m.bias, b, sizeof(b)) == sizeof(b) &&
	       s->arch->call(b, sizeof(b), ra, ret) == ARCH_CALL_DIRECT;
}

/* Unwinds with that link register; the second caller must return to `outer`. */
static bool is_right(struct search *s, uint64_t link, uint64_t outer)
{
	s->regs->r[s->arch->link] = link;
	unwind_stack(s->u, s->in, NULL, s->ret);
	return s->ret->n > 2 && s->ret->frame[2].pc == outer &&
	       (s->ret->end == UNWIND_ROOT || stack_fp_is_interrupted(s->ret));
}

/* Tries the calls in the function that starts at that address. */
static bool try_function(struct search *s, uint64_t pc, uint64_t start, uint64_t outer)
{
	struct module m;
	struct cfi_fde fde;
	uint32_t off;
	bool is_debug;
	if (!s->find_module(s->in->ctx, start, &m) || !m.cfi ||
	    cfi_find_fde(m.cfi, start - m.bias, &fde, &off, &is_debug) != CFI_FOUND ||
	    fde.start != start - m.bias)
		return false;
	uint64_t n = fde.n_bytes < CODE_BYTES_MAX ? fde.n_bytes : CODE_BYTES_MAX;
	for (uint64_t i = s->arch->direct_call_bytes; i <= n; i += s->arch->insn_align) {
		if (unwind_call_before(s->arch, s->find_module, s->in->ctx, pc, start + i) ==
		    UNWIND_CALL_OF_ANOTHER)
			continue;
		if (s->n_candidates++ >= CANDIDATES_MAX)
			return false;
		if (is_right(s, start + i, outer))
			return true;
	}
	return false;
}

bool stack_link_find(struct unwind *u, const struct arch *arch, module_find *find_module,
		     struct unwind_input *in, struct unwind_regs *regs, struct unwind_result *ret)
{
	struct search s = { .u = u, .arch = arch, .find_module = find_module, .in = in,
			    .regs = regs, .ret = ret };
	const struct unwind_regs before = *regs;
	uint64_t pc = ret->frame[0].pc, word, start;
	if (!in->stack)
		return false;
	regs->valid |= UINT64_C(1) << arch->link;
	for (uint64_t at = 0; at + 8 <= in->n_stack_bytes && at < 8 * WORDS_MAX; at += 8) {
		memcpy(&word, in->stack + at, sizeof(word));
		word &= arch->pc_mask;
		if (called(&s, word, &start) && try_function(&s, pc, start, word))
			return true;
	}
	*regs = before;
	unwind_stack(u, in, NULL, ret);
	return false;
}
