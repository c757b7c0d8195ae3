/*
 * The unwinder on handwritten stacks: both architectures on every host, every end, signal
 * frames, the memo, joins, hostile input.
 *
 * One module, vaddr = pc - BIAS, with functions of 0x100 bytes each; see setup.
 */

#include "symbolize/runtime/runtime.h"
#include "symbolize/unwind/unwind.h"
#include "tests/unit/symbolize/cfibuild.h"
#include "tests/unit/tap.h"

#include <stdlib.h>

#define BIAS 0x550000000000ull
#define SP 0x7ffc00001000ull
#define F_START 0x1000          /* return address undefined */
#define F_PUSH 0x1100           /* CFA = sp + 32, fp unchanged */
#define F_FRAME 0x1200          /* push fp; mov fp, sp; CFA = fp + 16 */
#define F_BAD 0x1300            /* malformed */
#define F_REALIGN 0x1400        /* CFA = *(fp - 8) */
#define F_RBX 0x1500            /* CFA = rbx + 16 (arm64: x19) */
#define F_SAVES 0x1600          /* CFA = sp + 32, rbx at CFA - 16 */
#define F_SIGNAL 0x1700         /* signal trampoline */
#define F_NONE 0x1800           /* no CFI */
#define F_BIG 0x1900            /* CFA = sp + 1 MiB */
#define F_EPILOGUE 0x1a00       /* CFA = sp + 8, fp at CFA - 16: already popped */
#define F_LEAF 0x1b00           /* arm64: no frame */
#define F_EH 0x1c00             /* CFA = sp + 64, saves rax and rdx: returns to a handler */
#define F_UNALIGN 0x1d00        /* CFA = r10, as at the end of such a function */
#define F_END 0x1e00
#define JIT 0x7f0000000000ull   /* JIT code */

struct world {
	struct cfibuild b;
	struct cfi *cfi;
	struct unwind *u;
	uint64_t stack[512];
	struct unwind_regs regs;
	struct unwind_result r;
	uint64_t space;
	size_t n_stack_bytes;
	unsigned int n_asked, n_read;
	const struct runtime *runtime;
};

static bool find_module(void *ctx, uint64_t pc, struct module *ret)
{
	struct world *w = ctx;
	w->n_asked++;
	if (pc - JIT < 0x1000) {
		*ret = (struct module){ .id = 2, .is_jit = true,
						.runtime = w->runtime };
		return true;
	}
	if (pc - BIAS < 0x1000 || pc - BIAS >= F_END)
		return false;
	*ret = (struct module){ .cfi = w->cfi, .bias = BIAS, .id = 1 };
	return true;
}

static void function(struct cfibuild *b, uint64_t start, const uint8_t *op, size_t n)
{
	cfibuild_fde(b, start, 0x100);
	cfibuild_bytes(b, op, n);
	cfibuild_end(b);
}
#define FUNCTION(b, start, ...) \
	function(b, start, (const uint8_t[]){ __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ }))

static void setup_x86(struct cfibuild *b)
{
	cfibuild_cie_x86(b, "zR");
	FUNCTION(b, F_START, DW_CFA_undefined, 16);
	FUNCTION(b, F_PUSH, DW_CFA_def_cfa_offset, 32);
	FUNCTION(b, F_FRAME, DW_CFA_def_cfa, 6, 16, DW_CFA_offset | 6, 2);
	FUNCTION(b, F_BAD, 0x3f);
	FUNCTION(b, F_REALIGN, DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78, DW_OP_deref,
		 DW_CFA_expression, 6, 2, DW_OP_breg6, 0);
	FUNCTION(b, F_RBX, DW_CFA_def_cfa, 3, 16);
	FUNCTION(b, F_SAVES, DW_CFA_def_cfa_offset, 32, DW_CFA_offset | 3, 2);
	FUNCTION(b, F_BIG, DW_CFA_def_cfa_offset, 0x80, 0x80, 0x40);
	FUNCTION(b, F_EPILOGUE, DW_CFA_offset | 6, 2);
	FUNCTION(b, F_EH, DW_CFA_def_cfa_offset, 64, DW_CFA_offset | 6, 2, DW_CFA_offset | 1, 3,
		 DW_CFA_offset | 0, 4);
	FUNCTION(b, F_UNALIGN, DW_CFA_def_cfa, 10, 0, DW_CFA_expression, 6, 2, DW_OP_breg6, 0);
	cfibuild_cie(b, 1, "zRS", 1, -8, 16);
	/* as in glibc: registers in the ucontext, CFA = interrupted sp */
	CFIBUILD(b, DW_CFA_def_cfa_expression, 4, DW_OP_breg7, 0xa0, 1, DW_OP_deref);
	cfibuild_end(b);
	FUNCTION(b, F_SIGNAL, DW_CFA_expression, 6, 3, DW_OP_breg7, 0xf8, 0, DW_CFA_expression, 3,
		 3, DW_OP_breg7, 0x80, 1, DW_CFA_expression, 16, 3, DW_OP_breg7, 0xa8, 1);
}

