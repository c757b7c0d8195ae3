/* Rules read from arm64 code; calls and PLT entries.  The words are encodings by GNU as of the
 * instructions in the titles, or of usual ones of compilers. */

#include "symbolize/cfi/cfi-code.h"
#include "tests/unit/tap.h"

#define AT 0x1000
#define LINK 1                  /* the return address is in the link register */
#define NONE -1

struct code {
	const char *name;
	uint8_t n, pc;          /* instructions; the index of the one at the pc */
	uint32_t word[10];
	int cfa_off;            /* NONE: no rule */
	int ra_off;             /* or LINK */
	int fp_off;             /* 0: unchanged */
	bool is_fp;             /* CFA relative to the frame pointer */
	int n_rejected;         /* rules that are rejected first */
};

static const struct code codes[] = {
	{ "ret", 1, 0, { 0xd65f03c0 }, 0, LINK, 0, false, 0 },
	{ "retaa", 1, 0, { 0xd65f0bff }, 0, LINK, 0, false, 0 },
	{ "ldp x29, x30, [sp], #32; ret", 2, 0,
	  { 0xa8c27bfd, 0xd65f03c0 }, 32, -24, -32, false, 0 },
	{ "a signed return address", 3, 0,
	  { 0xa8c27bfd, 0xd50323bf, 0xd65f03c0 }, 32, -24, -32, false, 0 },
	{ "registers are loaded first, the pair is at the bottom", 4, 0,
	  { 0xa94153f3, 0xf94013f5, 0xa8c37bfd, 0xd65f03c0 }, 48, -40, -48, false, 0 },
	{ "the pair at the top: ldp x29, x30, [sp, #64]; add sp, sp, #80", 3, 0,
	  { 0xa9447bfd, 0x910143ff, 0xd65f03c0 }, 80, -8, -16, false, 0 },
	{ "ldr x30, [sp], #16", 2, 0, { 0xf84107fe, 0xd65f03c0 }, 16, -16, 0, false, 0 },
	{ "x30 with another register, x29 left alone", 2, 0,
	  { 0xa8c14ffe, 0xd65f03c0 }, 16, -16, 0, false, 0 },
	{ "ldp x21, x30, [sp, #32]; ldp x19, x20, [sp], #64", 3, 0,
	  { 0xa9427bf5, 0xa8c453f3, 0xd65f03c0 }, 64, -24, 0, false, 0 },
	{ "ldur x30, [sp, #8]; add sp, sp, #16", 3, 0,
	  { 0xf84083fe, 0x910043ff, 0xd65f03c0 }, 16, -8, 0, false, 0 },
	{ "before a prologue", 5, 0,
	  { 0xa9bf7bfd, 0x910003fd, 0x94000000, 0xa8c17bfd, 0xd65f03c0 }, 0, LINK, 0, false, 0
	    },
	{ "in a prologue, before the frame pointer is set", 5, 1,
	  { 0xa9bf7bfd, 0x910003fd, 0x94000000, 0xa8c17bfd, 0xd65f03c0 }, 16, -8, -16, false, 0
	    },
	{ "in a prologue that reserves the frame first", 7, 1,
	  { 0xd10103ff, 0xa9037bfd, 0x9100c3fd, 0x94000000, 0xa9437bfd, 0x910103ff, 0xd65f03c0
	    }, 64, LINK, 0, false, 0 },
	{ "after a call", 3, 1, { 0x94000000, 0xa8c17bfd, 0xd65f03c0 }, 16, -8, -16, false, 0 },
	{ "mov sp, x29; ldp x29, x30, [sp], #32", 3, 0,
	  { 0x910003bf, 0xa8c27bfd, 0xd65f03c0 }, 32, -24, -32, true, 0 },
	{ "sub sp, x29, #16: a frame with a variable array", 5, 0,
	  { 0xd10043bf, 0xa9414ff4, 0xa9417bfd, 0x910083ff, 0xd65f03c0 }, 16, -8, -16, true, 0
	    },
	{ "loads relative to x29", 2, 0, { 0xa9407bbd, 0xd65f03c0 }, NONE },
	{ "sub sp, sp, #1, lsl #12", 3, 0,
	  { 0x914007ff, 0xf84107fe, 0xd65f03c0 }, 4112, -16, 0, false, 0 },
	{ "vector registers move the stack pointer", 4, 0,
	  { 0x6cc127e8, 0x3cc107e8, 0xa8c17bfd, 0xd65f03c0 }, 48, -8, -16, false, 0 },
	{ "a push and a pop between", 3, 0,
	  { 0xf81f0ff3, 0xf84107f3, 0xd65f03c0 }, 0, LINK, 0, false, 0 },
	{ "x29 as a general register, restored at the end", 3, 0,
	  { 0xaa0103fd, 0xf84107fd, 0xd65f03c0 }, 16, LINK, -16, false, 0 },
	{ "a conditional branch not taken", 4, 0,
	  { 0xb4000040, 0xd65f03c0, 0xf84107fe, 0xd65f03c0 }, 0, LINK, 0, false, 0 },
	{ "the branch is taken after the other path was rejected", 4, 0,
	  { 0xb4000040, 0xd65f03c0, 0xf84107fe, 0xd65f03c0 }, 16, -16, 0, false, 1 },
	{ "b.ne", 4, 0,
	  { 0x54000041, 0xd65f03c0, 0xf84107fe, 0xd65f03c0 }, 16, -16, 0, false, 1 },
	{ "tbnz", 4, 0,
	  { 0x37180040, 0xd65f03c0, 0xf84107fe, 0xd65f03c0 }, 16, -16, 0, false, 1 },
	{ "a jump", 4, 0,
	  { 0x14000002, 0x00000000, 0xf84107fe, 0xd65f03c0 }, 16, -16, 0, false, 0 },
	{ "a loop with a branch out of it", 4, 0,
	  { 0xb4000040, 0x17ffffff, 0xf84107fe, 0xd65f03c0 }, 16, -16, 0, false, 0 },
	{ "an endless loop", 1, 0, { 0x14000000 }, NONE },
	{ "a tail call by x16", 2, 0, { 0xa8c17bfd, 0xd61f0200 }, 16, -8, -16, false, 0 },
	{ "a PLT entry", 4, 0,
	  { 0x90000010, 0xf9400211, 0x91000210, 0xd61f0220 }, 0, LINK, 0, false, 0 },
	{ "the first PLT entry, after its push", 8, 4,
	  { 0xd503201f, 0xd503201f, 0xd503201f, 0xa9bf7bf0, 0x90000010, 0xf9400211, 0x91000210,
	    0xd61f0220 }, 16, LINK, 0, false, 0 },
	{ "a switch: br x1", 3, 1, { 0xd503201f, 0xaa0203e1, 0xd61f0020 }, NONE },
	{ "a function that is a single jump", 5, 4,
	  { 0xd503201f, 0xd503201f, 0xd503201f, 0xd65f03c0, 0xd61f0040 }, 0, LINK, 0, false, 0
	    },
	{ "ret x1", 1, 0, { 0xd65f0020 }, NONE },
	{ "brk", 2, 0, { 0xd4200020, 0xd65f03c0 }, NONE },
	{ "udf", 2, 0, { 0x00000000, 0xd65f03c0 }, NONE },
	{ "mov sp, x1", 2, 0, { 0x9100003f, 0xd65f03c0 }, NONE },
	{ "and sp, x9, #-64", 2, 0, { 0x927ae53f, 0xd65f03c0 }, NONE },
	{ "sub sp, sp, x1", 2, 0, { 0xcb2163ff, 0xd65f03c0 }, NONE },
	{ "ldr x30, [x0] does not load from the stack", 2, 0, { 0xf940001e, 0xd65f03c0 }, NONE },
	{ "mov x30, x1", 2, 0, { 0xaa0103fe, 0xd65f03c0 }, NONE },
	{ "cmp x0, #31 does not write the stack pointer", 3, 0,
	  { 0xf1007c1f, 0x3100067f, 0xd65f03c0 }, 0, LINK, 0, false, 0 },
	{ "stores, atomics and vectors", 6, 0,
	  { 0xc8017c62, 0xf8e10062, 0x4e22d420, 0xd53bd040, 0xd4000001, 0xd65f03c0 }, 0, LINK,
	    0, false, 0 },
	{ "the end of the code", 1, 0, { 0xd503201f }, NONE },
	{ "the slot is below the stack pointer", 2, 0, { 0xf85f83fe, 0xd65f03c0 }, NONE },
};

