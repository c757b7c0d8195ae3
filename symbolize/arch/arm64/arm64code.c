/*
 * Encodings are those of the Arm ARM, C4.1.  A call leaves its return address in x30.  A function
 * that calls others stores it, mostly in a pair with x29, and not always at the top of its frame.
 * So the code tracks where the two were stored and loaded, relative to the stack pointer or the
 * frame pointer.  Whether they are signed (pacia) does not matter.
 */

#include "symbolize/arch/arm64/arm64code.h"

#include <string.h>

#define REG_FP 29u
#define REG_LR 30u
#define REG_SP 31u              /* as a base register, and in ADD and SUB */

#define INSN_NOP 0xd503201fu
#define INSN_BTI_C 0xd503245fu
#define INSN_PUSH_PLT 0xa9bf7bf0u       /* stp x16, x30, [sp, #-16]! */
#define INSN_SVC 0xd4000001u

static uint32_t arm_insn(const uint8_t *p)
{
	uint32_t x;
	memcpy(&x, p, sizeof(x));
	return x;
}

/* n_bits of insn from bit `low` on, sign-extended. */
static int64_t arm_signed(uint32_t insn, unsigned int low, unsigned int n_bits)
{
	return (int32_t)(insn << (32 - low - n_bits)) >> (32 - n_bits);
}

static bool arm_is_call(uint32_t i)
{
	/* BL; BLR; BLRAA and the like */
	return i >> 26 == 0x25 || (i & 0xfffffc1f) == 0xd63f0000 || (i & 0xfefff800) == 0xd63f0800;
}

static bool arm_is_jump_by_reg(uint32_t i)
{
	return (i & 0xfffffc1f) == 0xd61f0000 || (i & 0xfefff800) == 0xd61f0800;
}

/* BR x16 or x17, the registers of linker stubs and tail calls: it leaves the function. */
static bool arm_is_jump_out(uint32_t i)
{
	return arm_is_jump_by_reg(i) && (i >> 5 & 0x1e) == 16;
}

static bool arm_is_return(uint32_t i)
{
	return i == 0xd65f03c0 || (i & 0xfffffbff) == 0xd65f0bff;
}

/* ---- memory ------------------------------------------------------------------------------ */

/* A load or a store of one or two registers. */
struct arm_access {
	unsigned int reg[2], base;
	unsigned int n_bytes;           /* of each register */
	int64_t off;                    /* of the first one, from base */
	int64_t moves_base;             /* added to base */
	bool is_load, is_two;
	bool is_vector;                 /* reg are vector registers */
};

static bool arm_pair(uint32_t i, struct arm_access *ret)
{
	if ((i & 0x3a000000) != 0x28000000)
		return false;
	unsigned int opc = i >> 30, how = i >> 23 & 3;
	bool is_vector = i >> 26 & 1;
	unsigned int n_bytes = is_vector ? 4u << opc : opc & 2 ? 8 : 4;
	bool is_stgp = opc == 1 && !is_vector && !(i >> 22 & 1);
	int64_t imm = arm_signed(i, 15, 7) * (is_stgp ? 16 : n_bytes);
	*ret = (struct arm_access){ .reg = { i & 31, i >> 10 & 31 }, .base = i >> 5 & 31,
		.n_bytes = n_bytes, .off = how == 1 ? 0 : imm, .moves_base = how & 1 ? imm : 0,
		.is_load = i >> 22 & 1, .is_two = true, .is_vector = is_vector };
	return true;
}

static bool arm_single(uint32_t i, struct arm_access *ret)
{
	bool is_scaled = (i & 0x3b000000) == 0x39000000;
	if (!is_scaled && (i & 0x3b200000) != 0x38000000)
		return false;
	unsigned int size = i >> 30, opc = i >> 22 & 3, how = i >> 10 & 3;
	bool is_vector = i >> 26 & 1;
	if (is_vector && opc & 2)
		size = 4;
	*ret = (struct arm_access){ .reg = { i & 31 }, .base = i >> 5 & 31, .n_bytes = 1u << size,
		.is_load = opc != 0, .is_vector = is_vector };
	if (is_scaled) {
		ret->off = (int64_t)(i >> 10 & 0xfff) << size;
	} else {
		int64_t imm = arm_signed(i, 12, 9);
		ret->off = how == 1 ? 0 : imm;
		ret->moves_base = how & 1 ? imm : 0;
	}
	return true;
}

static bool arm_is_slot(const struct code_value *a, const struct code_value *b)
{
	return a->base == CODE_BASE_SLOT && b->base == CODE_BASE_SLOT &&
	       a->slot_base == b->slot_base && a->off == b->off;
}