static void setup_arm(struct cfibuild *b)
{
	cfibuild_cie_arm(b, "zR");
	FUNCTION(b, F_START, DW_CFA_undefined, 30);
	FUNCTION(b, F_PUSH, DW_CFA_def_cfa_offset, 32, DW_CFA_offset | 30, 4);
	FUNCTION(b, F_FRAME, DW_CFA_def_cfa, 29, 32, DW_CFA_offset | 29, 4, DW_CFA_offset | 30, 3);
	FUNCTION(b, F_RBX, DW_CFA_def_cfa, 19, 16, DW_CFA_offset | 30, 1);
	FUNCTION(b, F_SAVES, DW_CFA_def_cfa_offset, 32, DW_CFA_offset | 30, 4, DW_CFA_offset | 19,
		 2);
	FUNCTION(b, F_LEAF, DW_CFA_nop);
	cfibuild_cie_arm(b, "zRS");
	FUNCTION(b, F_SIGNAL, DW_CFA_nop);
}

static void open_world(struct world *w, const struct arch *a, uint32_t max_depth)
{
	const struct cfi_bytes none = { 0 };
	memset(w, 0, sizeof(*w));
	w->b.vaddr = 0x9000;
	w->b.is_eh = true;
	if (a == &arch_x86_64)
		setup_x86(&w->b);
	else
		setup_arm(&w->b);
	cfibuild_terminate(&w->b);
	struct unwind_options o = { .arch = a, .find_module = find_module, .max_depth = max_depth };
	if (cfi_open_sections(a, none, cfibuild_section(&w->b), none, &w->cfi) ||
	    !(w->u = unwind_new(&o)))
		abort();
	w->space = 1;
	w->n_stack_bytes = sizeof(w->stack);
	w->regs.valid = ~0ull;
	w->regs.r[a->sp] = SP;
}

static void close_world(struct world *w)
{
	unwind_free(w->u);
	cfi_close(w->cfi);
}

/* The address of word i of the stack, and a pc in a function. */
#define AT(i) (SP + 8ull * (i))
#define PC(f) (BIAS + (f) + 0x10)

static void run(struct world *w, uint64_t pc, const struct arch *a, struct unwind_memo *m)
{
	w->regs.r[a->pc] = pc;
	struct unwind_input in = { .regs = &w->regs, .stack = (const uint8_t *)w->stack,
		.n_stack_bytes = w->n_stack_bytes, .ctx = w, .space = w->space };
	unwind_stack(w->u, &in, m, &w->r);
}

/* Does the result have these pcs and this end? */
static bool is(const struct world *w, enum unwind_end end, size_t n, const uint64_t *pc)
{
	bool ok = w->r.end == end && w->r.n == n;
	for (size_t i = 0; ok && i < n; i++)
		ok = w->r.frame[i].pc == pc[i];
	if (ok)
		return true;
	printf("# %s:", unwind_end_name(w->r.end));
	for (size_t i = 0; i < w->r.n; i++)
		printf(" %#llx", (unsigned long long)(w->r.frame[i].pc - BIAS));
	printf("\n");
	return false;
}
#define IS(w, end, ...)                                                                            \
	is(w, end, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, (uint64_t[]){ __VA_ARGS__ })

static void x86_plain(void)
{
	struct world w;
	open_world(&w, &arch_x86_64, 0);
	/* PUSH (4 words) <- FRAME at words 4.. <- PUSH <- START */
	w.stack[3] = PC(F_FRAME);
	w.regs.r[6] = AT(8);
	w.stack[8] = 0x1234;
	w.stack[9] = PC(F_PUSH);
	w.stack[13] = PC(F_START);
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_ROOT, PC(F_PUSH), PC(F_FRAME), PC(F_PUSH), PC(F_START)),
	       "x86-64: sp and fp rules");
	tap_ok(w.r.frame[0].flags & UNWIND_FRAME_EXACT &&
		       !(w.r.frame[1].flags & UNWIND_FRAME_EXACT),
	       "only the innermost pc is exact");
	tap_ok(w.r.frame[2].fp == 0x1234 && w.r.frame[2].sp == AT(10),
	       "sp and fp of an outer frame");
	unsigned int n = w.n_asked;
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_int(w.n_asked - n, 0, "the second time no module is looked up");
	w.space = 2;
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(w.n_asked > n && unwind_stats(w.u)->n_searches == 4,
	       "a new address space looks modules up again, but reads no CFI");

	w.n_stack_bytes = 13 * 8;
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_BEYOND, PC(F_PUSH), PC(F_FRAME), PC(F_PUSH)), "copy too short");
	w.n_stack_bytes = 0;
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_BEYOND, PC(F_PUSH)), "no copy");
	w.n_stack_bytes = sizeof(w.stack);
	w.regs.r[6] = SP - 0x1000;
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_CYCLE, PC(F_PUSH), PC(F_FRAME)), "a CFA below the frame");
	w.regs.valid &= ~(1ull << 6);
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_NO_FP, PC(F_PUSH), PC(F_FRAME)), "no frame pointer: a plain rule");
	for (uint64_t f = F_REALIGN; f <= F_NONE; f += F_NONE - F_REALIGN) {
		run(&w, PC(f), &arch_x86_64, NULL);
		tap_ok(IS(&w, UNWIND_NO_FP, PC(f)), "no frame pointer: an expression, no CFI");
	}
	w.regs.valid = ~0ull;
	w.regs.r[6] = 0x1122334455667788;
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_BAD_SP, PC(F_PUSH), PC(F_FRAME)), "a CFA on another stack");
	w.regs.r[6] = AT(8);
	w.stack[9] = 0x4444;
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_BAD_PC, PC(F_PUSH), PC(F_FRAME)),
	       "a return address outside all modules is not a frame");
	w.stack[9] = 0;
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_ROOT, PC(F_PUSH), PC(F_FRAME)), "return address 0 is a root");
	w.stack[9] = PC(F_BAD);
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_BAD_CFI, PC(F_PUSH), PC(F_FRAME), PC(F_BAD)), "malformed CFI");
	run(&w, 0x10, &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_BAD_PC, 0x10),
	       "a pc outside all modules is still the innermost frame");
	w.regs.valid = 1;
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(w.r.end == UNWIND_NO_REGS && !w.r.n, "no registers");
	w.regs.valid = ~0ull;

	w.regs.r[6] = 0x5555;
	w.stack[0] = PC(F_FRAME + 0x80);
	run(&w, PC(F_EPILOGUE), &arch_x86_64, NULL);
	tap_ok(w.r.n == 2 && w.r.frame[1].fp == 0x5555, "a popped register has its value back");

	/* calls that are a function's last instruction return to the next function */
	w.stack[3] = BIAS + F_PUSH;
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_ROOT, PC(F_PUSH), BIAS + F_PUSH),
	       "a call at the very end of a function");
	close_world(&w);
}

