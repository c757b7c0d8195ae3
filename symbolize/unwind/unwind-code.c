/*
 * Rules that are derived from the code where there is no CFI: hand-written assembly, C libraries
 * without it, PLT entries (cfi-code.c), and JIT code.  A rule is accepted only when the stack
 * confirms it: where the rule says, there is a return address with a call before it.
 */

#include "symbolize/unwind/unwind-code.h"

#include "base/hash.h"
#include "symbolize/cfi/cfi-code.h"
#include "symbolize/runtime/runtime-file.h"
#include "symbolize/runtime/runtime.h"
#include "symbolize/unwind/unwind-call.h"
#include "symbolize/unwind/unwind-jit.h"

#include <string.h>

struct code_at {
	struct unwind_walk *w;
	const struct module *m;
	bool is_open;                   /* another stack may confirm what this one did not */
	unsigned int n_offered;         /* rules that the code offers; the first ones follow */
	struct cfi_rule offered[UNWIND_CODE_OFFERED_MAX];
};

/* Reads code at pc in module m, from its file or the process. */
static size_t code_read(const struct unwind_walk *w, const struct module *m, uint64_t pc,
			void *buf, size_t n_bytes)
{
	size_t n = m->cfi ? cfi_read_code(m->cfi, pc - m->bias, buf, n_bytes) : 0;
	return n || !w->read_code ? n : w->read_code(w->in->ctx, pc, buf, n_bytes);
}

static size_t code_read_at(void *ctx, uint64_t at, uint8_t *buf, size_t n_bytes)
{
	const struct code_at *c = ctx;
	return code_read(c->w, c->m, at, buf, n_bytes);
}

/* Is pc the return address of a stack's first frame, which a runtime has laid out by hand? */
static bool code_is_first(const struct unwind_walk *w, const struct module *m, uint64_t pc)
{
	uint8_t b[RUNTIME_FIRST_BYTES];
	size_t n = code_read(w, m, pc - RUNTIME_BEFORE_BYTES, b, sizeof(b));
	return n > RUNTIME_BEFORE_BYTES && runtime_is_first(w->arch, b, n);
}

static bool code_is_behind_call(const struct unwind_walk *w, const struct module *m,
				uint64_t ra)
{
	uint8_t before[ARCH_CALL_BYTES];
	return code_read(w, m, ra - sizeof(before), before, sizeof(before)) == sizeof(before) &&
	       (arch_ends_with_call(w->arch, before, sizeof(before)) || code_is_first(w, m, ra));
}

/* Does a signal handler return to ra? */
static bool code_is_trampoline(const struct unwind_walk *w, uint64_t ra)
{
	const struct arch_bytes *code = &w->arch->sigreturn[0];
	struct module m;
	uint8_t b[ARCH_BYTES_MAX];
	return ra && w->find_module(w->in->ctx, ra, &m) &&
	       arch_begins(b, code_read(w, &m, ra, b, code->n), code);
}

bool unwind_code_is_call(const struct unwind_walk *w, uint64_t ra)
{
	struct module m;
	struct unwind_call_known *k;
	if (!ra || !w->find_module(w->in->ctx, ra - 1, &m))
		return false;
	/* the code of a file does not change */
	if (!m.cfi)
		return code_is_behind_call(w, &m, ra);
	if (!unwind_call_known(w, UNWIND_CALL_IS_BEHIND, ra, 0, &k))
		k->is_so = code_is_behind_call(w, &m, ra);
	return k->is_so;
}

static uint64_t code_cfa(const struct unwind_frame *f, const struct cfi_rule *rule)
{
	return (rule->flags & CFI_FLAG_CFA_FP ? f->fp : f->sp) + (uint64_t)(rule->cfa_off8 * 8l);
}