/* Register v, whose initial value is orig, is loaded from `at`, or stored there. */
static void arm_move(struct code_value *v, struct code_value *slot, enum code_base orig,
		     const struct code_value *at, bool is_load)
{
	const struct code_value as_it_was = { .base = (uint8_t)orig };
	if (!is_load && v->base == orig && v->off == 0 && slot->base == CODE_BASE_LOST)
		*slot = *at;
	if (is_load)
		*v = arm_is_slot(at, slot) ? as_it_was : *at;
}

/* No code stores a link register that a call has overwritten.  Such a store begins the next
 * function, after a call that does not return. */
static enum code_next arm_access(struct code_path *path, const struct arm_access *a)
{
	const struct code_value lost = { .base = CODE_BASE_LOST };
	struct code_value base = a->base == REG_SP ? path->sp : a->base == REG_FP ? path->fp : lost;
	for (unsigned int k = 0; k <= a->is_two && !a->is_vector; k++) {
		struct code_value at = lost;
		if (base.base <= CODE_BASE_FP && a->n_bytes == 8)
			at = (struct code_value){ .base = CODE_BASE_SLOT, .slot_base = base.base,
				.off = base.off + a->off + (int64_t)(k * a->n_bytes) };
		if (a->reg[k] == REG_FP)
			arm_move(&path->fp, &path->fp_slot, CODE_BASE_FP, &at, a->is_load);
		else if (a->reg[k] == REG_LR && !a->is_load && path->ra.base == CODE_BASE_LOST)
			return CODE_LOST;
		else if (a->reg[k] == REG_LR)
			arm_move(&path->ra, &path->ra_slot, CODE_BASE_LINK, &at, a->is_load);
	}
	if (a->base == REG_SP)
		path->sp.off += a->moves_base;
	else if (a->base == REG_FP && a->moves_base)
		path->fp = lost;
	return CODE_ON;
}

/* ---- arithmetic ---------------------------------------------------------------------------- */

/* ADD and SUB of an immediate, also as MOV, set up and take down frames. */
static enum code_next arm_add(struct code_path *path, uint32_t i)
{
	unsigned int to = i & 31, from = i >> 5 & 31;
	int64_t imm = (int64_t)(i >> 10 & 0xfff) << (i >> 22 & 1 ? 12 : 0);
	bool sets_flags = i >> 29 & 1;
	if (to == REG_SP ? sets_flags : to != REG_FP && to != REG_LR)
		return CODE_ON;
	struct code_value v = { .base = CODE_BASE_LOST };
	if (i >> 31 && (from == REG_SP || (from == REG_FP && path->fp.base <= CODE_BASE_FP))) {
		v = from == REG_SP ? path->sp : path->fp;
		v.off += i >> 30 & 1 ? -imm : imm;
	}
	if (to == REG_FP)
		path->fp = v;
	else if (to == REG_LR)
		path->ra.base = CODE_BASE_LOST;
	else
		path->sp = v;
	return path->sp.base == CODE_BASE_LOST ? CODE_LOST : CODE_ON;
}

