#include "tests/unit/symbolize/unwindworld.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool find_module(void *ctx, uint64_t pc, struct module *ret)
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

void open_world(struct world *w, const struct arch *a, uint32_t max_depth)
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

void close_world(struct world *w)
{
	unwind_free(w->u);
	cfi_close(w->cfi);
}

void run(struct world *w, uint64_t pc, const struct arch *a, struct unwind_memo *m)
{
	w->regs.r[a->pc] = pc;
	struct unwind_input in = { .regs = &w->regs, .stack = (const uint8_t *)w->stack,
		.n_stack_bytes = w->n_stack_bytes, .ctx = w, .space = w->space };
	unwind_stack(w->u, &in, m, &w->r);
}

bool is(const struct world *w, enum unwind_end end, size_t n, const uint64_t *pc)
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

void chain(struct world *w, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		w->stack[4 * i + 3] = i + 1 < n ? PC(F_PUSH) : PC(F_START);
}