static void x86_unusual(void)
{
	struct world w;
	open_world(&w, &arch_x86_64, 0);
	/* PUSH <- REALIGN, whose CFA is at fp - 8 */
	w.stack[3] = PC(F_REALIGN);
	w.regs.r[6] = AT(9);
	w.stack[8] = AT(14);
	w.stack[9] = 0x77;
	w.stack[13] = PC(F_START);
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_ROOT, PC(F_PUSH), PC(F_REALIGN), PC(F_START)) &&
		       w.r.frame[2].fp == 0x77,
	       "a realigned frame");
	/* its end: fp is the frame's own at first, and then, without a word in the CFI, the
	 * caller's */
	w.regs.r[10] = AT(2);
	w.regs.r[6] = AT(0);
	w.stack[0] = AT(8);
	w.stack[1] = PC(F_FRAME);
	w.stack[8] = AT(16);
	w.stack[9] = w.stack[17] = PC(F_START);
	run(&w, PC(F_UNALIGN), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_ROOT, PC(F_UNALIGN), PC(F_FRAME), PC(F_START)) &&
		       w.r.frame[1].fp == AT(8) && w.r.frame[2].fp == AT(16),
	       "a realigned frame whose frame pointer is not popped yet");
	w.regs.r[6] = AT(8);
	run(&w, PC(F_UNALIGN), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_ROOT, PC(F_UNALIGN), PC(F_FRAME), PC(F_START)) &&
		       w.r.frame[1].fp == AT(8),
	       "one whose frame pointer has been popped");
	w.regs.r[6] = AT(9);
	w.stack[8] = AT(14);
	w.stack[9] = 0x77;
	/* RBX as the innermost frame: the sampled register */
	w.regs.r[3] = AT(4);
	w.stack[5] = PC(F_START);
	run(&w, PC(F_RBX), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_ROOT, PC(F_RBX), PC(F_START)), "CFA relative to rbx, innermost frame");
	/* PUSH leaves rbx alone, SAVES has saved it */
	w.stack[3] = PC(F_SAVES);
	w.stack[6] = AT(20);
	w.stack[7] = PC(F_RBX);
	w.stack[21] = PC(F_START);
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_ROOT, PC(F_PUSH), PC(F_SAVES), PC(F_RBX), PC(F_START)),
	       "CFA relative to rbx, two frames out");
	w.regs.valid &= ~(1ull << 3);
	run(&w, PC(F_RBX), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_BAD_CFI, PC(F_RBX)), "CFA relative to an unknown register");
	run(&w, PC(F_BIG), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_BEYOND, PC(F_BIG)), "a frame of 1 MiB");
	close_world(&w);
}

