/*
 * x86-64: a return takes its address off the stack, and so does a jump through a pointer in memory
 * relative to rip, which is a tail call or a PLT entry.
 */

#include "symbolize/cfi/cfi-code-private.h"

#include "symbolize/arch/x86-64/x86insn.h"

#include <string.h>

static int64_t code_imm(const uint8_t *p, size_t n_bytes)
{
	int8_t b;
	int32_t w;
	if (n_bytes == 1)
		return memcpy(&b, p, 1), b;
	return memcpy(&w, p, 4), w;
}

static void code_pop_fp(struct code_way *w)
{
	w->fp = (struct code_value){ .base = CODE_BASE_SLOT, .slot_base = w->sp.base,
				     .off = w->sp.off };
	w->sp.off += 8;
}

static enum code_next code_return(struct code_way *w)
{
	w->ra = (struct code_value){ .base = CODE_BASE_SLOT, .slot_base = w->sp.base,
				     .off = w->sp.off };
	w->sp.off += 8;
	return CODE_RETURN;
}

/* Instructions that have the stack pointer as their destination, by modrm. */
static enum code_next code_modrm(struct code_way *w, const struct x86insn *i)
{
	uint8_t op = *i->p, m = *i->modrm;
	unsigned int reg = (m >> 3 & 7) | (i->rex & 4) << 1, rm = (m & 7) | (i->rex & 1) << 3;
	bool is_reg = m >> 6 == 3;
	switch (op) {
	case 0x81: case 0x83: {
		int64_t imm = code_imm(i->modrm + 1, op == 0x83 ? 1 : 4);
		if (!is_reg || rm != 4 || reg == 7)     /* not on rsp, or cmp */
			return CODE_ON;
		if ((reg != 0 && reg != 5) || i->is_16)
			return CODE_LOST;
		w->sp.off += reg == 0 ? imm : -imm;
		return CODE_ON;
	}
	case 0x89:
		if (is_reg && rm == 4) {
			if (reg != 5 || w->fp.base > CODE_BASE_FP)
				return CODE_LOST;
			w->sp = w->fp;
		} else if (is_reg && rm == 5) {
			w->fp = reg == 4 ? w->sp : (struct code_value){ .base = CODE_BASE_LOST };
		}
		return CODE_ON;
	case 0x8b:
		if (reg == 4) {
			if (!is_reg || rm != 5 || w->fp.base > CODE_BASE_FP)
				return CODE_LOST;
			w->sp = w->fp;
		} else if (reg == 5 && is_reg) {
			w->fp = rm == 4 ? w->sp : (struct code_value){ .base = CODE_BASE_LOST };
		} else if (reg == 5) {
			/* mov rbp, [rsp + disp]: as Go's epilogues restore it */
			bool of_sp = (i->rex & 8) && rm == 4 && i->modrm[1] == 0x24;
			unsigned int mod = m >> 6;
			int64_t disp = mod ? code_imm(i->modrm + 2, mod == 1 ? 1 : 4) : 0;
			w->fp = of_sp ? (struct code_value){ .base = CODE_BASE_SLOT,
							     .slot_base = w->sp.base,
							.off = w->sp.off + disp }
				      : (struct code_value){ .base = CODE_BASE_LOST };
		}
		return CODE_ON;
	case 0x8d:
		if (reg == 5 && w->fp.base != CODE_BASE_SLOT)
			w->fp.base = CODE_BASE_LOST;
		if (reg != 4)
			return CODE_ON;
		/* lea rsp, [rsp + disp] or [rbp + disp] */
		if (rm == 4 && i->modrm[1] == 0x24 && (m >> 6 == 1 || m >> 6 == 2)) {
			w->sp.off += code_imm(i->modrm + 2, m >> 6 == 1 ? 1 : 4);
		} else if (rm == 5 && (m >> 6 == 1 || m >> 6 == 2) && w->fp.base <= CODE_BASE_FP) {
			w->sp = w->fp;
			w->sp.off += code_imm(i->modrm + 1, m >> 6 == 1 ? 1 : 4);
		} else {
			return CODE_LOST;
		}
		return CODE_ON;
	case 0x8f:
		w->sp.off += 8;
		return is_reg && rm == 4 ? CODE_LOST : CODE_ON;
	case 0xff:
		if ((reg & 7) == 6)
			w->sp.off -= 8;
		/* by register: a switch, or an interpreter's way on to the next handler, which may
		 * have popped what was pushed before the pc (node) */
		if ((reg & 7) == 4)
			return m == 0x25 ? code_return(w) : CODE_LOST;
		return CODE_ON;
	case 0x01: case 0x29: case 0x31: case 0x21: case 0x09: case 0x87:
		return is_reg && rm == 4 ? CODE_LOST : CODE_ON;
	case 0x03: case 0x2b: case 0x33: case 0x23: case 0x0b:
		return reg == 4 ? CODE_LOST : CODE_ON;
	default:
		return CODE_ON;
	}
}