uint64_t unwind_code_interpreter_sp(const struct unwind_walk *w, const struct module *m,
				    uint64_t fp)
{
	struct cfi_slots at = cfi_slots(&w->arch->by_fp, fp);
	uint64_t below[RUNTIME_BELOW_WORDS];
	if (!m->runtime || !m->runtime->interpreter_sp || fp % 8)
		return 0;
	for (unsigned int i = 0; i < RUNTIME_BELOW_WORDS; i++)
		if (!unwind_load(w, at.fp - 8 * (RUNTIME_BELOW_WORDS - i), &below[i]))
			return 0;
	return m->runtime->interpreter_sp(fp, at.cfa, below);
}

/* Interpreters jump to a method and push their own address, so no call precedes it.  But their
 * frame pointer leads to a recognisable frame. */
static bool code_is_interpreter(const struct unwind_walk *w, const struct cfi_rule *rule,
				uint64_t cfa, uint64_t pc)
{
	struct module m;
	uint64_t fp = w->frame[w->n - 1].fp, ra;
	if (!pc || !w->find_module(w->in->ctx, pc, &m) || !m.is_jit ||
	    (rule->flags & CFI_FLAG_FP_SAVED &&
	     !unwind_load(w, cfa + (uint64_t)(rule->fp_off8 * 8l), &fp)))
		return false;
	return fp > cfa && unwind_code_interpreter_sp(w, &m, fp) &&
	       unwind_load(w, cfi_slots(&w->arch->by_fp, fp).ra, &ra) && ra &&
	       w->find_module(w->in->ctx, ra, &m);
}

bool unwind_code_accepts(struct unwind_walk *w, const struct cfi_rule *rule)
{
	const struct unwind_frame *f = &w->frame[w->n - 1];
	uint64_t pc, cfa = code_cfa(f, rule);
	if (rule->flags & CFI_FLAG_RA_REG)
		return cfa >= f->sp && f->flags & UNWIND_FRAME_EXACT && unwind_slow_link(w, &pc) &&
		       (unwind_code_is_call(w, unwind_strip(w, pc)) ||
			code_is_trampoline(w, unwind_strip(w, pc)));
	if (cfa <= f->sp || !unwind_load(w, cfa + (uint64_t)(rule->ra_off8 * 8l), &pc))
		return false;
	pc = unwind_strip(w, pc);
	return unwind_code_is_call(w, pc) || code_is_trampoline(w, pc) ||
	       (rule->flags & CFI_FLAG_JIT && code_is_interpreter(w, rule, cfa, pc));
}

/* Is there a return address with a call before it where the rule says? */
static bool code_accept(void *ctx, const struct cfi_rule *rule)
{
	struct code_at *c = ctx;
	struct unwind_walk *w = c->w;
	const struct unwind_frame *f = &w->frame[w->n - 1];
	uint64_t pc, cfa = code_cfa(f, rule), at = cfa + (uint64_t)(rule->ra_off8 * 8l);
	if (c->n_offered < UNWIND_CODE_OFFERED_MAX)
		c->offered[c->n_offered] = *rule;
	c->n_offered++;
	if (!(rule->flags & CFI_FLAG_RA_REG)) {
		if (cfa <= f->sp)
			return false;
		if (!unwind_load(w, at, &pc)) {
			c->is_open |= unwind_outside(w, at) == UNWIND_BEYOND;
			return false;
		}
	}
	bool is_call = unwind_code_accepts(w, rule);
	/* clone returns twice, and only its parent has a caller */
	c->is_open |= !is_call && f->flags & UNWIND_FRAME_EXACT;
	return is_call;
}

/* Is pc a return address that no call has pushed, because the stack was laid out by hand, as
 * makecontext does?  It is then a function's first address, and the code before it is unrelated. */
static bool code_is_laid_out(const struct unwind_walk *w, const struct module *m)
{
	const struct unwind_frame *f = &w->frame[w->n - 1];
	struct cfi_fde fde;
	uint32_t off;
	bool is_debug;
	return !(f->flags & UNWIND_FRAME_EXACT) && m->cfi &&
		cfi_find_fde(m->cfi, f->pc - m->bias, &fde, &off, &is_debug) == CFI_FOUND &&
		fde.start == f->pc - m->bias;
}