static void x86_guess(void)
{
	struct world w;
	open_world(&w, &arch_x86_64, 0);
	w.regs.r[6] = AT(2);
	w.stack[2] = AT(10);
	w.stack[3] = PC(F_NONE);
	w.stack[10] = 0;
	w.stack[11] = PC(F_PUSH);
	w.stack[15] = PC(F_START);
	run(&w, PC(F_NONE), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_ROOT, PC(F_NONE), PC(F_NONE), PC(F_PUSH), PC(F_START)) &&
		       w.r.frame[1].flags & UNWIND_FRAME_HEURISTIC &&
		       !(w.r.frame[3].flags & UNWIND_FRAME_HEURISTIC),
	       "code without CFI by the frame pointer");
	w.stack[11] = PC(F_NONE);
	run(&w, PC(F_NONE), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_ROOT, PC(F_NONE), PC(F_NONE), PC(F_NONE)),
	       "frame pointer 0 is a root");
	w.regs.r[6] = 0;
	run(&w, PC(F_NONE), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_NO_CFI, PC(F_NONE)), "frame pointer 0 in the innermost frame is not");
	w.regs.r[6] = AT(2) + 1;
	run(&w, PC(F_NONE), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_NO_CFI, PC(F_NONE)), "an odd frame pointer");
	w.regs.r[6] = AT(2);
	w.stack[3] = 0x1234;
	run(&w, PC(F_NONE), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_NO_CFI, PC(F_NONE)), "a frame pointer that leads to no code");
	close_world(&w);
}

/* At JIT: a trampoline, a function with a frame pointer, one that pushes; CALL_END ends a call. */
#define CALL_END (JIT + 0x46)
static uint8_t jit_code[0x100] = {
	[0x00] = 0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3,
	[0x10] = 0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd0, 0x90, 0x90, 0xc9, 0xc3,
	[0x30] = 0x53, 0xff, 0xd0, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x5b, 0xc3,
	[0x44] = 0xff, 0xd0, 0xcc,
	/* a Java method: mov %eax, -0x14000(%rsp); push %rbp; sub $32, %rsp; call; ... */
	[0x80] = 0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x20,
	[0x96] = 0xff, 0xd0, 0xcc,
};
#define METHOD_CALL_END (JIT + 0x98)
#define INTERPRETER (JIT + 0xb4) /* no call before it */

static size_t read_jit(void *ctx, uint64_t pc, void *buf, size_t n_bytes)
{
	struct world *w = ctx;
	w->n_read++;
	if (pc - JIT >= sizeof(jit_code))
		return 0;
	if (n_bytes > sizeof(jit_code) - (pc - JIT))
		n_bytes = sizeof(jit_code) - (pc - JIT);
	memcpy(buf, jit_code + (pc - JIT), n_bytes);
	return n_bytes;
}

static void x86_jit(void)
{
	struct world w;
	open_world(&w, &arch_x86_64, 0);
	unwind_free(w.u);
	struct unwind_options o = { .arch = &arch_x86_64, .find_module = find_module,
				    .read_code = read_jit };
	w.u = unwind_new(&o);
	w.regs.r[6] = 0x123456789;
	w.stack[3] = JIT + 6;
	w.stack[5] = CALL_END;
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(w.r.n >= 3 && w.r.frame[2].pc == CALL_END && w.r.frame[2].sp == AT(6) &&
		       w.r.frame[2].flags & UNWIND_FRAME_HEURISTIC,
	       "a trampoline without a frame pointer is unwound by its code");
	w.stack[5] = PC(F_PUSH);
	run(&w, PC(F_PUSH) + 1, &arch_x86_64, NULL);
	w.space++;
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(w.r.n == 2 && w.r.end == UNWIND_NO_CFI,
	       "but not to a return address that follows no call");

	w.stack[0] = CALL_END;
	w.regs.r[6] = AT(20);
	w.stack[20] = AT(30);
	w.stack[21] = CALL_END;
	w.stack[30] = 0;
	w.stack[31] = PC(F_START);
	w.space++;
	run(&w, JIT + 0x10, &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_ROOT, JIT + 0x10, CALL_END, CALL_END, PC(F_START)),
	       "before the prologue the caller is not skipped");
	run(&w, JIT + 0x14, &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_ROOT, JIT + 0x14, CALL_END, CALL_END, PC(F_START)),
	       "after endbr64");
	w.stack[0] = AT(20);
	w.stack[1] = CALL_END;
	run(&w, JIT + 0x15, &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_ROOT, JIT + 0x15, CALL_END, CALL_END, PC(F_START)),
	       "between push and mov");
	w.stack[0] = 0;
	w.regs.r[6] = AT(20);
	run(&w, JIT + 0x1a, &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_ROOT, JIT + 0x1a, CALL_END, PC(F_START)), "by the frame pointer");
	w.regs.r[6] = 77;
	w.stack[0] = 5;
	w.stack[1] = CALL_END;
	run(&w, JIT + 0x34, &arch_x86_64, NULL);
	tap_ok(w.r.n >= 2 && w.r.frame[1].pc == CALL_END && w.r.frame[1].sp == AT(2),
	       "without a frame pointer: by the code up to its return");

	/* a recursion */
	for (unsigned int i = 0; i < 200; i++)
		w.stack[2 * i + 1] = JIT + 0x33;
	w.space++;
	w.n_read = 0;
	run(&w, JIT + 0x34, &arch_x86_64, NULL);
	tap_ok(w.r.n >= 200 && w.n_read < 40,
	       "code is not read for each frame (%u times)", w.n_read);
	close_world(&w);
}

