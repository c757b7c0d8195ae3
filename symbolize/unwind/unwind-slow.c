/*
 * Unusual rules may name any register, but the fast path carries only pc, sp and fp outwards.
 * Other registers of frame i are computed on demand: frame i - 1's rules say where the register was
 * saved, or that it is unchanged.  In the latter case frame i - 2 is asked, and so on to the
 * innermost frame, whose registers were sampled.  That rarely takes more than one or two frames,
 * and stacks without such rules pay nothing.
 *
 * Hostile CFI could make that exponential (expressions that read many registers, each of which
 * asks the inner frames), so evaluations are counted per stack.
 */

#include "symbolize/unwind/unwind-slow.h"

#include "symbolize/cfi/cfi-eval.h"
#include "symbolize/runtime/runtime-file.h"
#include "symbolize/runtime/runtime.h"
#include "symbolize/unwind/unwind-call.h"
#include "symbolize/unwind/unwind-code.h"

/* Rules evaluated for one stack.  Real stacks need a few; beyond that a register is unknown. */
#define SLOW_EVALS_MAX 256u

/* How many frames inwards a register is searched. */
#define SLOW_BACK_MAX 64u

/* Signals may interrupt signal handlers. */
#define SLOW_SIGNALS_MAX 32u

/* An address this far above the copy is not a deeper part of the same stack. */
#define SLOW_STACK_BYTES_MAX (256ull << 20)

/* The red zone (psABI 3.2.2) below the stack pointer belongs to the function, too; no copy
 * contains it. */
#define SLOW_RED_BYTES 128u

/* How far above a frame its frame pointer may be for slow_find_fp to search the words between. */
#define SLOW_PUSHED_BYTES_MAX (16u << 10)
#define SLOW_PUSHED_MAX 16u             /* functions between it and the handler's */

enum unwind_end unwind_outside(const struct unwind_walk *w, uint64_t at)
{
	uint64_t off = at - w->sp0;
	/* a signal frame on an alternate stack leads to a stack that was not copied */
	if (w->n_signals)
		return UNWIND_BEYOND;
	if (at < w->sp0 || off > SLOW_STACK_BYTES_MAX)
		return UNWIND_BAD_SP;
	return UNWIND_BEYOND;
}

/* ---- registers ------------------------------------------------------------------ */

/* A frame whose registers are read. */
struct slow_at {
	struct unwind_walk *w;
	uint32_t i;
	const uint64_t *below;          /* assumed word below the stack pointer; NULL: unknown */
	bool is_kept;                   /* assume that functions preserve all registers */
};

static enum cfi_eval slow_reg(void *ctx, unsigned int reg, uint64_t *ret);

static enum cfi_eval slow_read(void *ctx, uint64_t at, size_t n_bytes, uint64_t *ret)
{
	struct slow_at *s = ctx;
	const struct unwind_walk *w = s->w;
	uint64_t off = at - w->sp0, x = 0;
	if (s->below && w->sp0 - at <= SLOW_RED_BYTES && n_bytes == sizeof(*ret))
		return *ret = *s->below, CFI_EVAL_OK;
	if (off >= w->n_copy || w->n_copy - off < n_bytes)
		return unwind_outside(w, at) == UNWIND_BEYOND ?
			CFI_EVAL_BEYOND : CFI_EVAL_NO_MEMORY;
	__builtin_memcpy(&x, w->in->stack + off, n_bytes);
	*ret = x;
	return CFI_EVAL_OK;
}

static enum cfi_eval slow_sigcontext(struct slow_at *s, unsigned int reg, uint64_t *ret)
{
	const struct arch *a = s->w->arch;
	if (reg >= a->n_regs)
		return CFI_EVAL_NO_REG;
	return slow_read(s, s->w->frame[s->i].sp + a->signal_off[reg], 8, ret);
}

/* Counts the program bytes run for a row; true when the stack has used up its share. */
static bool slow_is_too_much(struct unwind_walk *w, const struct cfi_row *row)
{
	w->n_program_bytes += row->n_bytes_run;
	return w->n_program_bytes > UNWIND_PROGRAM_BYTES_MAX;
}