/* Was the frame interrupted in the signal trampoline itself, before or in the system call? */
static bool code_is_in_sigreturn(const struct unwind_walk *w, const struct module *m)
{
	const struct unwind_frame *f = &w->frame[w->n - 1];
	const struct arch_bytes *code = &w->arch->sigreturn[0];
	size_t n = code->n;
	uint8_t b[2 * ARCH_BYTES_MAX];
	if (!(f->flags & UNWIND_FRAME_EXACT) || code_read(w, m, f->pc - n, b, 2 * n) != 2 * n)
		return false;
	return arch_begins(b, n, code) || arch_begins(b + w->arch->syscall.n, n, code) ||
	       arch_begins(b + n, n, code);
}

/* psABI 3.4.1: when a program starts, rsp points to argc.  Then follow the arguments, whose strings
 * are at higher addresses, and a null pointer. */
static bool code_is_argc(const struct unwind_walk *w, uint64_t at)
{
	uint64_t argc, arg, end;
	return unwind_load(w, at, &argc) && argc > 0 && argc < w->n_copy &&
	       unwind_load(w, at + 8, &arg) && arg > at &&
	       unwind_load(w, at + 8 * (argc + 1), &end) && end == 0;
}

/* Words that the first frame may insert to align itself. */
#define CODE_ALIGN_WORDS 2u

bool unwind_code_is_begun(const struct unwind_walk *w)
{
	/* the frame that the return address would have */
	uint64_t at = w->frame[w->n].sp - 8;
	for (unsigned int i = 0; i < CODE_ALIGN_WORDS; i++)
		if (code_is_argc(w, at + 8 * i))
			return true;
	return false;
}

bool unwind_code_is_start(const struct unwind_walk *w)
{
	const struct arch_bytes *syscall = &w->arch->syscall;
	const struct unwind_regs *r = w->in->regs;
	struct module m;
	uint8_t before[ARCH_BYTES_MAX];
	if (!w->find_module(w->in->ctx, w->frame[0].pc, &m))
		return false;
	if (w->frame[0].fp == 0 && code_is_argc(w, w->sp0))
		return true;
	/* the C library's clone has no CFI after the system call, which returns 0 in the child */
	return r->valid >> w->arch->result & 1 && r->r[w->arch->result] == 0 &&
		arch_begins(before, code_read(w, &m, w->frame[0].pc - syscall->n, before,
					      syscall->n), syscall);
}

/* ---- functions that never return -------------------------------------------------------- */

/* Words of the stack that are searched for a call, and bytes of code from a start to a pc. */
#define CODE_CALL_WORDS_MAX 128
#define CODE_CALL_BYTES_MAX 4096u

/* The target of the call before return address ra: direct, or through a pointer at a known
 * address. */
static bool code_called(const struct unwind_walk *w, uint64_t ra, uint64_t *ret)
{
	struct module m;
	uint8_t b[ARCH_CALL_BYTES - 1];
	if (!w->find_module(w->in->ctx, ra - 1, &m) ||
	    code_read(w, &m, ra - sizeof(b), b, sizeof(b)) != sizeof(b))
		return false;
	enum arch_call call = w->arch->call(b, sizeof(b), ra, ret);
	return call == ARCH_CALL_DIRECT ||
	       (call == ARCH_CALL_SLOT && w->read_code &&
		w->read_code(w->in->ctx, *ret, ret, sizeof(*ret)) == sizeof(*ret));
}

/* The target of a PLT entry, or the address itself. */
static uint64_t code_behind_stub(const struct unwind_walk *w, uint64_t pc)
{
	struct module m;
	uint8_t b[ARCH_STUB_BYTES];
	uint64_t to;
	if (!w->read_code || !w->find_module(w->in->ctx, pc, &m) ||
	    code_read(w, &m, pc, b, sizeof(b)) != sizeof(b))
		return pc;
	return w->arch->stub_slot(b, sizeof(b), pc, &to) &&
	       w->read_code(w->in->ctx, to, &to, sizeof(to)) == sizeof(to) ? to : pc;
}

/* The rule at the newest frame's pc, if the code that the call before return address ra calls leads
 * there. */