/* From the start of a function to a pc from which no path leads to a return. */
static const struct code starts[] = {
	{ "at the start", 1, 0, { 0x00000000 }, 0, LINK, 0, false, 0 },
	{ "stp x29, x30, [sp, #-32]!", 2, 1, { 0xa9be7bfd, 0x00000000 }, 32, -24, -32, false, 0 },
	{ "after the rest of the prologue", 4, 3,
	  { 0xa9b37bfd, 0x910003fd, 0xa90153f3, 0x00000000 }, 208, -200, -208, false, 0 },
	{ "frame reserved, not stored yet", 3, 1,
	  { 0xd10103ff, 0xa9037bfd, 0x00000000 }, 64, LINK, 0, false, 0 },
	{ "frame reserved, stored", 4, 3,
	  { 0xd503233f, 0xd10103ff, 0xa9037bfd, 0x00000000 }, 64, -8, -16, false, 0 },
	{ "str x30, [sp, #-16]!", 2, 1, { 0xf81f0ffe, 0x00000000 }, 16, -16, 0, false, 0 },
	{ "after a call, nothing stored", 2, 1, { 0x94000000, 0x00000000 }, NONE },
	{ "after a call, stored before it", 4, 3,
	  { 0xa9be7bfd, 0x910003fd, 0x94000000, 0x00000000 }, 32, -24, -32, false, 0 },
	{ "after a loop", 4, 3,
	  { 0xa9bf7bfd, 0xb4000040, 0x17ffffff, 0x00000000 }, 16, -8, -16, false, 0 },
	{ "mov sp, x1", 2, 1, { 0x9100003f, 0x00000000 }, NONE },
	{ "code that does not reach the pc", 2, 1, { 0xd65f03c0, 0x00000000 }, NONE },
};

