/*
 * Frames by the frame pointer alone.  Where a function saves the frame pointer and the return
 * address, relative to its own frame pointer, is data of the architecture.
 */

#include "symbolize/cfi/cfi.h"
#include "symbolize/unwind/unwind.h"
#include "tests/unit/symbolize/cfibuild.h"
#include "tests/unit/tap.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PUSH 0x1000u                    /* has CFI: CFA = sp + 32 */
#define PAIR 0x2000u                    /* arm64: 32 bytes, x29 and x30 at their bottom */
#define BIAS 0x550000000000ull
#define BARE 0x560000000000ull          /* code without CFI */
#define SP 0x7ffc00001000ull
#define AT(i) (SP + 8ull * (i))
#define N_FRAMES 6u                     /* by the frame pointer */
#define FRAME_WORDS 5u

struct world {
	struct cfi *cfi;
	struct unwind *u;
	struct unwind_regs regs;
	struct unwind_result r;
	uint64_t *stack;
	size_t n_words;
	struct cfibuild section; /* the rules refer to it */
};

static bool find_module(void *ctx, uint64_t pc, struct module *ret)
{
	struct world *w = ctx;
	bool has_cfi = pc - BIAS < 0x10000;
	*ret = (struct module){ .cfi = has_cfi ? w->cfi : NULL, .bias = has_cfi ? BIAS : 0,
		.id = has_cfi };
	return has_cfi || pc - BARE < 0x1000;
}

/* Everywhere is the same instruction, so that all return addresses follow a call: blr x0. */
static size_t read_call(void *ctx, uint64_t pc, void *buf, size_t n_bytes)
{
	static const uint8_t call[] = { 0x00, 0x00, 0x3f, 0xd6 };
	(void)ctx;
	for (size_t i = 0; i < n_bytes; i++)
		((uint8_t *)buf)[i] = call[(pc + i) % 4];
	return n_bytes;
}

static void open_world(struct world *w, const struct arch *a, module_read_code *read_code)
{
	const struct cfi_bytes none = { 0 };
	const struct unwind_options o = { .arch = a, .find_module = find_module,
					  .read_code = read_code };
	struct cfibuild *b = &w->section;
	*b = (struct cfibuild){ .vaddr = 0x9000, .is_eh = true };
	if (arch_pushes_ra(a))
		cfibuild_cie_x86(b, "zR");
	else
		cfibuild_cie_arm(b, "zR");
	cfibuild_fde(b, PUSH, 0x100);
	CFIBUILD(b, DW_CFA_def_cfa_offset, 32);
	if (!arch_pushes_ra(a))
		CFIBUILD(b, DW_CFA_offset | 30, 1);
	cfibuild_end(b);
	if (!arch_pushes_ra(a)) {
		cfibuild_fde(b, PAIR, 0x100);
		CFIBUILD(b, DW_CFA_def_cfa_offset, 32, DW_CFA_offset | 29, 4,
			 DW_CFA_offset | 30, 3);
		cfibuild_end(b);
	}
	cfibuild_terminate(b);
	if (cfi_open_sections(a, none, cfibuild_section(b), none, &w->cfi) ||
	    !(w->u = unwind_new(&o)))
		abort();
	w->regs.valid = ~0ull;
}

static void close_world(struct world *w)
{
	unwind_free(w->u);
	cfi_close(w->cfi);
}

static void run_memo(struct world *w, const struct arch *a, uint64_t pc, struct unwind_memo *m)
{
	w->regs.r[a->pc] = pc;
	struct unwind_input in = { .regs = &w->regs, .stack = (const uint8_t *)w->stack,
		.n_stack_bytes = w->n_words * sizeof(*w->stack), .ctx = w, .space = 1 };
	unwind_stack(w->u, &in, m, &w->r);
}

static void run(struct world *w, const struct arch *a, uint64_t pc)
{
	run_memo(w, a, pc, NULL);
}

/* The saved frame pointer's slot is `low` words from the frame pointer, the end of the two slots
 * `cfa` words. */
static struct arch arch_with(int16_t low, int16_t cfa)
{
	struct arch a = arch_arm64;
	a.by_fp.cfa_off8 = cfa;
	a.by_fp.fp_off8 = (int16_t)(low - cfa);
	a.by_fp.ra_off8 = (int16_t)(low + 1 - cfa);
	return a;
}

/* A chain of frames of FRAME_WORDS, whose CFA is the end of the two slots, and its outermost frame
 * has no caller. */
static void put_chain(struct world *w, const struct arch *a)
{
	memset(w->stack, 0, w->n_words * sizeof(*w->stack));
	w->regs.r[a->sp] = SP;
	for (unsigned int i = 0; i < N_FRAMES; i++) {
		uint64_t cfa = AT(FRAME_WORDS * (i + 1)), fp = cfa - cfi_slots(&a->by_fp, 0).cfa;
		struct cfi_slots at = cfi_slots(&a->by_fp, fp);
		bool is_last = i == N_FRAMES - 1;
		if (i == 0)
			w->regs.r[a->fp] = fp;
		w->stack[(at.fp - SP) / 8] = is_last ? 0 : fp + 8 * FRAME_WORDS;
		w->stack[(at.ra - SP) / 8] = is_last ? 0 : BARE + 0x10 * (i + 1);
	}
}

