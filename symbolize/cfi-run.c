/*
 * One FDE is decoded at a time and its program is run from the start, each time that an
 * address is asked for: functions are short, and the caller keeps the answer.  A row has
 * a rule for each general register, since unusual code needs them all; vector registers
 * are parsed and dropped.
 *
 * An entry longer than ENTRY_BYTES_MAX is refused, and every instruction takes at least one byte,
 * so that the time is bounded.  Expressions are checked for their length here and
 * evaluated elsewhere.
 */

#include "symbolize/cfi-run.h"

#include "symbolize/cfi-section.h"

#include <dwarf.h>
#include <string.h>

/* The longest FDE seen in real files was 40 KB (a generated interpreter loop). */
#define ENTRY_BYTES_MAX (1u << 20)

/* Nested DW_CFA_remember_state; compilers nest one or two. */
#define STATES_MAX 8

#ifndef DW_CFA_AARCH64_negate_ra_state_with_pc
#define DW_CFA_AARCH64_negate_ra_state_with_pc 0x2c
#endif

/* ---- numbers ---------------------------------------------------------------- */

bool cfi_run_uleb(const uint8_t **p, const uint8_t *end, uint64_t *ret)
{
	uint64_t x = 0;
	for (unsigned int shift = 0; *p < end; shift += 7) {
		uint8_t b = *(*p)++;
		if (shift < 64)
			x |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*ret = x;
			return true;
		}
	}
	return false;
}

bool cfi_run_sleb(const uint8_t **p, const uint8_t *end, int64_t *ret)
{
	uint64_t x = 0;
	for (unsigned int shift = 0; *p < end;) {
		uint8_t b = *(*p)++;
		if (shift < 64)
			x |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
		if (!(b & 0x80)) {
			if (b & 0x40 && shift < 64)
				x |= ~0ull << shift;
			*ret = (int64_t)x;
			return true;
		}
	}
	return false;
}

/* An unsigned little-endian number of 1, 2, 4 or 8 bytes. */
static bool run_fixed(const uint8_t **p, const uint8_t *end, size_t n_bytes, uint64_t *ret)
{
	uint64_t x = 0;
	if ((size_t)(end - *p) < n_bytes)
		return false;
	memcpy(&x, *p, n_bytes);
	*p += n_bytes;
	*ret = x;
	return true;
}

static uint64_t run_sign_extend(uint64_t x, size_t n_bytes)
{
	unsigned int shift = 64 - 8 * (unsigned int)n_bytes;
	return (uint64_t)((int64_t)(x << shift) >> shift);
}

size_t cfi_run_pointer_bytes(uint8_t enc, uint8_t addr_bytes)
{
	switch (enc & 0x0f) {
	case DW_EH_PE_absptr: return addr_bytes;
	case DW_EH_PE_udata2: case DW_EH_PE_sdata2: return 2;
	case DW_EH_PE_udata4: case DW_EH_PE_sdata4: return 4;
	case DW_EH_PE_udata8: case DW_EH_PE_sdata8: return 8;
	default: return 0;
	}
}

bool cfi_run_pointer(const struct cfi_frames *f, uint8_t enc, uint8_t addr_bytes, uint64_t vaddr,
		     const uint8_t **p, const uint8_t *end, uint64_t *ret)
{
	uint64_t x;
	if (enc == DW_EH_PE_aligned) {
		uint64_t skip = -vaddr & (addr_bytes - 1u);
		if ((uint64_t)(end - *p) < skip)
			return false;
		*p += skip;
		return run_fixed(p, end, addr_bytes, ret);
	}
	size_t n = cfi_run_pointer_bytes(enc, addr_bytes);
	if (n) {
		if (!run_fixed(p, end, n, &x))
			return false;
		if (enc & DW_EH_PE_signed)
			x = run_sign_extend(x, n);
	} else if ((enc & 0x0f) == DW_EH_PE_uleb128) {
		if (!cfi_run_uleb(p, end, &x))
			return false;
	} else if ((enc & 0x0f) == DW_EH_PE_sleb128) {
		if (!cfi_run_sleb(p, end, (int64_t *)&x))
			return false;
	} else {
		return false;
	}
	switch (enc & 0x70) {
	case 0: break;
	case DW_EH_PE_pcrel: x += vaddr; break;
	case DW_EH_PE_textrel: x += f->text_vaddr; break;
	case DW_EH_PE_datarel: x += f->data_vaddr; break;
	default: return false;
	}
	*ret = addr_bytes == 4 ? (uint32_t)x : x;
	return true;
}

/* ---- entries ---------------------------------------------------------------- */