/* The rules of frame i; CFI_NOT_FOUND where its module has no CFI. */
static enum cfi_found slow_row(struct unwind_walk *w, uint32_t i, struct cfi_row *ret,
			       uint64_t *ret_bias)
{
	struct module m;
	const struct unwind_frame *f = &w->frame[i];
	uint64_t at = f->pc - !(f->flags & UNWIND_FRAME_EXACT);
	if (++w->n_evals > SLOW_EVALS_MAX || !w->find_module(w->in->ctx, at, &m) || !m.cfi ||
	    m.cfi->arch != w->arch)
		return CFI_NOT_FOUND;
	*ret_bias = m.bias;
	enum cfi_found r = cfi_row_at(m.cfi, at - m.bias, ret);
	return r == CFI_FOUND && slow_is_too_much(w, ret) ? CFI_MALFORMED : r;
}

/* The CFA of frame i by its row. */
static enum cfi_eval slow_cfa(const struct cfi_eval_env *env, const struct cfi_row *row,
			      uint64_t *ret)
{
	if (row->cfa.how == CFI_HOW_VAL_EXPR)
		return cfi_eval_expr(env, row->cfa.expr, row->cfa.n_expr_bytes, NULL, ret);
	if (row->cfa.how != CFI_HOW_REGISTER)
		return CFI_EVAL_BAD;
	uint64_t x;
	enum cfi_eval r = env->reg(env->ctx, row->cfa_reg, &x);
	if (r == CFI_EVAL_OK)
		*ret = x + (uint64_t)row->cfa.off;
	return r;
}

/*
 * Is the slot below the stack pointer?  Then an epilogue has already popped the register.
 *
 * GCC's functions that realign the stack save registers at addresses relative to the frame pointer,
 * and the CFA becomes relative to another register before the frame pointer is popped.  The CFI
 * does not mention that pop, and then leads to the caller's frame, which is beyond the CFA.
 */
static bool slow_is_popped(const struct cfi_eval_env *env, const struct cfi_row *row,
			   const struct cfi_reg_rule *rule, uint64_t cfa,
			   const struct unwind_frame *f)
{
	uint64_t at;
	if (rule->how == CFI_HOW_OFFSET)
		return cfa + (uint64_t)rule->off < f->sp;
	return rule->how == CFI_HOW_EXPR && row->cfa.how == CFI_HOW_REGISTER && !row->is_signal &&
	       f->flags & UNWIND_FRAME_EXACT &&
	       cfi_eval_expr(env, rule->expr, rule->n_expr_bytes, &cfa, &at) == CFI_EVAL_OK &&
	       (at < f->sp || at >= cfa);
}

/* The caller's register by frame i's rules: OK with a value, or *again with the register of frame i
 * that has the value. */
static enum cfi_eval slow_caller_reg(struct slow_at *s, unsigned int *reg, bool *again,
				     uint64_t *ret)
{
	struct unwind_walk *w = s->w;
	struct cfi_row row;
	struct cfi_eval_env env = { .ctx = s, .reg = slow_reg, .read = slow_read };
	const struct unwind_frame *f = &w->frame[s->i];
	if (w->frame[s->i + 1].flags & UNWIND_FRAME_HEURISTIC)
		return CFI_EVAL_NO_REG;
	if (f->flags & UNWIND_FRAME_SIGNAL && w->arch->uses_signal_off)
		return slow_sigcontext(s, *reg, ret);
	enum cfi_found found = slow_row(w, s->i, &row, &env.bias);
	if (found == CFI_NOT_FOUND && f->flags & UNWIND_FRAME_SIGNAL)
		return slow_sigcontext(s, *reg, ret);
	if (found != CFI_FOUND)
		return CFI_EVAL_NO_REG;
	const struct cfi_reg_rule *rule = &row.reg[*reg];
	if (rule->how == CFI_HOW_SAME ||
	    (rule->how == CFI_HOW_UNSPECIFIED &&
	     (s->is_kept || w->arch->callee_saved >> *reg & 1))) {
		*again = true;
		return CFI_EVAL_OK;
	}
	if (rule->how == CFI_HOW_UNSPECIFIED)
		return CFI_EVAL_NO_REG;
	if (rule->how == CFI_HOW_REGISTER && rule->reg < ARCH_REGS_MAX) {
		*again = true;
		*reg = (unsigned int)rule->reg;
		return CFI_EVAL_OK;
	}
	uint64_t cfa;
	enum cfi_eval r = slow_cfa(&env, &row, &cfa);
	if (r != CFI_EVAL_OK)
		return r;
	if (slow_is_popped(&env, &row, rule, cfa, f)) {
		*again = true;
		return CFI_EVAL_OK;
	}
	return cfi_eval_reg(&env, rule, *reg, cfa, ret);
}