/* Is the result that chain, with the stack pointers at the frames' ends? */
static bool is_chain(const struct world *w)
{
	bool ok = w->r.end == UNWIND_ROOT && w->r.n == N_FRAMES;
	for (unsigned int i = 1; ok && i < N_FRAMES; i++)
		ok = w->r.frame[i].pc == BARE + 0x10 * i &&
		     w->r.frame[i].sp == AT(FRAME_WORDS * i) &&
		     w->r.frame[i].flags & UNWIND_FRAME_HEURISTIC;
	if (!ok)
		printf("# %s, %u frames\n", unwind_end_name(w->r.end), w->r.n);
	return ok;
}

static void layout(const char *name, const struct arch *a)
{
	uint64_t stack[(N_FRAMES + 1) * FRAME_WORDS];
	struct world w = { .stack = stack, .n_words = sizeof(stack) / sizeof(*stack) };
	open_world(&w, a, NULL);
	put_chain(&w, a);
	run(&w, a, BARE);
	tap_ok(is_chain(&w), "%s: a chain of frames", name);
	run(&w, a, BARE);
	tap_ok(is_chain(&w), "%s: the same from the cache", name);
	w.regs.r[a->fp] = SP - 16 - cfi_slots(&a->by_fp, 0).fp;
	run(&w, a, BARE);
	tap_ok(w.r.n == 1 && w.r.end == UNWIND_NO_CFI, "%s: slots below the stack pointer", name);
	w.regs.r[a->fp] = AT(w.n_words - 1) - cfi_slots(&a->by_fp, 0).fp;
	run(&w, a, BARE);
	tap_ok(w.r.n == 1 && w.r.end == UNWIND_BEYOND, "%s: the copy ends between the slots", name);
	close_world(&w);
}

/* Registers may have any value.  A page that cannot be read precedes the copy of a stack at address
 * 0, where a frame pointer of -8 leads to a slot before the copy and one in it. */
static void before_the_copy(void)
{
	size_t n_page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *p = mmap(NULL, 2 * n_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	if (p == MAP_FAILED || mprotect(p, n_page, PROT_NONE))
		abort();
	const struct arch *a = &arch_x86_64;
	struct world w = { .stack = (uint64_t *)(void *)(p + n_page), .n_words = 32 };
	open_world(&w, a, NULL);
	/* PUSH <- BARE <- PUSH, so that the rules are in the cache */
	w.stack[0] = BIAS + PUSH + 0x10;
	w.stack[3] = BARE + 0x10;
	w.stack[7] = BIAS + PUSH + 0x10;
	w.regs.r[a->sp] = SP;
	w.regs.r[a->fp] = AT(6);
	run(&w, a, BIAS + PUSH + 0x10);
	tap_ok(w.r.n > 2 && w.r.frame[2].pc == BIAS + PUSH + 0x10, "a frame between two with CFI");
	w.regs.r[a->sp] = 0;
	w.regs.r[a->fp] = -8ull;
	run(&w, a, BIAS + PUSH + 0x10);
	tap_ok(w.r.n == 2 && w.r.frame[1].pc == BARE + 0x10, "a slot before the copy is not read");
	close_world(&w);
	munmap(p, 2 * n_page);
}

/* arm64: the pair of registers is not at the end of its frame, and the caller's stack pointer comes
 * from the caller's CFI.  The memo must find the pair again. */
static void pair_below_locals(void)
{
	const struct arch *a = &arch_arm64;
	struct unwind_memo memo = { 0 };
	uint64_t stack[32] = { 0 }, ra = BIAS + PAIR + 0x10;
	struct world w = { .stack = stack, .n_words = 32 };
	open_world(&w, a, read_call);
	w.regs.r[a->sp] = SP;
	w.regs.r[a->fp] = AT(2);
	stack[2] = AT(8);
	stack[3] = ra;
	stack[9] = ra + 4;
	/* dead words where the pair would be at the frame's end */
	stack[6] = stack[2];
	stack[7] = stack[3];
	run_memo(&w, a, BARE, &memo);
	tap_ok(w.r.n >= 3 && w.r.frame[1].pc == ra && w.r.frame[1].sp == AT(8) &&
	       w.r.frame[2].pc == ra + 4, "a pair of registers below locals");
	run_memo(&w, a, BARE, &memo);
	tap_ok(w.r.n_same == w.r.n && unwind_stats(w.u)->n_reused, "the memo finds it again");
	stack[3] = ra + 8;
	run_memo(&w, a, BARE, &memo);
	tap_ok(w.r.frame[1].pc == ra + 8, "the memo is not reused when the pair has changed");
	unwind_memo_done(&memo);

	memset(stack, 0, sizeof(stack));
	w.regs.r[a->fp] = AT(6);
	stack[3] = BARE + 0x10;
	stack[6] = AT(12);
	stack[7] = ra;
	stack[13] = ra + 4;
	for (unsigned int i = 0; i < 2; i++) {
		run(&w, a, BIAS + PUSH + 0x10);
		tap_ok(w.r.n >= 4 && w.r.frame[2].pc == ra && w.r.frame[2].sp == AT(12) &&
		       w.r.frame[3].pc == ra + 4, "such a pair in the middle of a stack%s",
		       i ? ", from the cache" : "");
	}
	close_world(&w);
}

int main(void)
{
	const struct arch riscv = arch_with(-2, 0), odd = arch_with(1, 4);
	layout("x86-64", &arch_x86_64);
	layout("arm64", &arch_arm64);
	layout("the frame pointer is the CFA, as on riscv64", &riscv);
	layout("slots above the frame pointer", &odd);
	before_the_copy();
	pair_below_locals();
	return tap_done();
}