struct run_entry {
	const uint8_t *p, *end; /* behind the id */
	uint64_t vaddr;         /* of p */
	uint64_t next_off;
	uint64_t cie_off;       /* of an FDE */
	bool is_cie;
};

static enum cfi_entry run_entry(const struct cfi_frames *f, uint64_t off, struct run_entry *ret)
{
	size_t head = 4, id_bytes = 4;
	uint64_t len = 0, id = 0;
	const uint8_t *p = cfi_section_get(f->section, off, 4);
	if (!p)
		return CFI_ENTRY_END;
	memcpy(&len, p, 4);
	if (len == 0 && f->is_eh)
		return CFI_ENTRY_END;
	if (len == 0xffffffff) {
		p = cfi_section_get(f->section, off + 4, 8);
		if (!p)
			return CFI_ENTRY_BAD;
		memcpy(&len, p, 8);
		head = 12;
		if (!f->is_eh)
			id_bytes = 8;
	}
	if (len < id_bytes || len > ENTRY_BYTES_MAX)
		return CFI_ENTRY_BAD;
	p = cfi_section_get(f->section, off + head, len);
	if (!p)
		return CFI_ENTRY_BAD;
	memcpy(&id, p, id_bytes);
	ret->p = p + id_bytes;
	ret->end = p + len;
	ret->vaddr = f->section->vaddr + off + head + id_bytes;
	ret->next_off = off + head + len;
	if (f->is_eh) {
		ret->is_cie = id == 0;
		ret->cie_off = off + head - id;
		if (id > off + head)
			return CFI_ENTRY_BAD;
	} else {
		ret->is_cie = id == (id_bytes == 4 ? 0xffffffffull : ~0ull);
		ret->cie_off = id;
	}
	return ret->is_cie ? CFI_ENTRY_CIE : CFI_ENTRY_FDE;
}

/* The augmentation data behind 'z', of which only the encodings matter. */
static bool run_augmentation(const struct cfi_frames *f, const char *aug, struct run_entry *e,
			     const uint8_t *start, struct cfi_cie *c)
{
	uint64_t len, unused;
	if (!cfi_run_uleb(&e->p, e->end, &len) || len > (uint64_t)(e->end - e->p))
		return false;
	const uint8_t *p = e->p, *end = e->p + len;
	c->has_aug_data = true;
	e->p = end;
	for (; *aug; aug++) {
		switch (*aug) {
		case 'R':
			if (p == end)
				return false;
			c->fde_enc = *p++;
			break;
		case 'P':
			if (p == end)
				return false;
			uint8_t enc = *p++;
			uint64_t vaddr = e->vaddr + (uint64_t)(p - start);
			/* only to get behind it: where it points does not matter */
			if (!cfi_run_pointer(f, enc == DW_EH_PE_aligned ? enc : enc & 0x0f,
					     c->addr_bytes, vaddr, &p, end, &unused))
				return false;
			break;
		case 'L':
			if (p == end)
				return false;
			p++;
			break;
		case 'S':
			c->is_signal = true;
			break;
		case 'B': case 'G': /* arm64: signed by key B; tagged stack frame */
			break;
		default:            /* unknown, but its length is known */
			return true;
		}
	}
	return true;
}

static bool run_cie(const struct cfi_frames *f, uint64_t off, struct cfi_cie *c)
{
	struct run_entry e;
	if (run_entry(f, off, &e) != CFI_ENTRY_CIE || e.p == e.end)
		return false;
	const uint8_t *start = e.p;
	uint8_t version = *e.p++;
	if (version != 1 && version != 3 && version != 4)
		return false;
	*c = (struct cfi_cie){ .addr_bytes = 8 };
	const char *aug = (const char *)e.p;
	const uint8_t *nul = memchr(e.p, 0, (size_t)(e.end - e.p));
	if (!nul)
		return false;
	e.p = nul + 1;
	if (version == 4) {
		if (e.end - e.p < 2 || (e.p[0] != 8 && e.p[0] != 4) || e.p[1])
			return false;
		c->addr_bytes = e.p[0];
		e.p += 2;
	}
	if (!strncmp(aug, "eh", 2)) { /* gcc 2: a pointer of no use to us */
		if (e.end - e.p < 8)
			return false;
		e.p += 8;
		aug += 2;
	}
	uint64_t ra = 0;
	if (!cfi_run_uleb(&e.p, e.end, &c->code_align) ||
	    !cfi_run_sleb(&e.p, e.end, &c->data_align) ||
	    !(version == 1 ? run_fixed(&e.p, e.end, 1, &ra) : cfi_run_uleb(&e.p, e.end, &ra)) ||
	    ra >= cfi_n_regs(f->arch))
		return false;
	c->ra_reg = (unsigned int)ra;
	if (*aug == 'z') {
		if (!run_augmentation(f, aug + 1, &e, start, c))
			return false;
	} else if (*aug) {
		return false; /* data of unknown length */
	}
	c->program = e.p;
	c->program_end = e.end;
	return true;
}