enum code_next cfi_code_x86_step(struct code *k, struct code_way *w)
{
	size_t n;
	const uint8_t *p = cfi_code_bytes(k, w->at, &n);
	struct x86insn i = x86insn_decode(p, n);
	if (!i.n_bytes)
		return CODE_LOST;
	uint64_t next = w->at + i.n_bytes;
	const uint8_t *end = p + i.n_bytes;
	uint8_t op = *i.p;
	w->at = next;
	if (i.is_vector)
		return CODE_ON;
	if (op == 0x0f) {
		if (i.p[1] == 0x0b) /* ud2 */
			return CODE_LOST;
		if ((i.p[1] & 0xf0) == 0x80)
			cfi_code_branch(k, w, next + (uint64_t)code_imm(end - 4, 4));
		return CODE_ON;
	}
	switch (op) {
	case 0xc3: case 0xc2:
		return code_return(w);
	case 0xcc: case 0xf4:
		return CODE_LOST;
	case 0x50 ... 0x57: case 0x6a: case 0x9c:
		w->sp.off -= 8;
		if (op == 0x55 && !i.rex && w->fp.base == CODE_BASE_FP &&
		    w->fp_slot.base == CODE_BASE_LOST)
			w->fp_slot = (struct code_value){ .base = CODE_BASE_SLOT,
				.slot_base = w->sp.base, .off = w->sp.off };
		return CODE_ON;
	case 0x68:
		/* a PLT entry that was not resolved yet: push the index, jump to the first entry */
		if (n > i.n_bytes &&
		    (*end == 0xe9 || (*end == 0xf2 && n > i.n_bytes + 1u && end[1] == 0xe9)))
			return code_return(w);
		w->sp.off -= 8;
		return CODE_ON;
	case 0x58 ... 0x5f:
		if (op == 0x5d && !(i.rex & 1)) {
			code_pop_fp(w);
			return CODE_ON;
		}
		w->sp.off += 8;
		return op == 0x5c && !(i.rex & 1) ? CODE_LOST : CODE_ON;
	case 0x9d:
		w->sp.off += 8;
		return CODE_ON;
	case 0xc9:
		if (w->fp.base > CODE_BASE_FP)
			return CODE_LOST;
		w->sp = w->fp;
		code_pop_fp(w);
		return CODE_ON;
	case 0x70 ... 0x7f: case 0xe0 ... 0xe3:
		cfi_code_branch(k, w, next + (uint64_t)code_imm(end - 1, 1));
		return CODE_ON;
	case 0xe9:
		w->at = next + (uint64_t)code_imm(end - 4, 4);
		return CODE_ON;
	case 0xeb:
		w->at = next + (uint64_t)code_imm(end - 1, 1);
		return CODE_ON;
	default:
		return i.modrm ? code_modrm(w, &i) : CODE_ON;
	}
}

/* Is that a function which only calls what its argument says, as musl's qsort() has one?  The jump
 * of a switch has something before it, and rarely stands where functions are aligned to. */
static bool code_is_thunk(struct code *k, uint64_t pc)
{
	size_t n;
	const uint8_t *p = cfi_code_bytes(k, pc, &n);
	return pc % 16 == 0 && n >= 2 && p[0] == 0xff && (p[1] & 0xf8) == 0xe0;
}

bool cfi_code_x86_stub(struct code *k, const struct cfi_code *c, uint64_t pc, struct cfi_rule *ret)
{
	uint8_t before[5];
	size_t n;
	*ret = (struct cfi_rule){ .kind = CFI_PLAIN, .flags = CFI_FLAG_GUESSED, .cfa_off8 = 1,
				  .ra_off8 = -1 };
	/* between a PLT entry's push and its jump */
	if (c->read(c->ctx, pc - 5, before, 5) == 5 && before[0] == 0x68) {
		const uint8_t *p = cfi_code_bytes(k, pc, &n);
		if (n && (*p == 0xe9 || (*p == 0xf2 && n > 1 && p[1] == 0xe9))) {
			ret->cfa_off8 = 2;
			return true;
		}
	}
	return code_is_thunk(k, pc);
}

bool cfi_code_x86_is_root(const uint8_t *code, size_t n_bytes)
{
	/* mov %eax, %edi; xor %eax, %eax; mov $60, %al; syscall: the end of clone */
	static const uint8_t clone_end[] = { 0x89, 0xc7, 0x31, 0xc0, 0xb0, 60, 0x0f, 0x05 };
	if (n_bytes >= sizeof(clone_end) && !memcmp(code, clone_end, sizeof(clone_end)))
		return true;
	if (n_bytes >= 4 && code[0] == 0x48) { /* mov %rax, %rdi */
		code++;
		n_bytes--;
	}
	return n_bytes >= 3 && code[0] == 0x89 && code[1] == 0xc7 && code[2] == 0xe8;
}

bool cfi_code_x86_is_exit(const uint8_t *code, size_t n_bytes)
{
	/* [endbr64;] xor %rdi, %rdi; call ...; hlt */
	size_t i = n_bytes >= 4 && !memcmp(code, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0;
	i += n_bytes > i && code[i] == 0x48;
	return n_bytes >= i + 8 && code[i] == 0x31 && code[i + 1] == 0xff && code[i + 2] == 0xe8 &&
	       code[i + 7] == 0xf4;
}

bool cfi_code_x86_ends_with_call(const uint8_t *before, size_t n_bytes)
{
	const uint8_t *end = before + n_bytes;
	if (n_bytes >= 5 && end[-5] == 0xe8)
		return true;
	for (unsigned int n = 2; n <= 7 && n <= n_bytes; n++) {
		const uint8_t *p = end - n;
		if (p[0] == 0xff && (p[1] >> 3 & 7) == 2 &&
		    x86insn_modrm_bytes(p + 1, end) == n - 1)
			return true;
	}
	return false;
}