/* The value of a register in frame i. */
static enum cfi_eval slow_reg(void *ctx, unsigned int reg, uint64_t *ret)
{
	struct slow_at *at = ctx, s = *at;
	struct unwind_walk *w = s.w;
	for (uint32_t n_back = 0; n_back < SLOW_BACK_MAX; n_back++) {
		const struct unwind_frame *f = &w->frame[s.i];
		if (reg >= w->arch->n_regs)
			return CFI_EVAL_NO_REG;
		if (reg == w->arch->sp)
			return *ret = f->sp, CFI_EVAL_OK;
		if (reg == w->arch->fp && !f->fp && !(w->in->regs->valid >> reg & 1))
			return CFI_EVAL_NO_REG;
		if (reg == w->arch->fp)
			return *ret = f->fp, CFI_EVAL_OK;
		if (reg == w->arch->pc)
			return *ret = f->pc, CFI_EVAL_OK;
		if (s.i == 0) {
			if (!(w->in->regs->valid >> reg & 1))
				return CFI_EVAL_NO_REG;
			return *ret = w->in->regs->r[reg], CFI_EVAL_OK;
		}
		bool again = false;
		s.i--;
		enum cfi_eval r = slow_caller_reg(&s, &reg, &again, ret);
		if (!again)
			return r;
	}
	return CFI_EVAL_NO_REG;
}

bool unwind_slow_link(struct unwind_walk *w, uint64_t *ret)
{
	struct slow_at s = { .w = w, .i = w->n - 1 };
	return slow_reg(&s, w->arch->link, ret) == CFI_EVAL_OK;
}

/* ---- steps ------------------------------------------------------------------------ */

static enum unwind_end slow_end(enum cfi_eval e)
{
	switch (e) {
	case CFI_EVAL_BEYOND: return UNWIND_BEYOND;
	case CFI_EVAL_NO_MEMORY: return UNWIND_BAD_SP;
	default: return UNWIND_BAD_CFI;
	}
}

int unwind_slow_sigreturn(struct unwind_walk *w)
{
	struct slow_at s = { .w = w, .i = w->n - 1 };
	struct unwind_frame *f = &w->frame[s.i], *o = f + 1;
	uint64_t pc = 0, sp = 0, fp = 0;
	if (++w->n_signals > SLOW_SIGNALS_MAX)
		return UNWIND_CYCLE;
	f->flags |= UNWIND_FRAME_SIGNAL;
	enum cfi_eval r = slow_sigcontext(&s, w->arch->pc, &pc);
	if (r == CFI_EVAL_OK)
		r = slow_sigcontext(&s, w->arch->sp, &sp);
	if (r == CFI_EVAL_OK)
		r = slow_sigcontext(&s, w->arch->fp, &fp);
	if (r != CFI_EVAL_OK)
		return slow_end(r);
	*o = (struct unwind_frame){ .pc = pc, .sp = sp, .fp = fp, .flags = UNWIND_FRAME_EXACT };
	return UNWIND_STEP_DONE;
}