enum cfi_entry cfi_run_parse(const struct cfi_frames *f, uint64_t off, struct cfi_fde *ret,
			     uint64_t *ret_next)
{
	struct run_entry e;
	enum cfi_entry kind = run_entry(f, off, &e);
	if (ret_next && (kind == CFI_ENTRY_CIE || kind == CFI_ENTRY_FDE))
		*ret_next = e.next_off;
	if (kind != CFI_ENTRY_FDE)
		return kind;
	struct cfi_fde d;
	const uint8_t *start = e.p;
	uint64_t len;
	if (!run_cie(f, e.cie_off, &d.cie) ||
	    !cfi_run_pointer(f, d.cie.fde_enc, d.cie.addr_bytes, e.vaddr, &e.p, e.end, &d.start) ||
	    !cfi_run_pointer(f, d.cie.fde_enc & 0x0f, d.cie.addr_bytes, 0, &e.p, e.end, &d.n_bytes))
		return CFI_ENTRY_BAD;
	if (d.cie.has_aug_data) {
		if (!cfi_run_uleb(&e.p, e.end, &len) || len > (uint64_t)(e.end - e.p))
			return CFI_ENTRY_BAD;
		e.p += len;
	}
	d.program = e.p;
	d.program_end = e.end;
	d.program_vaddr = e.vaddr + (uint64_t)(e.p - start);
	*ret = d;
	return CFI_ENTRY_FDE;
}

/* ---- the program ------------------------------------------------------------ */

struct run {
	const struct cfi_frames *f;
	const struct cfi_fde *fde;
	const uint8_t *p, *end;
	uint64_t loc, vaddr;            /* where the row starts, where we go */
	struct cfi_row *row;
	const struct cfi_row *initial;  /* after the CIE's program; NULL in that */
	struct cfi_row *state;          /* STATES_MAX of them */
	unsigned int n_states;
};

/* A row's part that is in use on this machine. */
static size_t run_row_bytes(enum cfi_arch a)
{
	return offsetof(struct cfi_row, reg) + cfi_n_regs(a) * sizeof(struct cfi_reg_rule);
}

static bool run_set(struct run *r, uint64_t reg, struct cfi_reg_rule rule)
{
	if (reg < cfi_n_regs(r->f->arch))
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
	if (reg < cfi_n_regs(r->f->arch))
		r->row->reg[reg] = r->initial->reg[reg];
	return true;
}

static bool run_expr(struct run *r, enum cfi_how how, struct cfi_reg_rule *ret)
{
	uint64_t len;
	if (!cfi_run_uleb(&r->p, r->end, &len) || len > (uint64_t)(r->end - r->p))
		return false;
	*ret = (struct cfi_reg_rule){ .how = how, .n_expr_bytes = (uint32_t)len, .expr = r->p };
	r->p += len;
	return true;
}

static bool run_cfa(struct run *r, uint64_t reg, int64_t off)
{
	/* a CFA by a register that is not kept cannot be found */
	if (reg >= cfi_n_regs(r->f->arch))
		return false;
	r->row->cfa_reg = (unsigned int)reg;
	r->row->cfa = (struct cfi_reg_rule){ .how = CFI_HOW_REGISTER, .off = off };
	return true;
}

static bool run_remember(struct run *r)
{
	if (r->n_states == STATES_MAX)
		return false;
	memcpy(&r->state[r->n_states++], r->row, run_row_bytes(r->f->arch));
	return true;
}

static bool run_recall(struct run *r)
{
	if (!r->n_states)
		return false;
	memcpy(r->row, &r->state[--r->n_states], run_row_bytes(r->f->arch));
	return true;
}