struct test {
	const struct code *c;
	int n_rejected;
};

static size_t read_code(void *ctx, uint64_t at, uint8_t *buf, size_t n_bytes)
{
	const struct code *c = ((struct test *)ctx)->c;
	size_t n_all = 4u * c->n;
	if (at < AT || at - AT >= n_all)
		return 0;
	size_t n = n_all - (at - AT);
	if (n > n_bytes)
		n = n_bytes;
	memcpy(buf, (const uint8_t *)c->word + (at - AT), n);
	return n;
}

static bool accept(void *ctx, const struct cfi_rule *rule)
{
	struct test *t = ctx;
	(void)rule;
	return t->n_rejected-- <= 0;
}

static bool is_wanted(const struct code *c, bool found, const struct cfi_rule *r)
{
	if (!found || c->cfa_off == NONE)
		return found == (c->cfa_off != NONE);
	bool is_link = r->flags & CFI_FLAG_RA_REG;
	return r->kind == CFI_PLAIN && r->flags & CFI_FLAG_HEURISTIC &&
	       r->cfa_off8 * 8 == c->cfa_off &&
	       is_link == (c->ra_off == LINK) && (is_link || r->ra_off8 * 8 == c->ra_off) &&
	       !!(r->flags & CFI_FLAG_CFA_FP) == c->is_fp &&
	       (r->flags & CFI_FLAG_FP_SAVED ? r->fp_off8 * 8 : 0) == c->fp_off;
}