/* Is the newest frame's pc in the second half of its function?  vaddr: the pc in module m. */
static bool slow_is_behind(const struct module *m, uint64_t vaddr)
{
	struct cfi_fde fde;
	uint32_t off;
	bool is_debug;
	return cfi_find_fde(m->cfi, vaddr, &fde, &off, &is_debug) == CFI_FOUND &&
	       vaddr - fde.start > fde.n_bytes / 2;
}

/*
 * At the end of a function with __builtin_eh_return, libgcc overwrites its saved registers with the
 * values of the handler's frame, among them the return address: first that of the handler's frame,
 * and finally the handler's own address.  But the function's struct _Unwind_Context, which it has
 * set up at its beginning, still has its own CFA and return address, in adjacent words.
 *
 * Sets *pc, what is in the newest frame's slot, to that return address.
 */
static void slow_find_ra(struct unwind_walk *w, uint64_t cfa, uint64_t *pc)
{
	const struct unwind_frame *f = &w->frame[w->n - 1];
	uint64_t word, ra;
	if (cfa - f->sp > SLOW_PUSHED_BYTES_MAX)
		return;
	for (uint64_t at = f->sp & ~7ull; at < cfa; at += 8) {
		if (!unwind_load(w, at, &word) || word != cfa || !unwind_load(w, at + 8, &ra))
			continue;
		ra = unwind_strip(w, ra);
		if (!unwind_call_may_be(w, ra))
			continue;
		*pc = ra;
		return;
	}
}

/* Is pc, which would be frame n's, not a return address of the newest frame's function? */
static bool slow_is_gone(struct unwind_walk *w, const struct cfi_row *row, uint64_t pc)
{
	return cfi_run_is_eh_return(w->arch, row) &&
	       row->reg[w->arch->fp].how == CFI_HOW_OFFSET && pc &&
	       !unwind_call_may_be(w, pc);
}

/* Is pc the handler's address, which at last replaces the return address of the function that the
 * handler's function has called?  Then the newest frame's frame pointer is that of the handler's
 * frame, whose return address follows a call of the function that contains pc. */
static bool slow_is_handler(const struct unwind_walk *w, uint64_t pc)
{
	uint64_t ra;
	return unwind_load(w, cfi_slots(&w->arch->by_fp, w->frame[w->n - 1].fp).ra, &ra) &&
	       unwind_call_before(w->arch, w->find_module, w->in->ctx, pc, unwind_strip(w, ra)) !=
		       UNWIND_CALL_OF_ANOTHER;
}

/* Where in the newest frame has a callee pushed the frame pointer, with a return address above it
 * that follows a call, ideally (*ret_is_own) a call of the frame's function?  0: nowhere.  Dead
 * words may look the same, and calls of a function's cold part are not recognised as its own. */
static uint64_t slow_pushed(struct unwind_walk *w, bool *ret_is_own)
{
	const struct unwind_frame *f = &w->frame[w->n - 1];
	uint64_t word, ra, found = 0;
	*ret_is_own = false;
	w->n_program_bytes += (uint32_t)(f->fp - f->sp);
	if (w->n_program_bytes > UNWIND_PROGRAM_BYTES_MAX)
		return 0;
	const struct cfi_rule *by_fp = &w->arch->by_fp;
	for (uint64_t n = (f->fp - f->sp) / 8; n-- > 0 && !*ret_is_own;) {
		uint64_t at = f->sp + 8 * n, fp = at - cfi_slots(by_fp, 0).fp;
		if (!unwind_load(w, at, &word) || word != f->fp ||
		    !unwind_load(w, cfi_slots(by_fp, fp).ra, &ra))
			continue;
		ra = unwind_strip(w, ra);
		bool is_call = unwind_code_is_call(w, ra);
		if (!is_call && !slow_is_handler(w, ra))
			continue;
		*ret_is_own = !is_call || unwind_call_may_be(w, ra);
		found = *ret_is_own || !found ? fp : found;
	}
	return found;
}

/* How far the CFA is from the frame pointer, and the return address from the CFA, by frame n's CFI;
 * false: the CFA is not relative to the frame pointer. */
