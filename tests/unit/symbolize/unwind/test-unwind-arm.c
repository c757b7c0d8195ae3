/* arm64 frames without CFI: which rules the unwinder reads from their code and accepts. */

#include "symbolize/cfi/cfi.h"
#include "symbolize/unwind/unwind.h"
#include "tests/unit/symbolize/cfibuild.h"
#include "tests/unit/tap.h"

#include <stdlib.h>

#define F_PUSH 0x1000u                  /* has CFI: 32 bytes, x30 at the bottom */
#define BIAS 0x550000000000ull
#define JIT 0x7f0000000000ull           /* JIT code */
#define SP 0x7ffc00001000ull
#define AT(i) (SP + 8ull * (i))
#define PC(f) (BIAS + (f) + 0x10)

struct world {
	struct cfi *cfi;
	struct unwind *u;
	struct unwind_regs regs;
	struct unwind_result r;
	uint64_t stack[32], space;
};

static bool find_module(void *ctx, uint64_t pc, struct module *ret)
{
	struct world *w = ctx;
	bool is_file = pc - BIAS < 0x10000;
	*ret = (struct module){ .cfi = is_file ? w->cfi : NULL, .bias = is_file ? BIAS : 0,
		.id = is_file, .is_jit = !is_file };
	return is_file || pc - JIT < 0x1000;
}

static void run(struct world *w, uint64_t pc)
{
	w->regs.r[arch_arm64.pc] = pc;
	struct unwind_input in = { .regs = &w->regs, .stack = (const uint8_t *)w->stack,
		.n_stack_bytes = sizeof(w->stack), .ctx = w, .space = w->space };
	unwind_stack(w->u, &in, NULL, &w->r);
}

/* Does the result have these pcs and this end? */
static bool is(const struct world *w, enum unwind_end end, size_t n, const uint64_t *pc)
{
	bool ok = w->r.end == end && w->r.n == n;
	for (size_t i = 0; ok && i < n; i++)
		ok = w->r.frame[i].pc == pc[i];
	if (!ok)
		printf("# %s, %u frames\n", unwind_end_name(w->r.end), w->r.n);
	return ok;
}
#define IS(w, end, ...) \
	is(w, end, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, (uint64_t[]){ __VA_ARGS__ })

/* str x30, [sp, #-16]!; blr x0; ldr x30, [sp], #16; ret; a frame of 32 bytes with x30 in the
 * middle; a call with nothing after it; a jump through x2; a signal trampoline. */
static const uint32_t arm_code[] = {
	0xf81f0ffe, 0xd63f0000, 0xf84107fe, 0xd65f03c0,
	0xd10083ff, 0xf9000bfe, 0xd63f0000, 0xf9400bfe, 0x910083ff, 0xd65f03c0,
	0xd63f0000, 0x00000000, 0xd65f03c0, 0xd61f0040, 0xd2801168, 0xd4000001,
};
#define ARM_AT(i) (JIT + 4u * (i))

static size_t read_arm(void *ctx, uint64_t pc, void *buf, size_t n_bytes)
{
	(void)ctx;
	if (pc - JIT >= sizeof(arm_code))
		return 0;
	if (n_bytes > sizeof(arm_code) - (pc - JIT))
		n_bytes = sizeof(arm_code) - (pc - JIT);
	memcpy(buf, (const uint8_t *)arm_code + (pc - JIT), n_bytes);
	return n_bytes;
}

int main(void)
{
	struct world w = { .space = 1, .regs = { .valid = ~0ull } };
	struct cfibuild b = { .vaddr = 0x9000, .is_eh = true };
	const struct cfi_bytes none = { 0 };
	struct unwind_options o = { .arch = &arch_arm64, .find_module = find_module,
				    .read_code = read_arm };
	cfibuild_cie_arm(&b, "zR");
	cfibuild_fde(&b, F_PUSH, 0x100);
	CFIBUILD(&b, DW_CFA_def_cfa_offset, 32, DW_CFA_offset | 30, 4);
	cfibuild_end(&b);
	cfibuild_terminate(&b);
	w.u = unwind_new(&o);
	if (!w.u || cfi_open_sections(&arch_arm64, none, cfibuild_section(&b), none, &w.cfi))
		abort();
	w.regs.r[arch_arm64.sp] = SP;
	w.regs.r[arch_arm64.fp] = 0x123456789;
	w.stack[0] = ARM_AT(2);
	w.stack[4] = ARM_AT(7) | 0x12ull << 48;
	w.stack[8] = ARM_AT(11);
	run(&w, PC(F_PUSH));
	tap_ok(IS(&w, UNWIND_NO_CFI, PC(F_PUSH), ARM_AT(2), ARM_AT(7), ARM_AT(11)) &&
	       w.r.frame[3].sp == AT(10) && w.r.frame[3].flags & UNWIND_FRAME_HEURISTIC,
	       "JIT code without a frame pointer is unwound");
	w.stack[2] = ARM_AT(11);
	w.regs.r[arch_arm64.link] = ARM_AT(7);
	run(&w, ARM_AT(0));
	tap_ok(IS(&w, UNWIND_NO_CFI, ARM_AT(0), ARM_AT(7), ARM_AT(11)) && w.r.frame[1].sp == SP,
	       "before the prologue, by the link register");
	w.space++;
	run(&w, ARM_AT(13));
	tap_ok(IS(&w, UNWIND_NO_CFI, ARM_AT(13), ARM_AT(7), ARM_AT(11)), "a jump");
	w.space++;
	w.regs.r[arch_arm64.link] = ARM_AT(5);
	run(&w, ARM_AT(0));
	tap_ok(IS(&w, UNWIND_NO_CFI, ARM_AT(0)),
	       "no call precedes the address in the link register");
	w.stack[4] = ARM_AT(8);
	w.space++;
	run(&w, PC(F_PUSH));
	tap_ok(IS(&w, UNWIND_NO_CFI, PC(F_PUSH), ARM_AT(2)),
	       "no call precedes the address on the stack");
	w.stack[4] = ARM_AT(14);
	w.space++;
	run(&w, PC(F_PUSH));
	tap_ok(w.r.n >= 3 && w.r.frame[2].pc == ARM_AT(14),
	       "a signal handler returns to the trampoline");
	unwind_free(w.u);
	cfi_close(w.cfi);
	return tap_done();
}