/* argc where CFI expects the return address of a program's first function. */
static void x86_first(void)
{
	struct world w;
	open_world(&w, &arch_x86_64, 0);
	w.stack[3] = 2;         /* argc, argv, NULL */
	w.stack[4] = AT(20);
	w.stack[5] = AT(21);
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_ROOT, PC(F_PUSH)), "argc is not a return address");
	w.stack[6] = 1;
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_BAD_PC, PC(F_PUSH)), "another number there is not argc");
	w.stack[6] = 0;
	w.stack[4] = w.stack[5] = 1;
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_BAD_PC, PC(F_PUSH)), "argv must be further up");
	close_world(&w);
}

/* Compiled code that calls the interpreter, which calls compiled code. */
static void x86_java(void)
{
	struct world w;
	open_world(&w, &arch_x86_64, 0);
	unwind_free(w.u);
	struct unwind_options o = { .arch = &arch_x86_64, .find_module = find_module,
				    .read_code = read_jit };
	w.u = unwind_new(&o);
	w.runtime = runtime_of_library("/usr/lib/jvm/lib/server/libjvm.so");
	w.regs.r[6] = 0x123456789;
	w.stack[4] = AT(20);
	w.stack[5] = INTERPRETER;
	/* the interpreter's frame: method, last sp, sender's sp, frame pointer, return address */
	w.stack[17] = 0x123450;
	w.stack[19] = AT(24);
	w.stack[20] = 0x77777;
	w.stack[21] = METHOD_CALL_END;
	w.stack[28] = 0;
	w.stack[29] = CALL_END;
	for (unsigned int i = 0; i < 2; i++) {
		run(&w, JIT + 0x94, &arch_x86_64, NULL);
		tap_ok(IS(&w, UNWIND_ROOT, JIT + 0x94, INTERPRETER, METHOD_CALL_END, CALL_END) &&
			       w.r.frame[2].sp == AT(24) && w.r.frame[2].fp == 0x77777,
		       "Java: compiled, interpreted, compiled%s", i ? ", by cached rules" : "");
	}
	w.stack[17] = 0;
	w.space++;
	run(&w, JIT + 0x94, &arch_x86_64, NULL);
	tap_ok(w.r.n == 1 && w.r.end == UNWIND_NO_CFI, "not a frame of Java's interpreter");
	w.stack[17] = 0x123450;
	run(&w, JIT + 0x94, &arch_x86_64, NULL);
	w.stack[5] = 0x1;
	w.stack[0] = CALL_END;
	run(&w, JIT + 0x94, &arch_x86_64, NULL);
	tap_ok(w.r.n >= 2 && w.r.frame[1].pc == CALL_END,
	       "a rule for JIT code that the stack no longer confirms is replaced");
	w.stack[5] = CALL_END;
	w.stack[0] = 0;
	w.runtime = NULL;
	w.space++;
	run(&w, JIT + 0x94, &arch_x86_64, NULL);
	tap_ok(w.r.n == 1 && w.r.end == UNWIND_NO_CFI, "without Java it is not");
	close_world(&w);
}

/* At PC(F_NONE), in a file and without CFI: add $8, %rsp; ret. */
static unsigned int n_code_reads;

static size_t read_none(void *ctx, uint64_t pc, void *buf, size_t n_bytes)
{
	static const uint8_t code[16] = { 0x48, 0x83, 0xc4, 8, 0xc3, 0xcc };
	n_code_reads++;
	if (pc - PC(F_NONE) >= sizeof(code))
		return read_jit(ctx, pc, buf, n_bytes);
	if (n_bytes > sizeof(code) - (pc - PC(F_NONE)))
		n_bytes = sizeof(code) - (pc - PC(F_NONE));
	memcpy(buf, code + (pc - PC(F_NONE)), n_bytes);
	return n_bytes;
}

/* A rule from the code that no stack confirms, as in the child of clone. */
static void x86_denied(void)
{
	struct world w;
	bool is_by_fp = true;
	open_world(&w, &arch_x86_64, 0);
	unwind_free(w.u);
	struct unwind_options o = { .arch = &arch_x86_64, .find_module = find_module,
				    .read_code = read_none };
	w.u = unwind_new(&o);
	w.regs.r[6] = AT(20);
	w.stack[1] = 5;
	w.stack[21] = PC(F_START);
	for (unsigned int i = 0; i < 16; i++) {
		if (i == 8)
			n_code_reads = 0;
		run(&w, PC(F_NONE), &arch_x86_64, NULL);
		is_by_fp = is_by_fp && IS(&w, UNWIND_ROOT, PC(F_NONE), PC(F_START));
	}
	tap_ok(is_by_fp && n_code_reads == 0,
	       "code that no stack confirms is not read again and again");
	w.stack[1] = CALL_END;
	run(&w, PC(F_NONE), &arch_x86_64, NULL);
	tap_ok(w.r.n >= 2 && w.r.frame[1].pc == CALL_END && w.r.frame[1].sp == AT(2),
	       "its rule is kept for a stack that confirms it");
	close_world(&w);
}