/* Any instruction that computes a register. */
static enum code_next arm_compute(struct code_path *path, uint32_t i)
{
	unsigned int to = i & 31;
	if ((i & 0x1f800000) == 0x11000000)
		return arm_add(path, i);
	/* ADD and SUB (extended register) and logical instructions (immediate) that write sp */
	if (to == REG_SP && ((i & 0x3fe00000) == 0x0b200000 ||
			     ((i & 0x1f800000) == 0x12000000 && i >> 29 != 3 && i >> 29 != 7)))
		return CODE_LOST;
	if (to == REG_FP)
		path->fp.base = CODE_BASE_LOST;
	/* PACIA x30, sp and the like sign it, no more */
	if (to == REG_LR && (i & 0xffff0000) != 0xdac10000)
		path->ra.base = CODE_BASE_LOST;
	return CODE_ON;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static enum code_next arm_branch_if(struct code_path *path, uint64_t to)
{
	path->branch = to;
	return CODE_BRANCH;
}

static enum code_next arm_branch(struct code_path *path, uint32_t i)
{
	uint64_t at = path->at - 4;
	if (arm_is_call(i)) {
		if (path->ra.base == CODE_BASE_LINK)
			path->ra.base = CODE_BASE_LOST;
		return CODE_ON;
	}
	if (i >> 26 == 0x05) {
		path->at = at + (uint64_t)(arm_signed(i, 0, 26) * 4);
		return CODE_ON;
	}
	if (i >> 24 == 0x54 || (i & 0x7e000000) == 0x34000000)
		return arm_branch_if(path, at + (uint64_t)(arm_signed(i, 5, 19) * 4));
	if ((i & 0x7e000000) == 0x36000000)
		return arm_branch_if(path, at + (uint64_t)(arm_signed(i, 5, 14) * 4));
	if (arm_is_return(i) || arm_is_jump_out(i))
		return CODE_RETURN;
	if (i >> 25 == 0x6b || (i & 0xffe0001f) == 0xd4200000 ||
		 (i & 0xffe0001f) == 0xd4400000)
		return CODE_LOST;       /* BR, RET by another register, ERET; BRK, HLT */
	return CODE_ON;
}

enum code_next arm64code_step(const uint8_t *insn, size_t n_bytes, struct code_path *path)
{
	struct arm_access a;
	if (n_bytes < 4)
		return CODE_LOST;
	uint32_t i = arm_insn(insn);
	path->at += 4;
	switch (i >> 25 & 15) {
	case 0: case 1: case 3: /* UDF and unallocated */
		return CODE_LOST;
	case 2: /* SVE: ADDVL, ADDPL */
		return (i & 0xff20f81f) == 0x0420501f ? CODE_LOST : CODE_ON;
	case 8: case 9: case 5: case 13:
		return arm_compute(path, i);
	case 10: case 11:
		return arm_branch(path, i);
	case 4: case 6: case 12: case 14:
		if (arm_pair(i, &a) || arm_single(i, &a))
			return arm_access(path, &a);
		/* register offset, exclusive, atomic: perhaps a load */
		if (!(i >> 26 & 1) && (i & 31) == REG_FP)
			path->fp.base = CODE_BASE_LOST;
		if (!(i >> 26 & 1) && (i & 31) == REG_LR)
			path->ra.base = CODE_BASE_LOST;
		return CODE_ON;
	default:
		return CODE_ON;
	}
}

/* ---- stubs ------------------------------------------------------------------------------- */

/* The first entry of a PLT, after its push; or a function that is a single jump, which follows the
 * end of another function. */
bool arm64code_stub_rule(const uint8_t *pc, size_t n_before, size_t n_bytes, uint64_t vaddr,
			 struct cfi_rule *ret)
{
	(void)vaddr;
	*ret = (struct cfi_rule){ .kind = CFI_PLAIN,
				  .flags = CFI_FLAG_HEURISTIC | CFI_FLAG_RA_REG };
	if (n_before < 16 || n_bytes < 4)
		return false;
	for (const uint8_t *p = pc - 16; p < pc; p += 4)
		if (arm_insn(p) == INSN_PUSH_PLT) {
			ret->cfa_off8 = 2;
			return true;
		}
	uint32_t before = arm_insn(pc - 4);
	bool is_first = before == INSN_NOP || before == INSN_BTI_C || !before ||
			arm_is_return(before) || arm_is_jump_by_reg(before) || before >> 26 == 0x05;
	return is_first && arm_is_jump_by_reg(arm_insn(pc));
}

/* adrp x16, PAGE; ldr x17, [x16, #OFF] at pc: the address that is loaded from */
static bool arm_slot(uint32_t adrp, uint32_t ldr, uint64_t pc, uint64_t *ret)
{
	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return false;
	int64_t page = arm_signed(adrp, 5, 19) * 4 + (adrp >> 29 & 3);
	*ret = (pc & ~0xfffull) + (uint64_t)(page * 4096) + (ldr >> 10 & 0xfff) * 8ul;
	return true;
}

/* [bti c] adrp x16, PAGE; ldr x17, [x16, #OFF]; add ...; br x17 */
bool arm64code_stub_slot(const uint8_t *code, size_t n_bytes, uint64_t pc, uint64_t *ret)
{
	if (n_bytes >= 4 && arm_insn(code) == INSN_BTI_C) {
		code += 4;
		n_bytes -= 4;
		pc += 4;
	}
	return n_bytes >= 8 && arm_slot(arm_insn(code), arm_insn(code + 4), pc, ret);
}

/* Searches backwards for the entry's adrp, from the instruction at off. */
enum arch_plt arm64code_plt_entry(const uint8_t *plt, size_t n_bytes, uint64_t start, size_t off,
				  size_t entry_bytes, uint64_t *ret)
{
	(void)entry_bytes;
	off &= ~(size_t)3;
	if (off + 4 > n_bytes)
		return ARCH_PLT_NONE;
	if (off + 12 <= n_bytes && arm_insn(plt + off) == INSN_BTI_C)
		off += 4;
	for (unsigned int back = 0; back < 6; back++, off -= 4) {
		uint32_t ldr = off + 8 <= n_bytes ? arm_insn(plt + off + 4) : 0;
		if (arm_slot(arm_insn(plt + off), ldr, start + off, ret))
			return ARCH_PLT_SLOT;
		if (off < 4)
			break;
	}
	return ARCH_PLT_NONE;
}

/* ---- calls ------------------------------------------------------------------------------- */

enum arch_call arm64code_call(const uint8_t *before, size_t n_bytes, uint64_t ra, uint64_t *ret)
{
	*ret = 0;
	if (n_bytes < 4)
		return ARCH_CALL_NONE;
	uint32_t i = arm_insn(before + n_bytes - 4);
	if (i >> 26 != 0x25)
		return arm_is_call(i) ? ARCH_CALL_OTHER : ARCH_CALL_NONE;
	*ret = ra - 4 + (uint64_t)(arm_signed(i, 0, 26) * 4);
	return ARCH_CALL_DIRECT;
}

bool arm64code_is_root(const uint8_t *code, size_t n_bytes)
{
	/* mov x8, #93; svc #0: the end of clone.  Or bl exit, bl pthread_exit. */
	return (n_bytes >= 8 && arm_insn(code) == 0xd2800ba8 && arm_insn(code + 4) == INSN_SVC) ||
	       (n_bytes >= 4 && arm_insn(code) >> 26 == 0x25);
}

bool arm64code_is_exit(const uint8_t *code, size_t n_bytes)
{
	/* mov x0, #0 or mov w0, #0; bl _exit */
	return n_bytes >= 8 && (arm_insn(code) & 0x7fffffff) == 0x52800000 &&
	       arm_insn(code + 4) >> 26 == 0x25;
}

/* ---- prologues and epilogues ------------------------------------------------------------- */

bool arm64code_is_epilogue(const uint8_t *pc, size_t n_bytes)
{
	struct arm_access a;
	for (; n_bytes >= 4; pc += 4, n_bytes -= 4) {
		uint32_t i = arm_insn(pc);
		if (arm_is_return(i))
			return true;
		bool is_add_sp = (i & 0xff8003ff) == 0x910003ff;
		bool is_mov_sp = i == 0x910003bf;
		bool is_hint = (i & 0xfffff01f) == 0xd503201f;
		bool is_load = (arm_pair(i, &a) || arm_single(i, &a)) && a.is_load &&
			       a.base == REG_SP;
		if (!is_add_sp && !is_mov_sp && !is_hint && !is_load)
			return false;
	}
	return false;
}

bool arm64code_is_leaving(const uint8_t *pc, size_t n_before, size_t n_bytes)
{
	struct arm_access a;
	if (arm64code_is_epilogue(pc, n_bytes))
		return true;
	for (size_t n = 4; n <= n_before; n += 4) {
		uint32_t i = arm_insn(pc - n);
		if (i >> 26 == 0x05 || arm_is_return(i) || arm_is_call(i))
			return false;
		if ((arm_pair(i, &a) || arm_single(i, &a)) && a.is_load && !a.is_vector &&
		    a.base == REG_SP && (a.reg[0] == REG_LR || (a.is_two && a.reg[1] == REG_LR)))
			return true;
	}
	return false;
}

/* stp x29, x30, [sp ...] */
static bool arm_is_push(uint32_t i, struct arm_access *ret)
{
	return arm_pair(i, ret) && !ret->is_load && !ret->is_vector && ret->base == REG_SP &&
	       ret->reg[0] == REG_FP && ret->reg[1] == REG_LR;
}

/* N of sub sp, sp, #N; 0: another instruction. */
static int64_t arm_sub_sp(uint32_t i)
{
	return (i & 0xff8003ff) == 0xd10003ff ?
		(int64_t)(i >> 10 & 0xfff) << (i >> 22 & 1 ? 12 : 0) : 0;
}

/* The rule after the pair was stored, or before that with is_link. */
static bool arm_frame(int64_t cfa, int64_t pair, bool is_link, struct cfi_rule *ret)
{
	if (cfa < 0 || pair < 0 || (cfa | pair) & 7 || cfa / 8 > INT16_MAX ||
	    (!is_link && pair >= cfa))
		return false;
	*ret = (struct cfi_rule){ .kind = CFI_PLAIN, .flags = CFI_FLAG_HEURISTIC | CFI_FLAG_JIT,
				  .cfa_off8 = (int16_t)(cfa / 8) };
	if (is_link) {
		ret->flags |= CFI_FLAG_RA_REG;
		return true;
	}
	ret->flags |= CFI_FLAG_FP_SAVED;
	ret->fp_off8 = (int16_t)((pair - cfa) / 8);
	ret->ra_off8 = (int16_t)(ret->fp_off8 + 1);
	return true;
}

bool arm64code_prologue_rule(const uint8_t *pc, size_t n_bytes, struct cfi_rule *ret)
{
	struct arm_access a;
	uint32_t before = arm_insn(pc - 4), second = arm_insn(pc - 8);
	if (n_bytes < 8)
		return false;
	uint32_t i = arm_insn(pc), next = arm_insn(pc + 4);
	bool is_mov_fp = (i & 0xff8003ff) == 0x910003fd; /* add x29, sp, #N */
	/* stp x29, x30, [sp, #-N]!; mov x29, sp */
	if (arm_is_push(i, &a) && a.moves_base < 0)
		return arm_frame(0, 0, true, ret);
	if (arm_is_push(before, &a) && a.moves_base < 0 && is_mov_fp)
		return arm_frame(-a.moves_base, 0, false, ret);
	/* sub sp, sp, #N; stp x29, x30, [sp, #M]; add x29, sp, #M */
	if (arm_sub_sp(i) && arm_is_push(next, &a))
		return arm_frame(0, 0, true, ret);
	if (arm_sub_sp(before) && arm_is_push(i, &a) && !a.moves_base)
		return arm_frame(arm_sub_sp(before), 0, true, ret);
	if (arm_sub_sp(second) && arm_is_push(before, &a) && !a.moves_base && is_mov_fp)
		return arm_frame(arm_sub_sp(second), a.off, false, ret);
	return false;
}

bool arm64code_stores_fp(const uint8_t *insn, size_t n_bytes)
{
	struct arm_access a;
	return n_bytes >= 4 && (arm_pair(arm_insn(insn), &a) || arm_single(arm_insn(insn), &a)) &&
	       !a.is_load && !a.is_vector && a.base == REG_SP &&
	       (a.reg[0] == REG_FP || (a.is_two && a.reg[1] == REG_FP));
}

/* ---- other stacks ------------------------------------------------------------------------ */

/* mov sp, xREG (add sp, xREG, #0), except from x29 and sp */
static bool arm_loads_sp(uint32_t i)
{
	uint32_t reg = i >> 5 & 31;
	return (i & 0xfffffc1f) == 0x9100001f && reg != REG_FP && reg != REG_SP;
}

unsigned int arm64code_n_sp_loads(const uint8_t *code, size_t n_bytes)
{
	unsigned int n = 0;
	for (; n_bytes >= 4; code += 4, n_bytes -= 4)
		n += arm_loads_sp(arm_insn(code));
	return n;
}

/* ---- references -------------------------------------------------------------------------- */

/* ADRP sets a register to the start of a page; ADD, loads and stores then add the rest. */
size_t arm64code_references(const uint8_t *code, size_t n_bytes, uint64_t vaddr, uint64_t *ret,
			    size_t max)
{
	uint64_t page[REG_SP + 1];
	uint32_t is_page = 0;           /* a bit per register */
	size_t n = 0;
	for (size_t at = 0; at + 4 <= n_bytes && n < max; at += 4) {
		uint32_t i = arm_insn(code + at), to = i & 31, from = i >> 5 & 31;
		struct arm_access a;
		bool has_page = is_page >> from & 1;
		if ((i & 0x9f000000) == 0x90000000) {
			int64_t pages = arm_signed(i, 5, 19) * 4 + (i >> 29 & 3);
			page[to] = ((vaddr + at) & ~UINT64_C(0xfff)) + (uint64_t)pages * 4096;
			is_page |= 1u << to;
		} else if ((i & 0xffc00000) == 0x91000000) {
			if (has_page)
				ret[n++] = page[from] + (i >> 10 & 0xfff);
			is_page &= ~(1u << to);
		} else if (arm_single(i, &a) || arm_pair(i, &a)) {
			if (is_page >> a.base & 1)
				ret[n++] = page[a.base] + (uint64_t)a.off;
			for (unsigned int k = 0; a.is_load && !a.is_vector && k <= a.is_two; k++)
				is_page &= ~(1u << a.reg[k]);
		} else if (arm_is_call(i)) {
			is_page = 0;
		}
	}
	return n;
}
