/* Rules read from x86-64 code. */

#include "symbolize/cfi/cfi-code.h"
#include "tests/unit/tap.h"

#define AT 0x1000

struct code {
	const char *name;
	uint8_t n, pc;          /* bytes; the offset of the pc in them */
	uint8_t b[48];
	int cfa_off;            /* 0: no rule */
	int fp_off;             /* 0: unchanged */
	bool is_fp;             /* CFA relative to the frame pointer */
	int n_rejected;         /* rules that are rejected first */
};

#define B(...) sizeof((uint8_t[]){ __VA_ARGS__ })
#define CODE(name, pc, bytes, ...) { name, B bytes, pc, { UNPACK bytes }, __VA_ARGS__ }
#define UNPACK(...) __VA_ARGS__

static const struct code codes[] = {
	CODE("ret", 0, (0xc3), 8, 0),
	CODE("rep ret", 0, (0xf3, 0xc3), 8, 0),
	CODE("ret imm16", 0, (0xc2, 8, 0), 8, 0),
	CODE("pop rbx; pop r12; ret", 0, (0x5b, 0x41, 0x5c, 0xc3), 24, 0),
	CODE("pop rbp; ret", 0, (0x5d, 0xc3), 16, -16),
	CODE("pop rbp; pop rbx; ret", 0, (0x5d, 0x5b, 0xc3), 24, -24),
	CODE("push rbx; call; pop rbx; ret", 0, (0x53, 0xe8, 0, 0, 0, 0, 0x5b, 0xc3), 8, 0),
	CODE("push rbp in the prologue", 0, (0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3), 8, 0),
	CODE("mov rbp, [rsp + 16]; add rsp, 24; ret", 0,
	     (0x48, 0x8b, 0x6c, 0x24, 0x10, 0x48, 0x83, 0xc4, 0x18, 0xc3), 32, -16, false),
	CODE("mov rbp, [rax]; ret: the frame pointer is lost", 0, (0x48, 0x8b, 0x28, 0xc3), 8, 0,
	     false),
	CODE("leave; ret", 0, (0xc9, 0xc3), 16, -16, true),
	CODE("leave after mov rbp, rsp: CFA relative to rsp", 0,
	     (0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0xc9, 0xc3), 16, -16),
	CODE("add rsp, imm8", 0, (0x48, 0x83, 0xc4, 0x18, 0xc3), 32, 0),
	CODE("add rsp, imm32", 0, (0x48, 0x81, 0xc4, 0x00, 0x02, 0, 0, 0xc3), 520, 0),
	CODE("sub rsp and add", 0, (0x48, 0x83, 0xec, 0x18, 0x90, 0x48, 0x83, 0xc4, 0x20, 0xc3), 16,
	     0),
	CODE("lea rsp, [rsp + 16]", 0, (0x48, 0x8d, 0x64, 0x24, 0x10, 0xc3), 24, 0),
	CODE("lea rsp, [rbp - 16]; pop; pop; pop rbp; ret", 0,
	     (0x48, 0x8d, 0x65, 0xf0, 0x5b, 0x41, 0x5c, 0x5d, 0xc3), 16, -16, true),
	CODE("a conditional branch not taken", 0, (0x75, 1, 0xc3, 0x5b, 0xc3), 8, 0),
	CODE("the branch is taken after the other path was rejected",
	     0, (0x75, 1, 0xc3, 0x5b, 0xc3), 16,
	     0, false, 1),
	CODE("a long branch", 0, (0x0f, 0x84, 1, 0, 0, 0, 0xf4, 0x5b, 0xc3), 16, 0),
	CODE("a jump forward", 0, (0xeb, 2, 0x0f, 0x0b, 0x5b, 0xc3), 16, 0),
	CODE("a long jump", 0, (0xe9, 2, 0, 0, 0, 0x0f, 0x0b, 0x5b, 0xc3), 16, 0),
	CODE("a loop with a branch out of it", 0, (0x74, 2, 0xeb, 0xfc, 0x5b, 0xc3), 16, 0),
	CODE("an endless loop", 0, (0xeb, 0xfe), 0, 0),
	CODE("a tail call through a pointer", 0, (0x58, 0xff, 0x25, 0, 0, 0, 0), 16, 0),
	CODE("a jump by register", 1, (0x90, 0xff, 0xe0, 0xc3), 0, 0),
	CODE("a function that is one jump by register", 0, (0xff, 0xe2, 0xc3), 8, 0),
	CODE("such a function that the stack does not confirm",
	     0, (0xff, 0xe2, 0xc3), 0, 0, false, 1),
	CODE("a jump by register after pops", 0, (0x5b, 0x5d, 0xff, 0xe0), 0, 0),
	CODE("a jump within a frame", 0, (0x53, 0xff, 0xe0, 0xc3), 0, 0),
	CODE("ud2", 0, (0x0f, 0x0b, 0xc3), 0, 0),
	CODE("and rsp, imm", 0, (0x48, 0x83, 0xe4, 0xf0, 0xc3), 0, 0),
	CODE("mov rsp, rax", 0, (0x48, 0x89, 0xc4, 0xc3), 0, 0),
	CODE("mov rsp, [rsp + 8]", 0, (0x48, 0x8b, 0x64, 0x24, 8, 0xc3), 0, 0),
	CODE("pop rsp", 0, (0x5c, 0xc3), 0, 0),
	CODE("PLT: jmp *[rip]", 0, (0xff, 0x25, 0, 0, 0, 0), 8, 0),
	CODE("PLT: endbr64; bnd jmp *[rip]", 0,
	     (0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0, 0, 0, 0), 8, 0),
	CODE("PLT by mold: mov imm, r11d; jmp *[rip]", 0,
	     (0x41, 0xbb, 1, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0), 8, 0),
	CODE("PLT: before push index; jmp", 0, (0x68, 1, 0, 0, 0, 0xe9, 0, 0, 0, 0), 8, 0),
	CODE("PLT: between push index and jmp", 5, (0x68, 1, 0, 0, 0, 0xe9, 0, 0, 0, 0), 16, 0),
	/* lengths: each instruction is followed by pop; ret */
	CODE("length: movabs", 0, (0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 0x58, 0xc3), 16, 0),
	CODE("length: mov r16, imm16", 0, (0x66, 0xb8, 0xc3, 0xc3, 0x58, 0xc3), 16, 0),
	CODE("length: mov [rax+rbx*4+disp32], imm32", 0,
	     (0xc7, 0x84, 0x98, 1, 2, 3, 4, 0xc3, 0xc3, 0xc3, 0xc3, 0x58, 0xc3), 16, 0),
	CODE("length: mov eax, [rip + disp32]", 0, (0x8b, 0x05, 0xc3, 0xc3, 0xc3, 0xc3, 0x58, 0xc3),
	     16, 0),
	CODE("length: mov eax, [disp32] by SIB", 0,
	     (0x8b, 0x04, 0x25, 0xc3, 0xc3, 0xc3, 0xc3, 0x58, 0xc3), 16, 0),
	CODE("length: test byte, imm8", 0, (0xf6, 0x40, 8, 0xc3, 0x58, 0xc3), 16, 0),
	CODE("length: not", 0, (0xf7, 0xd0, 0x58, 0xc3), 16, 0),
	CODE("length: imul imm8", 0, (0x6b, 0xc0, 0xc3, 0x58, 0xc3), 16, 0),
	CODE("length: nopw", 0, (0x66, 0x0f, 0x1f, 0x44, 0, 0, 0x58, 0xc3), 16, 0),
	CODE("length: pshufd", 0, (0x66, 0x0f, 0x70, 0xc0, 0xc3, 0x58, 0xc3), 16, 0),
	CODE("length: palignr (0f 3a)", 0, (0x66, 0x0f, 0x3a, 0x0f, 0xc1, 0xc3, 0x58, 0xc3), 16, 0),
	CODE("length: pshufb (0f 38)", 0, (0x66, 0x0f, 0x38, 0x00, 0xc1, 0x58, 0xc3), 16, 0),
	CODE("length: vpaddd (VEX 2)", 0, (0xc5, 0xfd, 0xfe, 0xc1, 0x58, 0xc3), 16, 0),
	CODE("length: vpermq (VEX 3, imm8)", 0, (0xc4, 0xe3, 0xfd, 0x00, 0xc0, 0xc3, 0x58, 0xc3),
	     16, 0),
	CODE("length: vzeroupper", 0, (0xc5, 0xf8, 0x77, 0x58, 0xc3), 16, 0),
	CODE("length: vpaddd zmm (EVEX, disp8)", 0,
	     (0x62, 0xf1, 0x7d, 0x48, 0xfe, 0x40, 0xc3, 0x58, 0xc3), 16, 0),
	CODE("length: enter", 0, (0xc8, 0, 0, 0, 0x58, 0xc3), 16, 0),
	CODE("the end of the code", 0, (0x58), 0, 0),
	CODE("an unknown opcode", 0, (0x06, 0xc3), 0, 0),
};