static bool slow_fp_to_cfa(struct unwind_walk *w, uint64_t *ret_cfa, uint64_t *ret_ra)
{
	const struct unwind_frame *o = &w->frame[w->n];
	struct module m;
	struct cfi_row row;
	if (!w->find_module(w->in->ctx, o->pc - 1, &m) || !m.cfi ||
	    cfi_row_at(m.cfi, o->pc - 1 - m.bias, &row) != CFI_FOUND || slow_is_too_much(w, &row) ||
	    row.cfa.how != CFI_HOW_REGISTER || row.cfa_reg != w->arch->fp ||
	    row.reg[row.ra_reg].how != CFI_HOW_OFFSET)
		return false;
	*ret_cfa = (uint64_t)row.cfa.off;
	*ret_ra = (uint64_t)row.reg[row.ra_reg].off;
	return true;
}

/*
 * Frame n is the caller of such a function, and the frame pointer that was read for it may already
 * be the handler's.  In that case the frame pointer does not lead to frame n's caller.  The code
 * says how far frame n's end is from its stack pointer.  Where it does not, frame n's own frame
 * pointer is the address where it pushed that of the next outer frame, and so on up to the
 * handler's.
 */
static void slow_find_fp(struct unwind_walk *w)
{
	struct unwind_frame *o = &w->frame[w->n];
	uint64_t ra, fp, to_cfa, to_ra, cfa;
	if (!slow_fp_to_cfa(w, &to_cfa, &to_ra))
		return;
	w->n++;
	bool is_own = unwind_load(w, o->fp + to_cfa + to_ra, &ra) &&
		      unwind_call_may_be(w, unwind_strip(w, ra));
	if (!is_own && unwind_code_cfa(w, &cfa) && unwind_load(w, cfa + to_ra, &ra) &&
	    unwind_call_may_be(w, unwind_strip(w, ra))) {
		o->fp = cfa - to_cfa;
		is_own = true;
	}
	bool is_near = !((o->sp | o->fp) & 7) && o->fp - o->sp <= SLOW_PUSHED_BYTES_MAX;
	for (unsigned int n = 0; n < SLOW_PUSHED_MAX && is_near && !is_own; n++) {
		fp = slow_pushed(w, &is_own);
		if (!fp)
			break;
		o->fp = fp;
	}
	w->n--;
}

/* Does a CFA lead to a return address with a call before it (is_of_it: of the frame's function)? */
static bool slow_is_confirmed(struct unwind_walk *w, const struct cfi_row *row, uint64_t cfa,
			      bool is_of_it)
{
	const struct cfi_reg_rule *ra = &row->reg[row->ra_reg];
	uint64_t pc;
	return arch_pushes_ra(w->arch) && !row->is_signal && cfa > w->frame[w->n - 1].sp &&
	       ra->how == CFI_HOW_OFFSET && unwind_load(w, cfa + (uint64_t)ra->off, &pc) &&
	       (is_of_it ? unwind_call_may_be(w, pc) : unwind_code_is_call(w, pc));
}

/* A frame whose CFA depends on an unknown value. */
struct slow_lost {
	const struct cfi_eval_env *env;
	const struct cfi_row *row;
};

static bool slow_lost_load(void *ctx, uint64_t at, uint64_t *ret)
{
	const struct slow_lost *l = ctx;
	const struct slow_at *s = l->env->ctx;
	return unwind_load(s->w, at, ret);
}

static bool slow_lost_if_kept(void *ctx, uint64_t *ret)
{
	const struct slow_lost *l = ctx;
	struct slow_at *s = l->env->ctx;
	s->is_kept = true;
	bool is_so = slow_cfa(l->env, l->row, ret) == CFI_EVAL_OK &&
		     slow_is_confirmed(s->w, l->row, *ret, true);
	s->is_kept = false;
	return is_so;
}

