/*
 * A call precedes each return address, and most calls name the function that they call.  So the
 * code can deny that one frame called another, and sometimes prove it.
 *
 * Functions that switch stacks (makecontext, coroutines, runtimes) load the stack pointer from
 * memory or a register and then call a function on the new stack.  Their CFI does not describe that
 * stack: by the CFI, the caller would be found on the old one.  Frames with variable-length arrays
 * also load the stack pointer from a register, but their CFA is relative to the frame pointer.
 */

#include "symbolize/unwind/unwind-call.h"

#include "base/hash.h"
#include "symbolize/arch/arch.h"
#include "symbolize/runtime/runtime-file.h"
#include "symbolize/unwind/unwind-slow.h"

#include <string.h>

static bool call_function(module_find *find_module, void *ctx, uint64_t pc,
			  struct module *ret_module, uint64_t *ret_start)
{
	if (!find_module(ctx, pc, ret_module) || !ret_module->cfi ||
	    !runtime_file_function(ret_module, pc - ret_module->bias, ret_start))
		return false;
	*ret_start += ret_module->bias;
	return true;
}

bool unwind_call_is_one_function(module_find *find_module, void *ctx, uint64_t a,
				 uint64_t b)
{
	struct module m;
	uint64_t start_a, start_b;
	return a == b || (call_function(find_module, ctx, a, &m, &start_a) &&
			  call_function(find_module, ctx, b, &m, &start_b) && start_a == start_b);
}

/* ---- calls ------------------------------------------------------------------------- */

enum unwind_call unwind_call_before(const struct arch *arch, module_find *find_module,
				    void *ctx, uint64_t pc, uint64_t ra)
{
	struct module m, caller;
	uint64_t start, target, slot;
	size_t n;
	uint8_t b[ARCH_CALL_BYTES], stub[ARCH_STUB_BYTES];
	if (!call_function(find_module, ctx, pc, &m, &start) ||
	    !find_module(ctx, ra - 1, &caller) || !caller.cfi ||
	    cfi_read_code(caller.cfi, ra - sizeof(b) - caller.bias, b, sizeof(b)) < sizeof(b))
		return UNWIND_CALL_OF_ANOTHER;
	switch (arch->call(b, sizeof(b), ra, &target)) {
	case ARCH_CALL_NONE:
		return UNWIND_CALL_OF_ANOTHER;
	case ARCH_CALL_DIRECT:
		if (target == start)
			return UNWIND_CALL_OF_IT;
		n = cfi_read_code(caller.cfi, target - caller.bias, stub, sizeof(stub));
		return arch->stub_slot(stub, n, target, &slot) ? UNWIND_CALL_INDIRECT
							       : UNWIND_CALL_OF_ANOTHER;
	default:
		return UNWIND_CALL_INDIRECT;
	}
}

bool unwind_call_known(const struct unwind_walk *w, enum unwind_call_question q, uint64_t a,
		       uint64_t b, struct unwind_call_known **ret)
{
	uint64_t key = hash_u64(a + hash_u64(b + hash_u64(w->in->space + ((uint64_t)q << 60)))) | 1;
	*ret = &w->calls->v[key >> 32 & 255];
	if ((*ret)->key == key)
		return true;
	(*ret)->key = key;
	return false;
}

static bool call_is_so(const struct unwind_walk *w, enum unwind_call_question q, uint64_t ra)
{
	const struct unwind_frame *f = &w->frame[w->n - 1];
	uint64_t at = f->pc - !(f->flags & UNWIND_FRAME_EXACT);
	struct unwind_call_known *k;
	if (!unwind_call_known(w, q, at, ra, &k)) {
		enum unwind_call call =
			unwind_call_before(w->arch, w->find_module, w->in->ctx, at, ra);
		k->is_so = q == UNWIND_CALL_IS_IT ? call == UNWIND_CALL_OF_IT
						  : call != UNWIND_CALL_OF_ANOTHER;
	}
	return k->is_so;
}

bool unwind_call_may_be(const struct unwind_walk *w, uint64_t ra)
{
	return call_is_so(w, UNWIND_CALL_MAY_BE, ra);
}

bool unwind_call_is_it(const struct unwind_walk *w, uint64_t ra)
{
	return call_is_so(w, UNWIND_CALL_IS_IT, ra);
}

bool unwind_call_is_one(const struct unwind_walk *w, uint64_t a, uint64_t b)
{
	struct unwind_call_known *k;
	if (a == b)
		return true;
	if (!unwind_call_known(w, UNWIND_CALL_IS_ONE, a, b, &k))
		k->is_so = unwind_call_is_one_function(w->find_module, w->in->ctx, a, b);
	return k->is_so;
}

enum unwind_call_site unwind_call_site(const struct arch *arch, module_find *find_module, void *ctx,
				       uint64_t ra)
{
	struct module m;
	struct cfi_rule rule;
	uint8_t b[ARCH_CALL_BYTES];
	if (!find_module(ctx, ra - 1, &m) || !m.cfi)
		return UNWIND_CALL_SITE_NONE;
	runtime_file_rule(&m, ra - 1 - m.bias, &rule);
	if (rule.kind == CFI_ROOT)
		return UNWIND_CALL_SITE_ROOT;
	if (cfi_read_code(m.cfi, ra - m.bias - sizeof(b), b, sizeof(b)) < sizeof(b) ||
	    !arch_ends_with_call(arch, b, sizeof(b)))
		return UNWIND_CALL_SITE_NONE;
	return UNWIND_CALL_SITE;
}

/* ---- other stacks ---------------------------------------------------------------------- */

static bool call_is_switched(const struct unwind_walk *w, const struct unwind_frame *f)
{
	uint64_t at = f->pc - !(f->flags & UNWIND_FRAME_EXACT), start;
	struct module m;
	struct cfi_row row;
	uint8_t b[ARCH_SWITCH_BYTES_MAX];
	if (!call_function(w->find_module, w->in->ctx, at, &m, &start) ||
	    f->pc - start > sizeof(b) ||
	    cfi_read_code(m.cfi, start - m.bias, b, f->pc - start) < f->pc - start ||
	    cfi_row_at(m.cfi, at - m.bias, &row) != CFI_FOUND ||
	    row.cfa.how == CFI_HOW_VAL_EXPR || row.cfa_reg != w->arch->sp)
		return false;
	return w->arch->n_sp_loads(b, f->pc - start) > 0;
}

bool unwind_call_is_switched(const struct unwind_walk *w, uint32_t i)
{
	struct unwind_call_known *k;
	if (!unwind_call_known(w, UNWIND_CALL_IS_SWITCHED, w->frame[i].pc, 0, &k))
		k->is_so = call_is_switched(w, &w->frame[i]);
	return k->is_so;
}