static void x86_signal(void)
{
	struct world w;
	open_world(&w, &arch_x86_64, 0);
	/* the handler PUSH returned to the trampoline; ucontext at word 4 */
	w.stack[3] = BIAS + F_SIGNAL + 1;
	uint64_t *g = &w.stack[4 + 5]; /* gregs */
	g[10] = AT(70);                /* rbp */
	g[11] = AT(90);                /* rbx */
	g[15] = AT(60);                /* rsp */
	g[16] = BIAS + F_PUSH;         /* rip: a function's first instruction */
	w.stack[63] = PC(F_RBX);
	w.stack[91] = PC(F_START);
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_ROOT, PC(F_PUSH), BIAS + F_SIGNAL + 1, BIAS + F_PUSH, PC(F_RBX),
		  PC(F_START)),
	       "through a signal frame, with a register saved in it");
	tap_ok(w.r.frame[2].flags & UNWIND_FRAME_EXACT && w.r.frame[1].flags & UNWIND_FRAME_SIGNAL,
	       "the interrupted pc is exact");
	g[15] = 0x7ffd00000000ull;     /* the handler ran on an alternate stack */
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_BEYOND, PC(F_PUSH), BIAS + F_SIGNAL + 1, BIAS + F_PUSH),
	       "the stack that a signal on an alternate stack interrupted");
	g[15] = SP;                    /* the signal frame interrupted itself */
	g[16] = PC(F_PUSH);
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_int(w.r.end, UNWIND_CYCLE, "a cycle of signal frames");
	close_world(&w);
}

static void arm(void)
{
	struct world w;
	open_world(&w, &arch_arm64, 0);
	/* LEAF, its caller in the link register, signed <- FRAME <- PUSH <- START */
	w.regs.r[arch_arm64.link] = PC(F_FRAME) | 0x12ull << 48;
	w.regs.r[arch_arm64.fp] = AT(4);
	w.stack[4] = 0x99;
	w.stack[5] = PC(F_PUSH) | 0x3f5aull << 48;
	w.stack[8] = PC(F_START);
	run(&w, PC(F_LEAF), &arch_arm64, NULL);
	tap_ok(IS(&w, UNWIND_ROOT, PC(F_LEAF), PC(F_FRAME), PC(F_PUSH), PC(F_START)),
	       "arm64: leaf, frame record, pointer authentication");
	tap_ok(w.r.frame[1].sp == SP && w.r.frame[2].sp == AT(8) && w.r.frame[2].fp == 0x99,
	       "arm64: registers of outer frames");
	struct unwind_memo m = { 0 };
	run(&w, PC(F_LEAF), &arch_arm64, &m);
	run(&w, PC(F_LEAF) + 4, &arch_arm64, &m);
	tap_ok(IS(&w, UNWIND_ROOT, PC(F_LEAF) + 4, PC(F_FRAME), PC(F_PUSH), PC(F_START)) &&
	       w.r.n_same == 3, "arm64: a memo after a leaf");
	unwind_memo_done(&m);

	w.stack[5] = PC(F_LEAF);
	run(&w, PC(F_LEAF), &arch_arm64, NULL);
	tap_ok(IS(&w, UNWIND_BAD_CFI, PC(F_LEAF), PC(F_FRAME), PC(F_LEAF)),
	       "arm64: the return address of a caller cannot be in a register");
	/* x19 saved by SAVES */
	w.stack[0] = PC(F_RBX);
	w.stack[2] = AT(20);
	w.stack[21] = PC(F_START);
	run(&w, PC(F_SAVES), &arch_arm64, NULL);
	tap_ok(IS(&w, UNWIND_ROOT, PC(F_SAVES), PC(F_RBX), PC(F_START)),
	       "arm64: CFA relative to x19");
	/* the handler PUSH returns to the vDSO's trampoline at word 4: siginfo, ucontext, registers
	 */
	uint64_t *regs = &w.stack[4 + (128 + 176 + 8) / 8];
	w.stack[0] = PC(F_SIGNAL);
	regs[30] = PC(F_START);
	regs[31] = AT(100);
	regs[32] = PC(F_LEAF);
	run(&w, PC(F_PUSH), &arch_arm64, NULL);
	tap_ok(IS(&w, UNWIND_ROOT, PC(F_PUSH), PC(F_SIGNAL), PC(F_LEAF), PC(F_START)),
	       "arm64: a leaf interrupted by a signal");
	close_world(&w);
}

/* A stack of n frames of PUSH below START. */
static void chain(struct world *w, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		w->stack[4 * i + 3] = i + 1 < n ? PC(F_PUSH) : PC(F_START);
}

