/*
 * Each request runs an FDE's program from the start: functions are short, and the caller caches the
 * result.  The row after the CIE's program is cached here.  A row has a rule for each general
 * register, since unusual code needs them all.  Rules of vector registers are parsed and dropped.
 *
 * Every instruction takes at least one byte, so the entry's length bounds the time.  The lengths of
 * expressions are checked here; cfi-eval.c evaluates them.
 */

#include "symbolize/cfi/cfi-run.h"

#include <dwarf.h>
#include <string.h>

/* Nested DW_CFA_remember_state.  Compilers nest one or two. */
#define STATES_MAX 8

#ifndef DW_CFA_AARCH64_negate_ra_state_with_pc
#define DW_CFA_AARCH64_negate_ra_state_with_pc 0x2c
#endif

/* ---- the program ------------------------------------------------------------ */

struct run {
	const struct cfi_frames *f;
	const struct cfi_fde *fde;
	const uint8_t *p, *end;
	uint64_t loc, vaddr;            /* start of the row; the address that is requested */
	uint64_t row_end;               /* start of the next row */
	uint32_t n_regs, row_bytes;     /* of a row, as far as this architecture uses it */
	struct cfi_row *row;
	const struct cfi_row *initial;  /* after the CIE's program; NULL in that */
	bool has_moved, has_moved_back; /* the location changed; it went down */
	struct cfi_row *state;          /* STATES_MAX of them */
	unsigned int n_states;
};

static bool run_set(struct run *r, uint64_t reg, struct cfi_reg_rule rule)
{
	if (reg < r->n_regs)
		r->row->reg[reg] = rule;
	return true;
}

static bool run_offset(struct run *r, uint64_t reg, enum cfi_how how, uint64_t factored)
{
	uint64_t off = factored * (uint64_t)r->fde->cie.data_align;
	return run_set(r, reg, (struct cfi_reg_rule){ .how = how, .off = (int64_t)off });
}

static bool run_restore(struct run *r, uint64_t reg)
{
	if (!r->initial)
		return false;
	if (reg < r->n_regs)
		r->row->reg[reg] = r->initial->reg[reg];
	return true;
}

static bool run_expr(struct run *r, enum cfi_how how, struct cfi_reg_rule *ret)
{
	uint64_t len;
	if (!cfi_entry_uleb(&r->p, r->end, &len) || len > (uint64_t)(r->end - r->p))
		return false;
	*ret = (struct cfi_reg_rule){ .how = how, .n_expr_bytes = (uint32_t)len, .expr = r->p };
	r->p += len;
	return true;
}

static bool run_cfa(struct run *r, uint64_t reg, int64_t off)
{
	/* a CFA relative to a register that is not tracked cannot be found */
	if (reg >= r->n_regs)
		return false;
	r->row->cfa_reg = (unsigned int)reg;
	r->row->cfa = (struct cfi_reg_rule){ .how = CFI_HOW_REGISTER, .off = off };
	return true;
}

static bool run_remember(struct run *r)
{
	if (r->n_states == STATES_MAX)
		return false;
	memcpy(&r->state[r->n_states++], r->row, r->row_bytes);
	return true;
}

static bool run_recall(struct run *r)
{
	if (!r->n_states)
		return false;
	memcpy(r->row, &r->state[--r->n_states], r->row_bytes);
	return true;
}

