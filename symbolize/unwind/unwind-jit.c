/*
 * Code in no file comes from compilers that keep the frame pointer (node, Java with
 * PreserveFramePointer), so there the code only says what the frame pointer cannot: where a
 * function was interrupted before it has made its frame, and that a few bytes behind the call
 * lies the return, as in Python's trampolines, which keep no frame pointer.  To follow such code
 * further would be of less use: it may be replaced by other code at the same address.
 */

#include "symbolize/unwind/unwind-jit.h"

#include "symbolize/runtime/runtime-hotspot.h"
#include "symbolize/unwind/unwind-code.h"
#include "symbolize/arch/x86-64/x86insn.h"

#include <string.h>

/* Does the code do nothing but take down its frame and return?  Instructions looked at. */
#define MADE_EPILOGUE_MAX 8u

static bool made_is_x86_epilogue(const uint8_t *p, size_t n)
{
	for (unsigned int k = 0; k < MADE_EPILOGUE_MAX; k++) {
		struct x86insn i = x86insn_decode(p, n);
		if (!i.n_bytes || i.is_vector)
			return false;
		if (*i.p == 0xc3)
			return true;
		bool is_add_sp = (*i.p == 0x83 || *i.p == 0x81) && i.modrm && *i.modrm == 0xc4;
		bool is_pop = *i.p >= 0x58 && *i.p <= 0x5f;
		if (!is_add_sp && !is_pop && *i.p != 0xc9)
			return false;
		p += i.n_bytes;
		n -= i.n_bytes;
	}
	return false;
}

static bool made_is_mov_fp_sp(const uint8_t *p)
{
	return p[0] == 0x48 && ((p[1] == 0x89 && p[2] == 0xe5) || (p[1] == 0x8b && p[2] == 0xec));
}

/* before: 1 byte before the pc, and the n bytes from it on.  Is the frame about to be made by
 * "push %rbp; mov %rsp, %rbp"? */
static bool made_x86_prologue(const uint8_t *before, size_t n, struct cfi_rule *ret)
{
	const uint8_t *p = before + 1, *end = before + n;
	*ret = (struct cfi_rule){ .kind = CFI_PLAIN, .flags = CFI_FLAG_GUESSED, .cfa_off8 = 1,
				  .ra_off8 = -1 };
	if (end - p >= 3 && before[0] == 0x55 && made_is_mov_fp_sp(p)) {
		ret->cfa_off8 = 2;
		ret->fp_off8 = -2;
		ret->flags |= CFI_FLAG_FP_SAVED;
		return true;
	}
	if (end - p >= 4 && !memcmp(p, "\xf3\x0f\x1e\xfa", 4)) /* endbr64 */
		p += 4;
	if (end - p >= 7 && !memcmp(p, "\x89\x84\x24", 3)) /* Java: is there stack enough? */
		p += 7;
	return end - p >= 4 && p[0] == 0x55 && made_is_mov_fp_sp(p + 1);
}

/* Does the frame pointer lead to another frame's, and to code? */
static bool made_has_fp(const struct unwind_walk *w)
{
	const struct unwind_frame *f = &w->frame[w->n - 1];
	struct module m;
	uint64_t fp, pc;
	return !(f->fp & 7) && f->fp >= f->sp && unwind_load(w, f->fp, &fp) &&
	       unwind_load(w, f->fp + 8, &pc) && (fp == 0 || fp > f->fp) && pc &&
	       w->find_module(w->in->ctx, pc - 1, &m);
}

/* Bytes of code looked at, before and behind the pc. */
#define MADE_BEFORE_MAX 8u
#define MADE_BEHIND_MAX 32u

static bool made_is_epilogue(enum cfi_arch a, const uint8_t *p, size_t n)
{
	return a == CFI_ARM64 ? cfi_code_arm_is_epilogue(p, n) : made_is_x86_epilogue(p, n);
}

static bool made_prologue(enum cfi_arch a, const uint8_t *pc, size_t n, struct cfi_rule *ret)
{
	return a == CFI_ARM64 ? cfi_code_arm_prologue(pc, n, ret)
			      : made_x86_prologue(pc - 1, n + 1, ret);
}

struct cfi_rule unwind_jit_rule(struct unwind_walk *w, const struct module *m,
				 const struct cfi_code *code, const bool *is_open,
				 bool *ret_is_final)
{
	const struct unwind_frame *f = &w->frame[w->n - 1];
	bool is_exact = f->flags & UNWIND_FRAME_EXACT, is_x86 = w->arch == CFI_X86_64;
	size_t n_before = is_x86 ? 1 : MADE_BEFORE_MAX;
	struct cfi_rule r;
	uint64_t word;
	uint8_t b[MADE_BEFORE_MAX + MADE_BEHIND_MAX], *pc = b + n_before;
	size_t n = code->read(code->ctx, f->pc - n_before, b, n_before + MADE_BEHIND_MAX);
	n = n > n_before ? n - n_before : 0;
	*ret_is_final = true;
	if (n && made_is_epilogue(w->arch, pc, n) && cfi_code_rule(code, f->pc, &r))
		return r;
	if (n && is_exact && made_prologue(w->arch, pc, n, &r) && code->accept(code->ctx, &r))
		return r;
	if (m->is_java && is_x86 && runtime_hotspot_rule(code, f->pc, is_exact, &r))
		return r;
	*ret_is_final = !*is_open;
	if (made_has_fp(w) || unwind_code_sender_sp(w, f->fp))
		return (struct cfi_rule){ .kind = CFI_NONE };
	*ret_is_final = false;
	/* a longer copy may have shown a frame pointer */
	if (f->fp % 8 == 0 && f->fp >= f->sp && unwind_is_near_copy(w, f->fp) &&
	    !unwind_load(w, f->fp + 8, &word))
		return (struct cfi_rule){ .kind = CFI_NONE };
	if (n && cfi_code_rule(code, f->pc, &r)) {
		/* the frames of Erlang, thousands of them: the stack must bear the rule out each
		 * time, but it is not made again */
		r.flags |= CFI_FLAG_MADE;
		*ret_is_final = !m->is_java;
		return r;
	}
	/* a stub that jumps on has no frame, as Java's for calls of virtual methods */
	r = (struct cfi_rule){ .kind = CFI_PLAIN, .flags = CFI_FLAG_GUESSED | CFI_FLAG_MADE,
			       .cfa_off8 = 1, .ra_off8 = -1 };
	if (!is_x86) {
		r.flags |= CFI_FLAG_RA_REG;
		r.cfa_off8 = r.ra_off8 = 0;
	}
	if (is_exact && code->accept(code->ctx, &r))
		return r;
	return (struct cfi_rule){ .kind = CFI_NONE };
}