static bool slow_lost_if_below(void *ctx, uint64_t word, uint64_t *ret)
{
	const struct slow_lost *l = ctx;
	struct slow_at *s = l->env->ctx;
	s->below = &word;
	bool is_so = slow_cfa(l->env, l->row, ret) == CFI_EVAL_OK &&
		     slow_is_confirmed(s->w, l->row, *ret, false);
	s->below = NULL;
	return is_so;
}

/* The CFA where the CFI cannot be evaluated (why), if a runtime knows it. */
static bool slow_lost_cfa(const struct cfi_eval_env *env, const struct cfi_row *row,
			  enum cfi_eval why, uint64_t *ret)
{
	const struct slow_at *s = env->ctx;
	struct slow_lost lost = { .env = env, .row = row };
	const struct runtime_lost_cfa l = {
		.ctx = &lost, .why = why, .is_innermost = s->i == 0, .stack = s->w->sp0,
		.n_stack_bytes = s->w->n_copy, .load = slow_lost_load,
		.if_kept = slow_lost_if_kept, .if_below = slow_lost_if_below,
	};
	return runtime_cfa(&l, ret);
}

/*
 * arm64: the frame pointer points to the pair of registers that a function has stored, not to the
 * frame's end, so a frame that is found by the frame pointer alone has an unknown stack pointer.
 * The rule at its pc says how far the pair is from the stack pointer.  Sets frame n's stack
 * pointer; false, with nothing changed, when no return address confirms it.
 */
static bool slow_sp_by_fp(struct unwind_walk *w)
{
	struct unwind_frame *o = &w->frame[w->n];
	struct module m;
	struct cfi_rule rule;
	uint64_t ra;
	if (!w->find_module(w->in->ctx, o->pc - 1, &m) || !m.cfi)
		return false;
	runtime_file_rule(&m, o->pc - 1 - m.bias, &rule);
	if (rule.kind != CFI_PLAIN || !(rule.flags & CFI_FLAG_FP_SAVED) ||
	    rule.flags & CFI_FLAG_CFA_FP)
		return rule.kind == CFI_PLAIN && rule.flags & CFI_FLAG_CFA_FP;
	uint64_t cfa = cfi_slots(&w->arch->by_fp, o->fp).fp - (uint64_t)(rule.fp_off8 * 8l);
	uint64_t sp = cfa - (uint64_t)(rule.cfa_off8 * 8l);
	if (sp < o->sp || !unwind_load(w, cfa + (uint64_t)(rule.ra_off8 * 8l), &ra) ||
	    !unwind_code_is_call(w, unwind_strip(w, ra)))
		return false;
	o->sp = sp;
	return true;
}

/* Do the rules describe the contents of a jmp_buf?  Then they are those of longjmp: the addresses
 * in a jmp_buf are mangled, and the rules do not say where the stack pointer is. */
static bool slow_is_longjmp(const struct unwind_walk *w, const struct cfi_row *row)
{
	const struct arch *a = w->arch;
	return !arch_pushes_ra(a) && w->frame[w->n - 1].flags & UNWIND_FRAME_EXACT &&
	       row->cfa.how == CFI_HOW_REGISTER && row->cfa_reg != a->fp &&
	       row->cfa_reg != a->sp && row->reg[a->sp].how <= CFI_HOW_SAME;
}

/* The link register holds longjmp's caller until it gets the address after the call of setjmp. */
static int slow_longjmp(struct unwind_walk *w)
{
	const struct unwind_frame *f = &w->frame[w->n - 1];
	struct unwind_frame *o = &w->frame[w->n];
	uint64_t pc;
	if (!unwind_slow_link(w, &pc))
		return UNWIND_BAD_CFI;
	pc = unwind_strip(w, pc);
	if (!unwind_code_is_call(w, pc))
		return UNWIND_BAD_CFI;
	*o = (struct unwind_frame){ .pc = pc, .sp = f->sp, .fp = f->fp };
	if (unwind_call_is_it(w, pc) || slow_sp_by_fp(w))
		return UNWIND_STEP_DONE;
	return UNWIND_BAD_CFI;
}