/* The instructions that have their opcode in the low six bits, but for the advances. */
static bool run_extended(struct run *r, uint8_t op)
{
	const uint8_t **p = &r->p, *end = r->end;
	int64_t align = r->fde->cie.data_align;
	struct cfi_reg_rule rule;
	uint64_t reg = 0, x;
	int64_t s;

	switch (op) {
	case DW_CFA_nop: case DW_CFA_AARCH64_negate_ra_state_with_pc:
	case DW_CFA_GNU_window_save: /* arm64: negate_ra_state; codes are always stripped */
		return true;
	case DW_CFA_remember_state:
		return run_remember(r);
	case DW_CFA_restore_state:
		return run_recall(r);
	case DW_CFA_def_cfa_expression:
		return run_expr(r, CFI_HOW_VAL_EXPR, &r->row->cfa);
	case DW_CFA_GNU_args_size:
		return cfi_run_uleb(p, end, &x);
	case DW_CFA_def_cfa_offset:
		return cfi_run_uleb(p, end, &x) && r->row->cfa.how == CFI_HOW_REGISTER &&
			run_cfa(r, r->row->cfa_reg, (int64_t)x);
	case DW_CFA_def_cfa_offset_sf:
		return cfi_run_sleb(p, end, &s) && r->row->cfa.how == CFI_HOW_REGISTER &&
			run_cfa(r, r->row->cfa_reg, (int64_t)((uint64_t)s * (uint64_t)align));
	}
	if (!cfi_run_uleb(p, end, &reg)) /* all others name a register */
		return false;
	switch (op) {
	case DW_CFA_offset_extended:
		return cfi_run_uleb(p, end, &x) && run_offset(r, reg, CFI_HOW_OFFSET, x);
	case DW_CFA_offset_extended_sf:
		return cfi_run_sleb(p, end, &s) &&
			run_offset(r, reg, CFI_HOW_OFFSET, (uint64_t)s);
	case DW_CFA_GNU_negative_offset_extended:
		return cfi_run_uleb(p, end, &x) && run_offset(r, reg, CFI_HOW_OFFSET, -x);
	case DW_CFA_val_offset:
		return cfi_run_uleb(p, end, &x) && run_offset(r, reg, CFI_HOW_VAL_OFFSET, x);
	case DW_CFA_val_offset_sf:
		return cfi_run_sleb(p, end, &s) &&
			run_offset(r, reg, CFI_HOW_VAL_OFFSET, (uint64_t)s);
	case DW_CFA_restore_extended:
		return run_restore(r, reg);
	case DW_CFA_undefined:
		return run_set(r, reg, (struct cfi_reg_rule){ .how = CFI_HOW_UNDEFINED });
	case DW_CFA_same_value:
		return run_set(r, reg, (struct cfi_reg_rule){ .how = CFI_HOW_SAME });
	case DW_CFA_register:
		return cfi_run_uleb(p, end, &x) && run_set(r, reg,
			(struct cfi_reg_rule){ .how = CFI_HOW_REGISTER, .reg = x });
	case DW_CFA_def_cfa:
		return cfi_run_uleb(p, end, &x) && run_cfa(r, reg, (int64_t)x);
	case DW_CFA_def_cfa_sf:
		return cfi_run_sleb(p, end, &s) &&
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

/* Sets *ret to the new location when op is an advance; else `other`. */
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
	case DW_CFA_advance_loc1: n = 1; break;
	case DW_CFA_advance_loc2: n = 2; break;
	case DW_CFA_advance_loc4: n = 4; break;
	case DW_CFA_MIPS_advance_loc8: n = 8; break;
	case DW_CFA_set_loc: {
		uint64_t vaddr = r->fde->program_vaddr + (uint64_t)(r->p - r->fde->program);
		return r->initial && cfi_run_pointer(r->f, r->fde->cie.fde_enc,
			r->fde->cie.addr_bytes, vaddr, &r->p, r->end, ret) ? RUN_MOVED : RUN_BAD;
	}
	default: return RUN_OTHER;
	}
	if (!run_fixed(&r->p, r->end, n, &delta))
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
			if (x > r->vaddr)
				return true;
			r->loc = x;
			continue;
		case RUN_OTHER:
			break;
		}
		bool ok;
		if (op >> 6 == DW_CFA_offset >> 6)
			ok = cfi_run_uleb(&r->p, r->end, &x) &&
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

bool cfi_run_row(const struct cfi_frames *f, const struct cfi_fde *fde, uint64_t vaddr,
		 struct cfi_row *ret)
{
	struct cfi_row initial, state[STATES_MAX];
	size_t row_bytes = run_row_bytes(f->arch);
	memset(ret, 0, row_bytes);
	ret->is_signal = fde->cie.is_signal;
	ret->ra_reg = fde->cie.ra_reg;
	struct run r = { .f = f, .fde = fde, .p = fde->cie.program, .end = fde->cie.program_end,
		.loc = fde->start, .vaddr = vaddr, .row = ret, .state = state };
	if (!run_program(&r))
		return false;
	memcpy(&initial, ret, row_bytes);
	r.initial = &initial;
	r.p = fde->program;
	r.end = fde->program_end;
	r.loc = fde->start;
	return run_program(&r);
}
