#ifndef CPROF_TESTS_UNWINDWORLD_H
#define CPROF_TESTS_UNWINDWORLD_H

/*
 * A module with CFI and a stack, both handwritten, for tests of the unwinder: pc = vaddr + BIAS.
 * Its functions have 0x100 bytes each, of which PC names the 16th.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/unwind/unwind.h"
#include "tests/unit/symbolize/cfibuild.h"

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

/* The address of word i of the stack, and a pc in a function. */
#define AT(i) (SP + 8ull * (i))
#define PC(f) (BIAS + (f) + 0x10)

/* A struct unwind_options' find_module; ctx: the world. */
bool find_module(void *ctx, uint64_t pc, struct module *ret);

void open_world(struct world *w, const struct arch *a, uint32_t max_depth);
void close_world(struct world *w);

/* Fills the stack with n frames of PUSH below START. */
void chain(struct world *w, unsigned int n);

/* Unwinds the stack; m: NULL, or the memo.  The result is w->r. */
void run(struct world *w, uint64_t pc, const struct arch *a, struct unwind_memo *m);

/* Does the result have these pcs and this end?  Prints it if not. */
bool is(const struct world *w, enum unwind_end end, size_t n, const uint64_t *pc);
#define IS(w, end, ...)                                                                            \
	is(w, end, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, (uint64_t[]){ __VA_ARGS__ })

#endif