static void memo(void)
{
	struct world w;
	struct unwind_memo m = { 0 };
	open_world(&w, &arch_x86_64, 0);
	chain(&w, 10);
	run(&w, PC(F_PUSH), &arch_x86_64, &m);
	tap_ok(w.r.n == 11 && w.r.n_same == 0 && w.r.is_kept && m.n == 11,
	       "the first stack is kept");
	for (uint32_t i = 0; i < m.n; i++)
		m.caller_id[i] = 100 + i;
	uint64_t before = unwind_stats(w.u)->n_reused;
	run(&w, PC(F_PUSH) + 1, &arch_x86_64, &m);
	tap_ok(w.r.n == 11 && w.r.n_same == 10 && w.r.frame[0].pc == PC(F_PUSH) + 1 &&
	       m.caller_id[9] == 109, "another pc in the innermost frame");
	tap_int((long long)(unwind_stats(w.u)->n_reused - before), 9, "outer frames were reused");

	w.stack[4 * 5 + 3] = PC(F_PUSH) + 2;    /* frame 6's return address */
	run(&w, PC(F_PUSH), &arch_x86_64, &m);
	tap_ok(w.r.n == 11 && w.r.frame[6].pc == PC(F_PUSH) + 2 && w.r.n_same == 4,
	       "a changed return address ends the reuse, further out it goes on");

	/* two frames deeper */
	memmove(w.stack + 8, w.stack, 60 * 8);
	w.stack[3] = w.stack[7] = PC(F_PUSH);
	w.regs.r[7] = SP;
	run(&w, PC(F_PUSH), &arch_x86_64, &m);
	tap_ok(w.r.n == 13 && w.r.n_same == 0, "another sp: nothing is reused");
	struct world v;
	open_world(&v, &arch_x86_64, 0);
	memcpy(v.stack, w.stack, sizeof(v.stack));
	run(&v, PC(F_PUSH), &arch_x86_64, NULL);
	bool same = v.r.n == w.r.n;
	for (uint32_t i = 0; same && i < v.r.n; i++)
		same = v.r.frame[i].pc == w.r.frame[i].pc &&
		       m.frame[v.r.n - 1 - i].pc == v.r.frame[i].pc;
	tap_ok(same, "stacks are the same with and without a memo");
	close_world(&v);

	w.space++;
	run(&w, PC(F_PUSH), &arch_x86_64, &m);
	tap_ok(w.r.n == 13 && w.r.n_same == 0, "a new address space drops the memo");
	unwind_memo_done(&m);
	close_world(&w);
}

/* Two truncated stacks in a row; the second copy holds one more frame. */
static void further(void)
{
	struct world w;
	struct unwind_memo m = { 0 };
	open_world(&w, &arch_x86_64, 0);
	chain(&w, 20);
	w.n_stack_bytes = 10 * 32;
	run(&w, PC(F_PUSH), &arch_x86_64, &m);
	tap_ok(w.r.n == 11 && !w.r.is_whole && w.r.is_kept, "a truncated stack is kept at first");
	w.n_stack_bytes = 11 * 32;
	run(&w, PC(F_PUSH) + 1, &arch_x86_64, &m);
	tap_ok(w.r.n == 12 && w.r.n_same == 0, "with one more outer frame nothing is reused");
	bool same = m.n == 12;
	for (uint32_t i = 0; same && i < 12; i++)
		same = m.frame[11 - i].sp == w.r.frame[i].sp;
	tap_ok(same, "the memo has that frame, too");
	unwind_memo_done(&m);
	close_world(&w);
}

static void join(void)
{
	struct world w;
	struct unwind_memo m = { 0 };
	open_world(&w, &arch_x86_64, 0);
	chain(&w, 20);
	run(&w, PC(F_PUSH), &arch_x86_64, &m);
	w.n_stack_bytes = 10 * 32;
	run(&w, PC(F_PUSH) + 1, &arch_x86_64, &m);
	tap_ok(w.r.n == 21 && w.r.end == UNWIND_BEYOND && w.r.n_joined == 10 &&
		       w.r.frame[20].pc == PC(F_START) &&
		       w.r.frame[11].flags & UNWIND_FRAME_JOINED &&
		       !(w.r.frame[10].flags & UNWIND_FRAME_JOINED),
	       "a truncated stack is joined to the last complete one");
	tap_int(w.r.n_same, 0, "a joined stack differs from one that is not");
	run(&w, PC(F_PUSH) + 2, &arch_x86_64, &m);
	tap_ok(w.r.n_joined == 10 && w.r.n_same == 20, "the same joint again is reused");
	w.n_stack_bytes = sizeof(w.stack);
	run(&w, PC(F_PUSH) + 3, &arch_x86_64, &m);
	tap_ok(w.r.end == UNWIND_ROOT && !w.r.n_joined &&
		       !(w.r.frame[20].flags & UNWIND_FRAME_JOINED),
	       "joined frames inside the copy are verified");
	/* the copy ends in the innermost frame, whose pc has moved on */
	w.n_stack_bytes = 8;
	run(&w, PC(F_PUSH) + 5, &arch_x86_64, &m);
	tap_ok(w.r.n == 21 && w.r.n_joined == 20, "joined by function and CFA");
	run(&w, PC(F_SAVES), &arch_x86_64, &m);
	tap_ok(w.r.n == 1 && !w.r.n_joined && !w.r.is_kept,
	       "another function at that CFA is not joined");
	for (int i = 0; i < 20; i++)
		run(&w, PC(F_SAVES), &arch_x86_64, &m);
	tap_ok(w.r.is_kept && m.n == 1, "after many truncated stacks the old one is discarded");
	unwind_memo_done(&m);
	close_world(&w);
}