/* Instructions with the opcode in the low six bits, except the advances. */
static bool run_extended(struct run *r, uint8_t op)
{
	const uint8_t **p = &r->p, *end = r->end;
	int64_t align = r->fde->cie.data_align;
	struct cfi_reg_rule rule;
	uint64_t reg = 0, x;
	int64_t s;

	switch (op) {
	case DW_CFA_nop: case DW_CFA_AARCH64_negate_ra_state_with_pc:
	case DW_CFA_GNU_window_save: /* arm64: negate_ra_state; signatures are always removed */
		return true;
	case DW_CFA_remember_state:
		return run_remember(r);
	case DW_CFA_restore_state:
		return run_recall(r);
	case DW_CFA_def_cfa_expression:
		return run_expr(r, CFI_HOW_VAL_EXPR, &r->row->cfa);
	case DW_CFA_GNU_args_size:
		return cfi_entry_uleb(p, end, &x);
	case DW_CFA_def_cfa_offset:
		return cfi_entry_uleb(p, end, &x) && r->row->cfa.how == CFI_HOW_REGISTER &&
			run_cfa(r, r->row->cfa_reg, (int64_t)x);
	case DW_CFA_def_cfa_offset_sf:
		return cfi_entry_sleb(p, end, &s) && r->row->cfa.how == CFI_HOW_REGISTER &&
			run_cfa(r, r->row->cfa_reg, (int64_t)((uint64_t)s * (uint64_t)align));
	}
	if (!cfi_entry_uleb(p, end, &reg)) /* all others have a register operand */
		return false;
	switch (op) {
	case DW_CFA_offset_extended:
		return cfi_entry_uleb(p, end, &x) && run_offset(r, reg, CFI_HOW_OFFSET, x);
	case DW_CFA_offset_extended_sf:
		return cfi_entry_sleb(p, end, &s) &&
			run_offset(r, reg, CFI_HOW_OFFSET, (uint64_t)s);
	case DW_CFA_GNU_negative_offset_extended:
		return cfi_entry_uleb(p, end, &x) && run_offset(r, reg, CFI_HOW_OFFSET, -x);
	case DW_CFA_val_offset:
		return cfi_entry_uleb(p, end, &x) && run_offset(r, reg, CFI_HOW_VAL_OFFSET, x);
	case DW_CFA_val_offset_sf:
		return cfi_entry_sleb(p, end, &s) &&
			run_offset(r, reg, CFI_HOW_VAL_OFFSET, (uint64_t)s);
	case DW_CFA_restore_extended:
		return run_restore(r, reg);
	case DW_CFA_undefined:
		return run_set(r, reg, (struct cfi_reg_rule){ .how = CFI_HOW_UNDEFINED });
	case DW_CFA_same_value:
		return run_set(r, reg, (struct cfi_reg_rule){ .how = CFI_HOW_SAME });
	case DW_CFA_register:
		return cfi_entry_uleb(p, end, &x) && run_set(r, reg,
			(struct cfi_reg_rule){ .how = CFI_HOW_REGISTER, .reg = x });
	case DW_CFA_def_cfa:
		return cfi_entry_uleb(p, end, &x) && run_cfa(r, reg, (int64_t)x);
	case DW_CFA_def_cfa_sf:
		return cfi_entry_sleb(p, end, &s) &&
			run_cfa(r, reg, (int64_t)((uint64_t)s * (uint64_t)align));
	case DW_CFA_def_cfa_register:
		return r->row->cfa.how == CFI_HOW_REGISTER && run_cfa(r, reg, r->row->cfa.off);
	case DW_CFA_expression:
		return run_expr(r, CFI_HOW_EXPR, &rule) && run_set(r, reg, rule);
	case DW_CFA_val_expression:
		return run_expr(r, CFI_HOW_VAL_EXPR, &rule) && run_set(r, reg, rule);
	default:
		return false;
	}
}

/* Sets *ret to the new location when op is an advance; else RUN_OTHER. */
enum run_move { RUN_MOVED, RUN_OTHER, RUN_BAD };

static enum run_move run_move(struct run *r, uint8_t op, uint64_t *ret)
{
	uint64_t delta = 0;
	size_t n = 0;
	if (op >> 6 == DW_CFA_advance_loc >> 6) {
		*ret = r->loc + (op & 0x3f) * r->fde->cie.code_align;
		return RUN_MOVED;
	}
	switch (op) {
	case DW_CFA_advance_loc1:
		if (r->p == r->end)
			return RUN_BAD;
		*ret = r->loc + *r->p++ * r->fde->cie.code_align;
		return RUN_MOVED;
	case DW_CFA_advance_loc2: n = 2; break;
	case DW_CFA_advance_loc4: n = 4; break;
	case DW_CFA_MIPS_advance_loc8: n = 8; break;
	case DW_CFA_set_loc: {
		uint64_t vaddr = r->fde->program_vaddr + (uint64_t)(r->p - r->fde->program);
		return r->initial && cfi_entry_pointer(r->f, r->fde->cie.fde_enc,
			r->fde->cie.addr_bytes, vaddr, &r->p, r->end, ret) ? RUN_MOVED : RUN_BAD;
	}
	default: return RUN_OTHER;
	}
	if (!cfi_entry_fixed(&r->p, r->end, n, &delta))
		return RUN_BAD;
	*ret = r->loc + delta * r->fde->cie.code_align;
	return RUN_MOVED;
}