static void try_codes(const struct code *v, size_t n, bool is_start)
{
	for (const struct code *c = v; c < v + n; c++) {
		struct test t = { c, c->n_rejected };
		struct cfi_code code = { .arch = &arch_arm64, .ctx = &t, .read = read_code,
			.accept = accept };
		struct cfi_rule r = { 0 };
		uint64_t pc = AT + 4u * c->pc;
		bool found = is_start ? cfi_code_rule_from(&code, AT, pc, &r)
				      : cfi_code_rule(&code, pc, &r);
		if (!tap_ok(is_wanted(c, found, &r), "%s%s", is_start ? "from the start: " : "",
			    c->name))
			printf("# found %d cfa %d ra %d fp %d flags %#x\n", found, r.cfa_off8 * 8,
			       r.ra_off8 * 8, r.fp_off8 * 8, r.flags);
	}
}

static bool is_call(uint32_t insn)
{
	return arch_ends_with_call(&arch_arm64, (const uint8_t *)&insn, 4);
}

static void calls(void)
{
	uint32_t bl = 0x97fffffe, nothing[] = { 0xd503201f, 0xd503201f };
	uint64_t to = 0;
	tap_ok(is_call(bl) && is_call(0xd63f0020) && is_call(0xd73f0822) && is_call(0xd63f087f),
	       "bl, blr, blraa, blraaz are calls");
	tap_ok(!is_call(0x17fffffe) && !is_call(0xd61f0020) && !is_call(0xd65f03c0),
	       "b, br and ret are not calls");
	tap_ok(!arch_ends_with_call(&arch_arm64, (const uint8_t *)&bl, 3),
	       "three bytes are not a call");
	tap_ok(arch_arm64.call((const uint8_t *)&bl, 4, 0x2004, &to) == ARCH_CALL_DIRECT &&
	       to == 0x1ff8,
	       "the target of a call");
	tap_ok(arch_arm64.call((const uint8_t *)nothing, 4, 0x2004, &to) == ARCH_CALL_NONE,
	       "a nop has no target");

	uint32_t stub[] = { 0xb0000010, 0xf947fe11, 0x913fe210, 0xd61f0220 };
	uint32_t stub_bti[] = { 0xd503245f, 0xb0000010, 0xf947fe11, 0x913fe210, 0xd61f0220 };
	tap_ok(arch_arm64.stub_slot((const uint8_t *)stub, 16, 0x401230, &to) && to == 0x402ff8,
	       "the slot of a PLT entry");
	tap_ok(arch_arm64.stub_slot((const uint8_t *)stub_bti, 20, 0x401230, &to) &&
	       to == 0x402ff8, "the slot of a PLT entry that begins with bti c");
	tap_ok(!arch_arm64.stub_slot((const uint8_t *)nothing, 8, 0x401230, &to) &&
	       !arch_arm64.stub_slot((const uint8_t *)stub, 7, 0x401230, &to),
		"code that is not a PLT entry");

	tap_ok(arch_arm64.plt_entry((const uint8_t *)stub, 16, 0x401230, 12, 16, &to) ==
		       ARCH_PLT_SLOT && to == 0x402ff8, "the slot of a PLT entry, from its end");
	tap_int(arch_arm64.plt_entry((const uint8_t *)nothing, 8, 0x401230, 4, 16, &to),
		ARCH_PLT_NONE, "nops are not a PLT entry");

	uint32_t end[] = { 0xd2800ba8, 0xd4000001 }, other[] = { 0xd2800bc8, 0xd4000001 };
	tap_ok(arch_arm64.is_root((const uint8_t *)end, 8), "the end of clone");
	tap_ok(arch_arm64.is_root((const uint8_t *)&bl, 4), "exit(main())");
	tap_ok(!arch_arm64.is_root((const uint8_t *)other, 8) &&
	       !arch_arm64.is_root((const uint8_t *)end, 4), "other code is not a root");
}