/* A stack longer than its copy is replaced by a complete one only after a while. */
static void is_long(void)
{
	struct world w;
	struct unwind_memo m = { 0 };
	open_world(&w, &arch_x86_64, 0);
	chain(&w, 20);
	run(&w, PC(F_PUSH), &arch_x86_64, &m);
	tap_ok(!m.is_long, "a stack that fits in its copy");
	w.n_stack_bytes = 10 * 32;
	run(&w, PC(F_PUSH), &arch_x86_64, &m);
	tap_ok(m.is_long && w.r.is_kept && w.r.cut_cfa == 0, "a joined stack is long");
	w.n_stack_bytes = sizeof(w.stack);
	run(&w, PC(F_PUSH), &arch_x86_64, &m);
	tap_ok(m.is_long && !w.r.is_kept && w.r.end == UNWIND_ROOT, "it outlives a short one");
	for (int i = 0; i < 20; i++)
		run(&w, PC(F_PUSH), &arch_x86_64, &m);
	tap_ok(!m.is_long && w.r.is_kept, "but not many short ones");
	struct unwind_input in = { .regs = &w.regs, .stack = (const uint8_t *)w.stack,
		.n_stack_bytes = 10 * 32, .ctx = &w, .space = w.space, .is_probe = true };
	unwind_stack(w.u, &in, &m, &w.r);
	tap_ok(w.r.n_joined && !w.r.is_kept && !m.is_long && m.n_joined == 0,
	       "a probe joins and does not change the memo");
	unwind_stack(w.u, &in, NULL, &w.r);
	tap_ok(!w.r.is_whole && w.r.cut_cfa == AT(44),
	       "a truncated stack reports the CFA of the missing frame");
	unwind_memo_done(&m);
	close_world(&w);
}

/* The return address of a function that jumps to a handler is already overwritten: no code of these
 * functions calls F_EH. */
static void handler(void)
{
	struct world w;
	struct unwind_memo m = { 0 };
	open_world(&w, &arch_x86_64, 0);
	w.stack[3] = PC(F_EH);
	w.stack[11] = PC(F_PUSH);
	w.stack[15] = PC(F_START);
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_BAD_PC, PC(F_PUSH), PC(F_EH)) && w.r.cut_cfa == AT(12) &&
		       !w.r.is_whole,
	       "the return address of an exception handler is not a caller's");
	struct unwind_frame frame[3] = { { .pc = PC(F_START), .sp = AT(16) },
		{ .pc = PC(F_RBX), .sp = AT(12) }, { .pc = PC(F_EH), .sp = AT(4) } };
	uint32_t id[3] = { 1, 2, 3 };
	m = (struct unwind_memo){ .frame = frame, .caller_id = id, .n = 3, .is_whole = true,
		.space = w.space };
	struct unwind_input in = { .regs = &w.regs, .stack = (const uint8_t *)w.stack,
		.n_stack_bytes = w.n_stack_bytes, .ctx = &w, .space = w.space, .is_probe = true };
	unwind_stack(w.u, &in, &m, &w.r);
	tap_ok(IS(&w, UNWIND_BAD_PC, PC(F_PUSH), PC(F_EH), PC(F_RBX), PC(F_START)) &&
		       w.r.n_joined == 2 && w.r.is_whole,
	       "the memo knows its caller");
	close_world(&w);
}

static void depth(void)
{
	struct world w;
	struct unwind_memo m = { 0 };
	open_world(&w, &arch_x86_64, 16);
	chain(&w, 100);
	run(&w, PC(F_PUSH), &arch_x86_64, &m);
	tap_ok(w.r.end == UNWIND_DEPTH && w.r.n == 16, "depth limit");
	run(&w, PC(F_PUSH) + 1, &arch_x86_64, &m);
	tap_ok(w.r.end == UNWIND_DEPTH && w.r.n == 16, "depth limit with a memo");
	unwind_memo_done(&m);
	close_world(&w);
}

static void perf_regs(void)
{
	struct unwind_regs r;
	uint64_t v[33];
	for (uint64_t i = 0; i < 33; i++)
		v[i] = 1000 + i;
	unwind_regs_from_perf(&arch_x86_64, 0xff01ff, v, &r);
	tap_ok(r.valid == 0x1ffff && r.r[0] == 1000 && r.r[3] == 1001 && r.r[2] == 1002 &&
		       r.r[1] == 1003 && r.r[7] == 1007 && r.r[16] == 1008 && r.r[8] == 1009 &&
		       r.r[15] == 1016,
	       "perf's x86-64 registers");
	unwind_regs_from_perf(&arch_arm64, 0x1ffffffff, v, &r);
	tap_ok(r.valid == 0x1ffffffff && r.r[29] == 1029 && r.r[32] == 1032,
	       "perf's arm64 registers");
}

int main(void)
{
	x86_plain();
	x86_unusual();
	x86_guess();
	x86_jit();
	x86_java();
	x86_denied();
	x86_first();
	x86_signal();
	arm();
	memo();
	further();
	join();
	is_long();
	handler();
	depth();
	perf_regs();
	return tap_done();
}
