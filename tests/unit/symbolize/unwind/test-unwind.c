/*
 * The unwinder on handwritten stacks: both architectures on every host, every end, signal
 * frames, hostile input.
 */

#include "symbolize/runtime/runtime.h"
#include "tests/unit/symbolize/unwindworld.h"
#include "tests/unit/tap.h"

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
	/* its end: fp is the frame's own at first, and then the caller's,
	 * which the CFI does not say */
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
	perf_regs();
	return tap_done();
}