static bool code_from_call(const struct unwind_walk *w, const struct cfi_code *code, uint64_t ra,
			   struct cfi_rule *ret)
{
	uint64_t start, pc = w->frame[w->n - 1].pc;
	ra = unwind_strip(w, ra);
	if (!ra || !code_called(w, ra, &start))
		return false;
	if (pc - start >= CODE_CALL_BYTES_MAX)
		start = code_behind_stub(w, start);
	return pc - start < CODE_CALL_BYTES_MAX && cfi_code_rule_from(code, start, pc, ret);
}

/*
 * A function that does not return (pthread_exit, _Exit) was called nevertheless: somewhere on the
 * stack is a return address after a call of an address shortly before the pc.  If the code from
 * there to the pc has moved the stack pointer by exactly that distance, that is its frame.
 */
static bool code_by_call(struct code_at *c, const struct cfi_code *code, struct cfi_rule *ret)
{
	struct unwind_walk *w = c->w;
	const struct unwind_frame *f = &w->frame[w->n - 1];
	uint64_t ra;
	if (f->flags & UNWIND_FRAME_EXACT && unwind_slow_link(w, &ra) &&
	    code_from_call(w, code, ra, ret) && ret->flags & CFI_FLAG_RA_REG)
		return true;
	for (int i = 0; i < CODE_CALL_WORDS_MAX; i++) {
		if (!unwind_load(w, f->sp + 8ul * (unsigned int)i, &ra)) {
			c->is_open = true;
			return false;
		}
		if (code_from_call(w, code, ra, ret) && !(ret->flags & CFI_FLAG_RA_REG) &&
		    ret->cfa_off8 + ret->ra_off8 == i)
			return true;
	}
	return false;
}

bool unwind_code_cfa(struct unwind_walk *w, uint64_t *ret)
{
	const struct unwind_frame *f = &w->frame[w->n - 1];
	struct module m;
	struct code_at c = { .w = w, .m = &m };
	const struct cfi_code code = { .arch = w->arch, .ctx = &c, .read = code_read_at };
	struct cfi_rule r;
	uint64_t start;
	if (!w->find_module(w->in->ctx, f->pc - 1, &m) || !m.cfi ||
	    !runtime_file_function(&m, f->pc - 1 - m.bias, &start) ||
	    !cfi_code_rule_from(&code, start + m.bias, f->pc, &r) || r.flags & CFI_FLAG_CFA_FP)
		return false;
	*ret = f->sp + (uint64_t)(r.cfa_off8 * 8l);
	return true;
}

/* ---- raised exceptions ----------------------------------------------------------------- */

/* Does a rule lead to a handler, or to a caller, with another return address where its CFI says? */
static bool code_accept_raise(void *ctx, const struct cfi_rule *rule)
{
	const struct code_at *c = ctx;
	const struct unwind_walk *w = c->w;
	const struct unwind_frame *f = &w->frame[w->n - 1];
	const struct cfi_slots slots = cfi_slots(rule, f->sp);
	struct module m;
	struct cfi_rule next;
	uint64_t pc, ra;
	if (rule->flags & (CFI_FLAG_CFA_FP | CFI_FLAG_RA_REG) || slots.cfa <= f->sp ||
	    !unwind_load(w, slots.ra, &pc))
		return false;
	pc = unwind_strip(w, pc);
	if (!pc || !w->find_module(w->in->ctx, pc, &m) || !m.cfi)
		return false;
	runtime_file_rule(&m, pc - unwind_code_is_call(w, pc) - m.bias, &next);
	if (next.kind == CFI_ROOT)
		return true;
	return next.kind == CFI_PLAIN && !(next.flags & CFI_FLAG_RA_REG) &&
	       unwind_load(w, cfi_slots(&next, next.flags & CFI_FLAG_CFA_FP ? f->fp : slots.cfa).ra,
			   &ra) &&
	       unwind_code_is_call(w, unwind_strip(w, ra));
}