/* From the start of a function to a pc from which no path leads to a return. */
static const struct code starts[] = {
	CODE("from the start: at the start", 0, (0xf4), 8, 0),
	CODE("from the start: push rbx; sub rsp, 24", 5, (0x53, 0x48, 0x83, 0xec, 0x18, 0xf4), 40,
	     0),
	CODE("from the start: push r12; push rbp", 3, (0x41, 0x54, 0x55, 0xf4), 24, -24),
	CODE("from the start: push rbp; mov rbp, rsp; push rbx", 5,
	     (0x55, 0x48, 0x89, 0xe5, 0x53, 0xf4), 24, -16),
	CODE("from the start: push rbp; pop rbp", 2, (0x55, 0x5d, 0xf4), 8, 0),
	CODE("from the start: after a branch", 4, (0x53, 0x75, 1, 0xc3, 0x53, 0xf4), 16, 0),
	CODE("from the start: after a loop and a call", 11,
	     (0x53, 0xe8, 0, 0, 0, 0, 0x75, 0xf9, 0x50, 0x50, 0x90, 0xf4), 32, 0),
	CODE("from the start: and rsp, -16", 4, (0x48, 0x83, 0xe4, 0xf0, 0xf4), 0, 0),
	CODE("from the start: code that does not reach the pc", 2, (0xc3, 0x90, 0xf4), 0, 0),
	CODE("from the start: an endless loop", 3, (0xeb, 0xfe, 0x90, 0xf4), 0, 0),
};

