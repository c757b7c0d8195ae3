/*
 * The unwinder on untrusted registers, stacks and tables: struct head, the bytes of the stack, then
 * .eh_frame.  Unwinds three stacks: unchanged, with a later innermost pc, and with one word of the
 * stack changed.  Each is unwound with a memo and compared with the result without one.
 */

#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/runtime.h"
#include "symbolize/unwind/unwind.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BIAS 0x550000000000ull
#define SP 0x7ffc00001000ull
#define DEPTH 64

struct head {
	uint8_t arch, change_word;
	uint16_t n_stack_bytes, pc, fp; /* pc: vaddr; fp: from sp */
	uint16_t n_later_bytes;         /* of the copy in the later stacks */
	uint16_t reg[6];
};

static struct cfi *cfi;

static void check(bool ok)
{
	if (!ok)
		abort();
}

static bool find_module(void *ctx, uint64_t pc, struct module *ret)
{
	(void)ctx;
	if (pc - BIAS >= 0x10000)
		return false;
	*ret = (struct module){ .cfi = pc - BIAS < 0x8000 ? cfi : NULL,
				       .bias = BIAS,
				       .id = 1,
				       .is_jit = pc - BIAS >= 0xc000,
				       .runtime = pc - BIAS >= 0xe000 ?
					runtime_of_library("/libjvm.so") : NULL };
	return true;
}

/* The input also serves as code without CFI. */
static const uint8_t *code;
static size_t n_code;

static size_t read_code(void *ctx, uint64_t pc, void *buf, size_t n_bytes)
{
	(void)ctx;
	uint64_t at = (pc - BIAS) & 0xfff;
	if (at >= n_code)
		return 0;
	if (n_bytes > n_code - at)
		n_bytes = n_code - at;
	memcpy(buf, code + at, n_bytes);
	return n_bytes;
}

static void check_result(const struct unwind_result *r, const struct unwind_memo *m)
{
	check(r->n >= 1 && r->n <= DEPTH && r->n_same <= r->n && r->n_joined < r->n);
	check(r->frame[0].flags & UNWIND_FRAME_EXACT);
	for (uint32_t i = 0; i < r->n; i++)
		check(!!(r->frame[i].flags & UNWIND_FRAME_JOINED) == (i >= r->n - r->n_joined));
	if (!m || !r->is_kept)
		return;
	check(m->n == r->n);
	for (uint32_t i = 0; i < r->n; i++)
		check(!memcmp(&m->frame[i], &r->frame[r->n - 1 - i], sizeof(*m->frame)));
}

/*
 * The number of frames, innermost first, that depend on this stack only.  A step through code
 * without CFI takes the rule that an earlier stack has confirmed, if this one confirms it, too; a
 * hostile stack confirms several, and with a memo the unwinder has not asked about the same ones.
 */
static uint32_t n_certain(const struct unwind_result *r)
{
	uint32_t n = 1;
	while (n < r->n && !(r->frame[n].flags & UNWIND_FRAME_HEURISTIC))
		n++;
	return n;
}

static void both(struct unwind *with, struct unwind *without, struct unwind_memo *m,
		 const struct unwind_input *in)
{
	struct unwind_result a, b;
	static struct unwind_frame old[DEPTH];
	uint32_t n_old = m->n;
	if (n_old)
		memcpy(old, m->frame, n_old * sizeof(*old));
	unwind_stack(with, in, m, &a);
	unwind_stack(without, in, NULL, &b);
	check_result(&a, m);
	check_result(&b, NULL);
	check(!b.n_joined && !b.n_same);
	for (uint32_t i = 0; i < a.n_same; i++)
		check(old[i].pc == a.frame[a.n - 1 - i].pc);
	uint32_t n = n_certain(&a);
	if (!a.n_joined && n == a.n)
		check(a.n == b.n && a.end == b.end);
	for (uint32_t i = 0; i < n && i < a.n - a.n_joined; i++)
		check(i < b.n && a.frame[i].pc == b.frame[i].pc && a.frame[i].sp == b.frame[i].sp &&
		      a.frame[i].fp == b.frame[i].fp);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct head h;
	if (size < sizeof(h))
		return 0;
	memcpy(&h, data, sizeof(h));
	data += sizeof(h);
	size -= sizeof(h);
	size_t n = h.n_stack_bytes < size ? h.n_stack_bytes : size;
	uint8_t *stack = malloc(n ? n : 1);
	if (!stack)
		abort();
	memcpy(stack, data, n);

	const struct arch *a = h.arch & 1 ? &arch_arm64 : &arch_x86_64;
	const struct cfi_bytes none = { 0 };
	struct cfi_bytes eh = { data + n, size - n, 0x9000 };
	struct unwind_options o = { .arch = a, .find_module = find_module,
		.read_code = read_code, .max_depth = DEPTH, .n_cache = 64 };
	code = data;
	n_code = size;
	struct unwind *with = unwind_new(&o), *without = unwind_new(&o);
	check(with && without && cfi_open_sections(a, none, eh, none, &cfi) == 0);

	struct unwind_regs regs = { .valid = ~0ull };
	for (unsigned int i = 0; i < ARCH_REGS_MAX; i++)
		regs.r[i] = h.reg[i % 6] & 1 ? BIAS + h.reg[i % 6] : SP + h.reg[i % 6];
	regs.r[a->sp] = SP;
	regs.r[a->fp] = SP + h.fp;
	regs.r[a->pc] = BIAS + h.pc;
	struct unwind_memo memo = { 0 };
	struct unwind_input in = { .regs = &regs, .stack = stack, .n_stack_bytes = n, .space = 1 };
	both(with, without, &memo, &in);
	both(with, without, &memo, &in);
	regs.r[a->pc] += 4;
	in.n_stack_bytes = h.n_later_bytes < n ? h.n_later_bytes : n;
	both(with, without, &memo, &in);
	in.n_stack_bytes = n;
	if (n)
		stack[h.change_word * 8u % n] ^= 0x40;
	both(with, without, &memo, &in);

	unwind_memo_done(&memo);
	unwind_free(with);
	unwind_free(without);
	cfi_close(cfi);
	free(stack);
	return 0;
}
