/*
 * The unwinder has found each frame's CFA: the stack pointer of its caller.  What is left are the
 * slots in which a function has saved registers, and these are at fixed distances from the CFA in
 * all code that compilers make.  They are looked up once per address.
 */

#include "stack/stack-regs.h"

#include "base/hash.h"
#include "proc/procs-space.h"
#include "source/record.h"
#include "stack/stack-user.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/elf/dso.h"

#include <stdlib.h>

#define RULES 4096u     /* a power of two */

/* Instead of a slot. */
#define UNCHANGED INT16_MAX
#define LOST INT16_MIN

void stack_regs_done(struct stack_regs *s)
{
	free(s->rule);
	s->rule = NULL;
}

bool stack_regs_begin(struct stack_regs_walk *w, struct stack_regs *rules, struct stack_user *u,
		      struct procs_space *space, const struct record *r,
		      const struct unwind_frame *frame, uint32_t n)
{
	const struct record_sample *s = &r->sample;
	if (!u->arch || !s->user_regs || !n)
		return false;
	if (!rules->rule && !(rules->rule = calloc(RULES, sizeof(*rules->rule))))
		return false;
	*w = (struct stack_regs_walk){
		.rules = rules, .user = u, .space = space, .frame = frame, .n = n,
		.stack = s->user_stack, .n_stack_bytes = s->n_user_stack_bytes,
	};
	unwind_regs_from_perf(u->arch, s->user_regs_mask, s->user_regs, &w->regs);
	w->stack_at = w->regs.r[u->arch->sp];
	return true;
}

/* ---- rules ----------------------------------------------------------------------------- */

static int16_t rule_of(const struct cfi_row *row, unsigned int reg)
{
	const struct cfi_reg_rule *r = &row->reg[reg];
	switch (r->how) {
	case CFI_HOW_UNSPECIFIED:
	case CFI_HOW_SAME:
		return UNCHANGED;
	case CFI_HOW_OFFSET:
		return r->off % 8 == 0 && r->off / 8 > LOST && r->off / 8 < UNCHANGED
			       ? (int16_t)(r->off / 8) : LOST;
	default:
		return LOST;
	}
}

static void find_rule(const struct arch *arch, struct cfi *cfi, struct stack_regs_rule *ret)
{
	struct cfi_row row;
	bool is_known = cfi && cfi_row_at(cfi, ret->vaddr, &row) == CFI_FOUND;
	unsigned int n = 0;
	for (unsigned int reg = 0; reg < arch->n_regs && n < STACK_REGS_SAVED_MAX; reg++)
		if (arch->callee_saved >> reg & 1)
			ret->off8[n++] = is_known ? rule_of(&row, reg) : LOST;
}

/* NULL: nothing is known of the code. */
static const struct stack_regs_rule *rule_at(const struct stack_regs_walk *w, uint64_t pc)
{
	const struct procs_map *m = procs_space_find(w->space, pc);
	const struct stack_user *u = w->user;
	uint64_t vaddr;
	if (!m || m->dso >= u->modules.n)
		return NULL;
	const struct dso *d = dso_get(u->dsos, m->dso);
	if (d->key.kind == DSO_ANON || !dso_vaddr(d, pc - m->start + m->pgoff, &vaddr))
		return NULL;
	uint64_t hash = hash_pair(d->serial, vaddr);
	struct stack_regs_rule *rule = &w->rules->rule[hash & (RULES - 1)];
	if (rule->vaddr == vaddr && rule->dso_serial == d->serial + 1)
		return rule;
	*rule = (struct stack_regs_rule){ .vaddr = vaddr, .dso_serial = d->serial + 1 };
	find_rule(u->arch, u->modules.v[m->dso].cfi, rule);
	return rule;
}

/* ---- steps ----------------------------------------------------------------------------- */

/* The kernel has saved all registers of the function that a signal has interrupted. */
static void next_interrupted(struct stack_regs_walk *w, const struct unwind_frame *f)
{
	const struct arch *arch = w->user->arch;
	for (unsigned int reg = 0; reg < arch->n_regs; reg++) {
		uint64_t bit = UINT64_C(1) << reg;
		bool is_known = stack_regs_load(w, f->sp + arch->signal_off[reg],
						&w->regs.r[reg]);
		w->regs.valid = is_known ? w->regs.valid | bit : w->regs.valid & ~bit;
	}
}

void stack_regs_next(struct stack_regs_walk *w)
{
	const struct arch *arch = w->user->arch;
	const struct unwind_frame *f = &w->frame[w->i++];
	if (f->flags & UNWIND_FRAME_SIGNAL) {
		next_interrupted(w, f);
		return;
	}
	uint64_t pc = f->pc - !(f->flags & UNWIND_FRAME_EXACT), cfa = w->frame[w->i].sp;
	const struct stack_regs_rule *rule = rule_at(w, pc);
	unsigned int n = 0;
	for (unsigned int reg = 0; reg < arch->n_regs && n < STACK_REGS_SAVED_MAX; reg++) {
		uint64_t bit = UINT64_C(1) << reg;
		if (!(arch->callee_saved & bit))
			continue;
		int16_t off8 = rule ? rule->off8[n] : LOST;
		n++;
		if (off8 == UNCHANGED)
			continue;
		if (off8 == LOST ||
		    !stack_regs_load(w, cfa + (uint64_t)((int64_t)off8 * 8), &w->regs.r[reg]))
			w->regs.valid &= ~bit;
		else
			w->regs.valid |= bit;
	}
	w->regs.valid &= arch->callee_saved;
}