struct test {
	const struct code *c;
	int n_rejected;
};

static size_t read_code(void *ctx, uint64_t at, uint8_t *buf, size_t n_bytes)
{
	const struct code *c = ((struct test *)ctx)->c;
	if (at < AT || at - AT >= c->n)
		return 0;
	size_t n = c->n - (at - AT);
	if (n > n_bytes)
		n = n_bytes;
	memcpy(buf, c->b + (at - AT), n);
	return n;
}

static bool accept(void *ctx, const struct cfi_rule *rule)
{
	struct test *t = ctx;
	(void)rule;
	return t->n_rejected-- <= 0;
}

static void try_codes(const struct code *v, size_t n, bool is_start)
{
	for (const struct code *c = v; c < v + n; c++) {
		struct test t = { c, c->n_rejected };
		struct cfi_code code = { .arch = &arch_x86_64, .ctx = &t, .read = read_code,
			.accept = accept };
		struct cfi_rule r = { 0 };
		bool found = is_start ? cfi_code_rule_from(&code, AT, AT + c->pc, &r)
				      : cfi_code_rule(&code, AT + c->pc, &r);
		bool ok = found == (c->cfa_off != 0);
		if (ok && found)
			ok = r.kind == CFI_PLAIN && r.flags & CFI_FLAG_HEURISTIC &&
			     r.cfa_off8 * 8 == c->cfa_off && r.ra_off8 == -1 &&
			     !!(r.flags & CFI_FLAG_CFA_FP) == c->is_fp &&
			     (r.flags & CFI_FLAG_FP_SAVED ? r.fp_off8 * 8 : 0) == c->fp_off;
		if (!tap_ok(ok, "%s", c->name))
			printf("# found %d cfa %d fp %d flags %#x\n", found, r.cfa_off8 * 8,
			       r.fp_off8 * 8, r.flags);
	}
}

int main(void)
{
	try_codes(codes, sizeof(codes) / sizeof(*codes), false);
	try_codes(starts, sizeof(starts) / sizeof(*starts), true);
	return tap_done();
}