int unwind_slow_unusual(struct unwind_walk *w, const struct cfi_rule *rule)
{
	struct slow_at s = { .w = w, .i = w->n - 1 };
	struct unwind_frame *f = &w->frame[s.i], *o = f + 1;
	struct cfi_eval_env env = { .ctx = &s, .reg = slow_reg, .read = slow_read };
	unsigned int sp_reg = w->arch->sp, fp_reg = w->arch->fp;
	uint64_t at = f->pc - !(f->flags & UNWIND_FRAME_EXACT);
	struct module m;
	struct cfi_row row;

	w->stats->n_unusual++;
	if (!w->find_module(w->in->ctx, at, &m) || !m.cfi)
		return UNWIND_BAD_PC;
	env.bias = m.bias;
	if (cfi_row_again(m.cfi, rule, at - m.bias, &row) != CFI_FOUND ||
	    slow_is_too_much(w, &row))
		return UNWIND_BAD_CFI;
	if (row.is_signal && w->arch->uses_signal_off)
		return unwind_slow_sigreturn(w);
	if (slow_is_longjmp(w, &row))
		return slow_longjmp(w);

	uint64_t cfa, sp, fp = f->fp, pc;
	enum cfi_eval r = slow_cfa(&env, &row, &cfa);
	bool is_lost = r != CFI_EVAL_OK;
	if (is_lost && !slow_lost_cfa(&env, &row, r, &cfa))
		return r == CFI_EVAL_NO_REG && unwind_lacks_fp(w) ? UNWIND_NO_FP : slow_end(r);
	w->is_cfa_known = !row.is_signal;
	w->cfa = sp = cfa;
	r = cfi_eval_reg(&env, &row.reg[row.ra_reg], row.ra_reg, cfa, &pc);
	if (r == CFI_EVAL_OK && row.reg[sp_reg].how > CFI_HOW_SAME)
		r = cfi_eval_reg(&env, &row.reg[sp_reg], sp_reg, cfa, &sp);
	if (r == CFI_EVAL_OK && row.reg[fp_reg].how > CFI_HOW_UNDEFINED &&
	    !slow_is_popped(&env, &row, &row.reg[fp_reg], cfa, f))
		r = cfi_eval_reg(&env, &row.reg[fp_reg], fp_reg, cfa, &fp);
	if (r != CFI_EVAL_OK)
		return slow_end(r);
	if (row.is_signal) {
		if (++w->n_signals > SLOW_SIGNALS_MAX)
			return UNWIND_CYCLE;
		f->flags |= UNWIND_FRAME_SIGNAL;
	} else if (sp < f->sp || (sp == f->sp && !(f->flags & UNWIND_FRAME_EXACT))) {
		/* an interrupted longjmp may already have its caller's stack pointer */
		return UNWIND_CYCLE;
	}
	pc = unwind_strip(w, pc);
	if (!pc)
		return UNWIND_ROOT;
	bool is_eh_return = cfi_run_is_eh_return(w->arch, &row);
	if (is_eh_return && row.reg[fp_reg].how == CFI_HOW_OFFSET &&
	    slow_is_behind(&m, at - m.bias))
		slow_find_ra(w, cfa, &pc);
	w->is_gone = !row.is_signal && slow_is_gone(w, &row, pc);
	if (w->is_gone)
		return UNWIND_BAD_PC;
	/* once the frame pointer is restored, the pc is that of a handler: no call precedes it */
	bool is_handler = is_eh_return && row.reg[fp_reg].how <= CFI_HOW_SAME;
	*o = (struct unwind_frame){ .pc = pc, .sp = sp, .fp = fp,
		.flags = row.is_signal || is_handler ? UNWIND_FRAME_EXACT :
			 is_lost ? UNWIND_FRAME_HEURISTIC : 0 };
	w->is_throwing |= is_eh_return && !is_handler;
	if (is_eh_return && !is_handler)
		slow_find_fp(w);
	return UNWIND_STEP_DONE;
}