bool unwind_code_raise(struct unwind_walk *w)
{
	const struct unwind_frame *f = &w->frame[w->n - 1];
	struct module m;
	struct code_at c = { .w = w, .m = &m };
	const struct cfi_code code = { .arch = w->arch, .ctx = &c, .read = code_read_at,
		.accept = code_accept_raise };
	struct cfi_rule r;
	uint64_t pc = 0, fp = f->fp;
	if (!(f->flags & UNWIND_FRAME_EXACT) || !w->find_module(w->in->ctx, f->pc, &m) ||
	    !cfi_code_rule(&code, f->pc, &r))
		return false;
	const struct cfi_slots slots = cfi_slots(&r, f->sp);
	unwind_load(w, slots.ra, &pc);
	if (r.flags & CFI_FLAG_FP_SAVED)
		unwind_load(w, slots.fp, &fp);
	pc = unwind_strip(w, pc);
	w->stats->n_by_code++;
	w->frame[w->n++] = (struct unwind_frame){ .pc = pc, .sp = slots.cfa, .fp = fp,
		.flags = UNWIND_FRAME_HEURISTIC |
			 (unwind_code_is_call(w, pc) ? 0 : UNWIND_FRAME_EXACT) };
	return true;
}

/* ---- CFI that is not valid at each instruction --------------------------------------------- */

/* Bytes of code after a function's start, where it sets up its frame, and around a pc. */
#define CODE_PROLOGUE_BYTES 64u
#define CODE_BEFORE_BYTES 12u
#define CODE_BEHIND_BYTES 32u

static bool code_accept_any(void *ctx, const struct cfi_rule *rule)
{
	(void)ctx, (void)rule;
	return true;
}

/* Is there no call between start and pc?  With a call it is not a prologue, and the call may not
 * return to what follows. */
static bool code_is_prologue(const struct unwind_walk *w, const struct module *m,
			     uint64_t start, uint64_t pc)
{
	uint8_t b[CODE_PROLOGUE_BYTES];
	size_t n = pc - start;
	if (n > sizeof(b) || code_read(w, m, start, b, n) != n)
		return false;
	for (size_t i = w->arch->insn_align; i <= n; i += w->arch->insn_align)
		if (arch_ends_with_call(w->arch, b, i))
			return false;
	return true;
}

void unwind_code_amend(struct unwind_walk *w, const struct module *m, struct cfi_rule *rule)
{
	const struct unwind_frame *f = &w->frame[w->n - 1];
	struct code_at c = { .w = w, .m = m };
	struct cfi_code code = { .arch = w->arch, .ctx = &c, .read = code_read_at,
		.accept = code_accept_any };
	struct cfi_fde fde;
	struct cfi_rule r;
	uint32_t off;
	bool is_debug;
	uint8_t b[CODE_BEFORE_BYTES + CODE_BEHIND_BYTES];
	bool is_runtimes = m->file && m->file->runtime; /* whose tables are valid everywhere */
	if (!w->arch->is_leaving || !(f->flags & UNWIND_FRAME_EXACT) || is_runtimes ||
	    cfi_find_fde(m->cfi, f->pc - m->bias, &fde, &off, &is_debug) != CFI_FOUND)
		return;
	uint64_t n_since = f->pc - m->bias - fde.start;
	/* a return address that seems to be stored already was stored by the PLT: see cfi-run.c */
	bool is_so = code_is_prologue(w, m, f->pc - n_since, f->pc) &&
		     cfi_code_rule_from(&code, f->pc - n_since, f->pc, &r) &&
		     (!(r.flags & CFI_FLAG_RA_REG) || rule->flags & CFI_FLAG_RA_REG);
	if (!is_so) {
		size_t n = code_read(w, m, f->pc - CODE_BEFORE_BYTES, b, sizeof(b));
		is_so = n > CODE_BEFORE_BYTES && n_since >= CODE_BEFORE_BYTES &&
			w->arch->is_leaving(b + CODE_BEFORE_BYTES, CODE_BEFORE_BYTES,
					    n - CODE_BEFORE_BYTES) &&
			cfi_code_rule(&code, f->pc, &r);
	}
	if (!is_so)
		return;
	r.flags &= (uint8_t)~CFI_FLAG_HEURISTIC;
	*rule = r;
}