/* Prologues and epilogues of JIT code: four instructions, the pc is at the third. */
static void frames(void)
{
	static const struct {
		const char *name;
		uint32_t word[4];
		int cfa_off, ra_off;    /* NONE; LINK */
	} v[] = {
		{ "before stp", { 0xd503201f, 0xd503201f, 0xa9bf7bfd, 0x910003fd }, 0, LINK },
		{ "after stp", { 0xd503201f, 0xa9be7bfd, 0x910003fd, 0xd503201f }, 32, -24 },
		{ "before sub", { 0xd503201f, 0xd503201f, 0xd10103ff, 0xa9037bfd }, 0, LINK },
		{ "after sub", { 0xd503201f, 0xd10103ff, 0xa9037bfd, 0x9100c3fd }, 64, LINK },
		{ "after sub and stp", { 0xd10103ff, 0xa9037bfd, 0x9100c3fd, 0xd503201f }, 64, -8 },
		{ "in the body", { 0xa9bf7bfd, 0x910003fd, 0xd503201f, 0xd503201f }, NONE, 0 },
	};
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		struct cfi_rule r = { 0 };
		bool found = arch_arm64.prologue_rule((const uint8_t *)(v[i].word + 2), 8, &r);
		bool is_link = r.flags & CFI_FLAG_RA_REG;
		tap_ok(found == (v[i].cfa_off != NONE) &&
		       (!found || (r.cfa_off8 * 8 == v[i].cfa_off &&
				   is_link == (v[i].ra_off == LINK) &&
				   (is_link || r.ra_off8 * 8 == v[i].ra_off))),
		       "prologue: %s", v[i].name);
	}
	uint32_t left[] = { 0xa9bf7bfd, 0xa8c27bfd, 0x14000010, 0xd503201f };
	uint32_t epilogue[] = { 0xd503201f, 0x910003bf, 0xa94153f3, 0xa8c37bfd, 0xd50323bf,
		0xd65f03c0 };
	const uint8_t *e = (const uint8_t *)epilogue, *l = (const uint8_t *)left;
	tap_ok(arch_arm64.is_epilogue(e + 4, 20) && arch_arm64.is_epilogue(e + 20, 4),
	       "an epilogue");
	tap_ok(!arch_arm64.is_epilogue(e + 4, 16) && !arch_arm64.is_epilogue(l, 16),
	       "an epilogue ends with a return");
	tap_ok(arch_arm64.is_leaving(l + 8, 8, 8), "a tail call after an epilogue");
	tap_ok(!arch_arm64.is_leaving(l + 4, 4, 12) && !arch_arm64.is_leaving(l + 12, 12, 4),
	       "not before the epilogue, and not after a jump");
}

static void references(void)
{
	static const uint32_t code[] = {
		0xb000001b,     /* adrp x27, 0x402000 */
		0xf9400b60,     /* ldr x0, [x27, #16] */
		0x9100437b,     /* add x27, x27, #16 */
		0xf9400361,     /* ldr x1, [x27]: no page any more */
		0xf0ffffe2,     /* adrp x2, 0x400000 */
		0xa9400840,     /* ldp x0, x2, [x2] */
		0xf9400041,     /* ldr x1, [x2] */
		0x90000003,     /* adrp x3 */
		0x94000001,     /* bl */
		0xf9400061,     /* ldr x1, [x3] */
	};
	uint64_t at[8];
	size_t n = arch_arm64.references((const uint8_t *)code, sizeof(code), 0x401000, at, 8);
	tap_ok(n == 3 && at[0] == 0x402010 && at[1] == 0x402010 && at[2] == 0x400000,
	       "addresses by their page: %zu", n);
	tap_ok(arch_arm64.references((const uint8_t *)code, sizeof(code), 0x401000, at, 1) == 1,
	       "no more than there is room for");
}

int main(void)
{
	try_codes(codes, sizeof(codes) / sizeof(*codes), false);
	try_codes(starts, sizeof(starts) / sizeof(*starts), true);
	calls();
	frames();
	references();
	return tap_done();
}