static bool run_program(struct run *r)
{
	while (r->p < r->end) {
		uint8_t op = *r->p++;
		uint64_t x;
		switch (run_move(r, op, &x)) {
		case RUN_BAD:
			return false;
		case RUN_MOVED:
			r->has_moved = true;
			r->has_moved_back |= x < r->loc;
			if (x > r->vaddr) {
				r->row_end = x;
				return true;
			}
			r->loc = x;
			continue;
		case RUN_OTHER:
			break;
		}
		bool ok;
		if (op >> 6 == DW_CFA_offset >> 6)
			ok = cfi_entry_uleb(&r->p, r->end, &x) &&
				run_offset(r, op & 0x3f, CFI_HOW_OFFSET, x);
		else if (op >> 6 == DW_CFA_restore >> 6)
			ok = run_restore(r, op & 0x3f);
		else
			ok = run_extended(r, op);
		if (!ok)
			return false;
	}
	return true;
}

/* Runs the CIE's program, unless its row is cached. */
static bool run_cie(struct run *r, struct cfi_row *ret_initial)
{
	const struct cfi_cie *cie = &r->fde->cie;
	struct cfi_cached_row *cached = cie->row;
	size_t row_bytes = r->row_bytes;
	if (cached && cached->is_valid && cached->cie_off == cie->off) {
		r->initial = &cached->row;
		memcpy(r->row, r->initial, row_bytes);
		return true;
	}
	memset(r->row, 0, row_bytes);
	r->row->is_signal = cie->is_signal;
	r->row->ra_reg = cie->ra_reg;
	r->p = cie->program;
	r->end = cie->program_end;
	if (!run_program(r))
		return false;
	if (cached && !r->has_moved) {
		cached->is_valid = true;
		cached->cie_off = cie->off;
		ret_initial = &cached->row;
	}
	memcpy(ret_initial, r->row, row_bytes);
	r->initial = ret_initial;
	return true;
}

/*
 * glibc's _dl_runtime_resolve for arm64 finds the return address on the stack, where the PLT entry
 * pushed it with another word.  Its CFI does not count these two words as part of its frame, so
 * they are above the CFA, where other functions store nothing.
 */
static void run_count_pushed(const struct arch *a, struct cfi_row *row)
{
	const struct cfi_reg_rule *ra = &row->reg[row->ra_reg];
	if (row->cfa.how != CFI_HOW_REGISTER || ra->how != CFI_HOW_OFFSET || ra->off != 8)
		return;
	row->cfa.off += a->plt_pushed_bytes;
	for (unsigned int i = 0; i < a->n_regs; i++)
		if (row->reg[i].how == CFI_HOW_OFFSET)
			row->reg[i].off -= a->plt_pushed_bytes;
}

bool cfi_run_row(const struct cfi_frames *f, const struct cfi_fde *fde, uint64_t vaddr,
		 struct cfi_row *ret)
{
	struct cfi_row initial, state[STATES_MAX];
	uint64_t end = fde->start + fde->n_bytes;
	struct run r = { .f = f, .fde = fde, .loc = fde->start, .vaddr = vaddr, .row = ret,
		.state = state, .n_regs = f->arch->n_regs,
		.row_bytes = (uint32_t)(offsetof(struct cfi_row, reg) +
					f->arch->n_regs * sizeof(struct cfi_reg_rule)) };
	if (!run_cie(&r, &initial))
		return false;
	/* With locations in the CIE or in wrong order, the row is known for this address only. */
	bool is_odd = r.has_moved;
	/* The cached row has no states, either. */
	r.n_states = 0;
	r.p = fde->program;
	r.end = fde->program_end;
	r.loc = fde->start;
	r.row_end = end;
	bool ok = run_program(&r);
	is_odd |= r.has_moved_back;
	ret->start = is_odd ? vaddr : r.loc;
	ret->end = is_odd ? vaddr + 1 : r.row_end < end ? r.row_end : end;
	ret->n_bytes_run = (unsigned int)(fde->cie.program_end - fde->cie.program) +
		(unsigned int)(r.p - fde->program);
	if (f->arch->plt_pushed_bytes)
		run_count_pushed(f->arch, ret);
	return ok;
}