/* ---- rules that may still be confirmed ----------------------------------------------------- */

/* After so many stacks only the rules that the code offers are tried again, and the stack is no
 * longer searched for a call. */
#define CODE_ASKED_MAX 4u

/* The entry for the newest frame's pc. */
static struct unwind_code_open *code_open(const struct unwind_walk *w,
					  const struct module *m)
{
	const struct unwind_frame *f = &w->frame[w->n - 1];
	uint64_t key = hash_u64(m->id + hash_u64(f->pc - m->bias + !(f->flags & 1))) | 1;
	struct unwind_code_open *o = &w->open_codes->v[key >> 32 & (UNWIND_CODE_OPEN_MAX - 1)];
	if (o->key != key)
		*o = (struct unwind_code_open){ .key = key };
	return o;
}

/* Another stack has confirmed no rule.  The code does not change, so the rules that it offers are
 * kept. */
static void code_still_open(struct unwind_code_open *o, const struct code_at *c)
{
	if (c->n_offered > UNWIND_CODE_OFFERED_MAX)
		return;
	o->n_asked++;
	o->n_offered = (uint8_t)c->n_offered;
	memcpy(o->offered, c->offered, sizeof(o->offered));
}

/* ---- rules by the code --------------------------------------------------------------------- */

struct cfi_rule unwind_code_rule(struct unwind_walk *w, const struct module *m,
				 bool *ret_is_final)
{
	struct code_at c = { .w = w, .m = m };
	struct cfi_code code = { .arch = w->arch, .ctx = &c, .read = code_read_at,
		.is_return = !(w->frame[w->n - 1].flags & UNWIND_FRAME_EXACT),
		.frame_words = m->is_body ? m->frame_words : 0, .accept = code_accept };
	struct cfi_rule r;
	*ret_is_final = true;
	if (code_is_laid_out(w, m))
		return (struct cfi_rule){ .kind = CFI_ROOT, .flags = CFI_FLAG_HEURISTIC };
	if (!m->cfi)
		return unwind_jit_rule(w, m, &code, &c.is_open, ret_is_final);
	const struct unwind_frame *f = &w->frame[w->n - 1];
	struct unwind_code_open *o = code_open(w, m);
	uint8_t b[RUNTIME_ROOT_BYTES];
	if (o->n_asked >= CODE_ASKED_MAX) {
		for (unsigned int i = 0; i < o->n_offered; i++)
			if (code_accept(&c, &o->offered[i]))
				return o->offered[i];
		*ret_is_final = false;
		return (struct cfi_rule){ .kind = CFI_NONE };
	}
	if (code_is_in_sigreturn(w, m))
		return (struct cfi_rule){ .kind = CFI_SIGRETURN, .flags = CFI_FLAG_HEURISTIC };
	if (!(f->flags & UNWIND_FRAME_EXACT) && code_is_first(w, m, f->pc))
		return (struct cfi_rule){ .kind = CFI_ROOT };
	/* a call that does not return may be followed by the next function */
	if (!arch_pushes_ra(w->arch) && code.is_return && code_by_call(&c, &code, &r))
		return r;
	if (cfi_code_rule(&code, f->pc, &r))
		return r;
	size_t n = f->flags & UNWIND_FRAME_EXACT ? 0 : code_read(w, m, f->pc, b, sizeof(b));
	enum runtime_root root = runtime_root(w->arch, b, n);
	if (root == RUNTIME_ROOT_FRAME)
		return (struct cfi_rule){ .kind = CFI_ROOT };
	if (root == RUNTIME_ROOT_TRAP && !unwind_code_is_call(w, f->pc))
		return (struct cfi_rule){ .kind = CFI_ROOT, .flags = CFI_FLAG_HEURISTIC };
	if (code_by_call(&c, &code, &r))
		return r;
	*ret_is_final = !c.is_open;
	if (c.is_open)
		code_still_open(o, &c);
	return (struct cfi_rule){ .kind = CFI_NONE };
}
