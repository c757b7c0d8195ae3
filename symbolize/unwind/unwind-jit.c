/*
 * Most JIT compilers keep the frame pointer (node, Java with PreserveFramePointer).  So the code is
 * only asked for what the frame pointer cannot say:
 *
 * - the function was interrupted before it has set up its frame;
 * - the return is a few bytes after the call, as in Python's trampolines, which keep no frame
 *   pointer.
 *
 * A runtime that describes its frames is believed; only at the leaf the frame may not be complete.
 *
 * Following JIT code further is of less use, because other code may replace it at the same address.
 */

#include "symbolize/unwind/unwind-jit.h"

#include "symbolize/runtime/runtime.h"
#include "symbolize/unwind/unwind-code.h"

#include <string.h>

/* Does the frame pointer lead to another frame pointer, and to a return address in code? */
static bool jit_has_fp(const struct unwind_walk *w)
{
	const struct unwind_frame *f = &w->frame[w->n - 1];
	struct cfi_slots at = cfi_slots(&w->arch->by_fp, f->fp);
	struct module m;
	uint64_t fp, pc;
	return !(f->fp & 7) && at.fp >= f->sp && unwind_load(w, at.fp, &fp) &&
	       unwind_load(w, at.ra, &pc) && (fp == 0 || fp > f->fp) && pc &&
	       w->find_module(w->in->ctx, pc - 1, &m);
}

/* Bytes of code that are read before and after the pc. */
#define JIT_BEFORE_MAX 8u
#define JIT_BEHIND_MAX 32u

/* The rule where the runtime tells the size of the frame, in which the caller's frame pointer is
 * next to the return address. */
static struct cfi_rule jit_known_rule(uint32_t frame_words)
{
	return (struct cfi_rule){ .kind = CFI_PLAIN, .flags = CFI_FLAG_FP_SAVED, .ra_off8 = -1,
				  .cfa_off8 = (int16_t)frame_words, .fp_off8 = -2 };
}

struct cfi_rule unwind_jit_rule(struct unwind_walk *w, const struct module *m,
				const struct cfi_code *code, const bool *is_open,
				bool *ret_is_final)
{
	const struct unwind_frame *f = &w->frame[w->n - 1];
	bool is_exact = f->flags & UNWIND_FRAME_EXACT, pushes_ra = arch_pushes_ra(w->arch);
	if (!is_exact && m->frame_words && pushes_ra) {
		*ret_is_final = true;
		return jit_known_rule(m->frame_words);
	}
	bool (*jit_rule)(const struct cfi_code *, uint64_t, bool, struct cfi_rule *) =
		m->runtime ? m->runtime->jit_rule : NULL;
	size_t n_before = w->arch->prologue_bytes_before;
	struct cfi_rule r;
	uint64_t word;
	uint8_t b[JIT_BEFORE_MAX + JIT_BEHIND_MAX], *pc = b + n_before;
	size_t n = code->read(code->ctx, f->pc - n_before, b, n_before + JIT_BEHIND_MAX);
	n = n > n_before ? n - n_before : 0;
	*ret_is_final = true;
	if (n && w->arch->is_epilogue(pc, n) && cfi_code_rule(code, f->pc, &r))
		return r;
	if (n && is_exact && w->arch->prologue_rule(pc, n, &r) && code->accept(code->ctx, &r))
		return r;
	if (jit_rule && jit_rule(code, f->pc, is_exact, &r))
		return r;
	*ret_is_final = !*is_open;
	if (jit_has_fp(w) || unwind_code_interpreter_sp(w, m, f->fp))
		return (struct cfi_rule){ .kind = CFI_NONE };
	*ret_is_final = false;
	/* a longer copy might show a frame pointer */
	struct cfi_slots at = cfi_slots(&w->arch->by_fp, f->fp);
	if (f->fp % 8 == 0 && at.fp >= f->sp && unwind_is_near_copy(w, f->fp) &&
	    !unwind_load(w, at.ra, &word))
		return (struct cfi_rule){ .kind = CFI_NONE };
	if (n && cfi_code_rule(code, f->pc, &r)) {
		/* Erlang has thousands of such frames.  The stack must confirm the rule each time,
		 * but it is not derived from the code again. */
		r.flags |= CFI_FLAG_JIT;
		*ret_is_final = !jit_rule;
		return r;
	}
	/* stubs that end with a jump have no frame, as Java's for calls of virtual methods */
	r = (struct cfi_rule){ .kind = CFI_PLAIN, .flags = CFI_FLAG_HEURISTIC | CFI_FLAG_JIT,
			       .cfa_off8 = 1, .ra_off8 = -1 };
	if (!pushes_ra) {
		r.flags |= CFI_FLAG_RA_REG;
		r.cfa_off8 = r.ra_off8 = 0;
	}
	if (is_exact && code->accept(code->ctx, &r))
		return r;
	return (struct cfi_rule){ .kind = CFI_NONE };
}