/*
 * arm64: PLT entries and some functions of the vDSO have neither CFI nor a frame; their caller is
 * in the link register.  After a call, that register points into the function itself, but then
 * there is no CFI for that address, either; and if a frame was set up, it holds the same value.
 */
static bool slow_is_frameless(struct unwind_walk *w, uint64_t *ret_pc)
{
	const struct unwind_frame *f = &w->frame[w->n - 1];
	struct module m;
	struct cfi_fde fde;
	uint32_t off;
	bool is_debug;
	uint64_t link, saved;
	if (!(f->flags & UNWIND_FRAME_EXACT) || !unwind_slow_link(w, &link))
		return false;
	*ret_pc = link = unwind_strip(w, link);
	struct cfi_slots at = cfi_slots(&w->arch->by_fp, f->fp);
	if (at.fp >= f->sp && unwind_load(w, at.ra, &saved) &&
	    unwind_strip(w, saved) == link)
		return false;
	return link && w->find_module(w->in->ctx, link - 1, &m) && m.cfi &&
	       cfi_find_fde(m.cfi, link - 1 - m.bias, &fde, &off, &is_debug) == CFI_FOUND;
}

/* A step has read these slots; they are stored relative to the caller's stack pointer, if they are
 * near enough. */
static void slow_set_slots(struct unwind_frame *f, const struct cfi_slots *at, uint64_t sp)
{
	int64_t fp_off8 = (int64_t)(at->fp - sp) / 8, ra_off8 = (int64_t)(at->ra - sp) / 8;
	if (fp_off8 != (int16_t)fp_off8 || ra_off8 != (int16_t)ra_off8)
		return;
	f->fp_off8 = (int16_t)fp_off8;
	f->ra_off8 = (int16_t)ra_off8;
	f->flags |= UNWIND_STEP_SLOTS | UNWIND_STEP_FP;
}

int unwind_slow_guess(struct unwind_walk *w, bool is_jit)
{
	struct unwind_frame *f = &w->frame[w->n - 1], *o = f + 1;
	struct cfi_slots at = cfi_slots(&w->arch->by_fp, f->fp);
	struct module m;
	uint64_t pc, fp;
	if (slow_is_frameless(w, &pc)) {
		w->stats->n_guessed++;
		*o = (struct unwind_frame){ .pc = pc, .sp = f->sp, .fp = f->fp,
			.flags = UNWIND_FRAME_HEURISTIC };
		slow_sp_by_fp(w);
		return UNWIND_STEP_DONE;
	}
	if (unwind_lacks_fp(w))
		return UNWIND_NO_FP;
	/* by the ABIs, the first frame of a program or thread has frame pointer 0 */
	if (f->fp == 0)
		return w->n > 1 ? UNWIND_ROOT : UNWIND_NO_CFI;
	if (f->fp & 7 || at.fp < f->sp)
		return UNWIND_NO_CFI;
	if (!unwind_load(w, at.fp, &fp) || !unwind_load(w, at.ra, &pc))
		return unwind_is_near_copy(w, f->fp) ? UNWIND_BEYOND : UNWIND_NO_CFI;
	pc = unwind_strip(w, pc);
	if (!pc)
		return UNWIND_ROOT;
	if (!w->find_module(w->in->ctx, pc - 1, &m))
		return UNWIND_NO_CFI;
	w->stats->n_guessed++;
	uint64_t sp = is_jit && m.is_jit ? unwind_code_interpreter_sp(w, &m, f->fp) : 0;
	if (!sp || (fp >= f->fp && sp > fp))
		sp = at.cfa;
	*o = (struct unwind_frame){ .pc = pc, .sp = sp, .fp = fp,
		.flags = UNWIND_FRAME_HEURISTIC | (is_jit ? UNWIND_FRAME_CHAINED : 0) };
	if (!arch_pushes_ra(w->arch) && !is_jit)
		slow_sp_by_fp(w);
	slow_set_slots(f, &at, o->sp);
	return UNWIND_STEP_DONE;
}
