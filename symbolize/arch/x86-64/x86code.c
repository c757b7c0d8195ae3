/*
 * A return pops its address off the stack.  A jump through a rip-relative pointer does the same in
 * effect: it is a tail call or a PLT entry.
 */

#include "symbolize/arch/x86-64/x86code.h"

#include "symbolize/arch/x86-64/x86insn.h"

#include <string.h>

#define ENDBR64 "\xf3\x0f\x1e\xfa"

static int64_t x86_imm(const uint8_t *p, size_t n_bytes)
{
	int8_t b;
	int32_t w;
	if (n_bytes == 1)
		return memcpy(&b, p, 1), b;
	return memcpy(&w, p, 4), w;
}

static void x86_pop_fp(struct code_path *path)
{
	path->fp = (struct code_value){ .base = CODE_BASE_SLOT, .slot_base = path->sp.base,
				     .off = path->sp.off };
	path->sp.off += 8;
}

static enum code_next x86_return(struct code_path *path)
{
	path->ra = (struct code_value){ .base = CODE_BASE_SLOT, .slot_base = path->sp.base,
				     .off = path->sp.off };
	path->sp.off += 8;
	return CODE_RETURN;
}

/* Instructions with a modrm byte. */
static enum code_next x86_modrm(struct code_path *path, const struct x86insn *i)
{
	const struct code_value lost = { .base = CODE_BASE_LOST };
	uint8_t op = *i->p, m = *i->modrm;
	unsigned int reg = (m >> 3 & 7) | (i->rex & 4) << 1, rm = (m & 7) | (i->rex & 1) << 3;
	bool is_reg = m >> 6 == 3;
	switch (op) {
	case 0x81: case 0x83: {
		int64_t imm = x86_imm(i->modrm + 1, op == 0x83 ? 1 : 4);
		if (!is_reg || rm != 4 || reg == 7)     /* not on rsp, or cmp */
			return CODE_ON;
		if ((reg != 0 && reg != 5) || i->is_16)
			return CODE_LOST;
		path->sp.off += reg == 0 ? imm : -imm;
		return CODE_ON;
	}
	case 0x89:
		if (is_reg && rm == 4) {
			if (reg != 5 || path->fp.base > CODE_BASE_FP)
				return CODE_LOST;
			path->sp = path->fp;
		} else if (is_reg && rm == 5) {
			path->fp = reg == 4 ? path->sp : lost;
		}
		return CODE_ON;
	case 0x8b:
		if (reg == 4) {
			if (!is_reg || rm != 5 || path->fp.base > CODE_BASE_FP)
				return CODE_LOST;
			path->sp = path->fp;
		} else if (reg == 5 && is_reg) {
			path->fp = rm == 4 ? path->sp : lost;
		} else if (reg == 5) {
			/* mov rbp, [rsp + disp]: Go's epilogues */
			bool of_sp = (i->rex & 8) && rm == 4 && i->modrm[1] == 0x24;
			unsigned int mod = m >> 6;
			int64_t disp = mod ? x86_imm(i->modrm + 2, mod == 1 ? 1 : 4) : 0;
			path->fp = lost;
			if (of_sp)
				path->fp = (struct code_value){ .base = CODE_BASE_SLOT,
					.slot_base = path->sp.base, .off = path->sp.off + disp };
		}
		return CODE_ON;
	case 0x8d:
		if (reg == 5 && path->fp.base != CODE_BASE_SLOT)
			path->fp.base = CODE_BASE_LOST;
		if (reg != 4)
			return CODE_ON;
		/* lea rsp, [rsp + disp] or [rbp + disp] */
		if (rm == 4 && i->modrm[1] == 0x24 && (m >> 6 == 1 || m >> 6 == 2)) {
			path->sp.off += x86_imm(i->modrm + 2, m >> 6 == 1 ? 1 : 4);
		} else if (rm == 5 && (m >> 6 == 1 || m >> 6 == 2) &&
			   path->fp.base <= CODE_BASE_FP) {
			path->sp = path->fp;
			path->sp.off += x86_imm(i->modrm + 1, m >> 6 == 1 ? 1 : 4);
		} else {
			return CODE_LOST;
		}
		return CODE_ON;
	case 0x8f:
		path->sp.off += 8;
		return is_reg && rm == 4 ? CODE_LOST : CODE_ON;
	case 0xff:
		if ((reg & 7) == 6)
			path->sp.off -= 8;
		/* A jump by register is a switch statement, or an interpreter's jump to its next
		 * handler, which may have popped what was pushed before the pc (node). */
		if ((reg & 7) == 4)
			return m == 0x25 ? x86_return(path) : CODE_LOST;
		return CODE_ON;
	case 0x01: case 0x29: case 0x31: case 0x21: case 0x09: case 0x87:
		return is_reg && rm == 4 ? CODE_LOST : CODE_ON;
	case 0x03: case 0x2b: case 0x33: case 0x23: case 0x0b:
		return reg == 4 ? CODE_LOST : CODE_ON;
	default:
		return CODE_ON;
	}
}

static enum code_next x86_branch(struct code_path *path, uint64_t to)
{
	path->branch = to;
	return CODE_BRANCH;
}

enum code_next x86code_step(const uint8_t *p, size_t n, struct code_path *path)
{
	struct x86insn i = x86insn_decode(p, n);
	if (!i.n_bytes)
		return CODE_LOST;
	uint64_t next = path->at + i.n_bytes;
	const uint8_t *end = p + i.n_bytes;
	uint8_t op = *i.p;
	path->at = next;
	if (i.is_vector)
		return CODE_ON;
	if (op == 0x0f) {
		if (i.p[1] == 0x0b) /* ud2 */
			return CODE_LOST;
		if ((i.p[1] & 0xf0) == 0x80)
			return x86_branch(path, next + (uint64_t)x86_imm(end - 4, 4));
		return CODE_ON;
	}
	switch (op) {
	case 0xc3: case 0xc2:
		return x86_return(path);
	case 0xcc: case 0xf4:
		return CODE_LOST;
	case 0x50 ... 0x57: case 0x6a: case 0x9c:
		path->sp.off -= 8;
		if (op == 0x55 && !i.rex && path->fp.base == CODE_BASE_FP &&
		    path->fp_slot.base == CODE_BASE_LOST)
			path->fp_slot = (struct code_value){ .base = CODE_BASE_SLOT,
				.slot_base = path->sp.base, .off = path->sp.off };
		return CODE_ON;
	case 0x68:
		/* an unresolved PLT entry: push the index, jump to the first entry */
		if (n > i.n_bytes &&
		    (*end == 0xe9 || (*end == 0xf2 && n > i.n_bytes + 1u && end[1] == 0xe9)))
			return x86_return(path);
		path->sp.off -= 8;
		return CODE_ON;
	case 0x58 ... 0x5f:
		if (op == 0x5d && !(i.rex & 1)) {
			x86_pop_fp(path);
			return CODE_ON;
		}
		path->sp.off += 8;
		return op == 0x5c && !(i.rex & 1) ? CODE_LOST : CODE_ON;
	case 0x9d:
		path->sp.off += 8;
		return CODE_ON;
	case 0xc9:
		if (path->fp.base > CODE_BASE_FP)
			return CODE_LOST;
		path->sp = path->fp;
		x86_pop_fp(path);
		return CODE_ON;
	case 0x70 ... 0x7f: case 0xe0 ... 0xe3:
		return x86_branch(path, next + (uint64_t)x86_imm(end - 1, 1));
	case 0xe9:
		path->at = next + (uint64_t)x86_imm(end - 4, 4);
		return CODE_ON;
	case 0xeb:
		path->at = next + (uint64_t)x86_imm(end - 1, 1);
		return CODE_ON;
	default:
		return i.modrm ? x86_modrm(path, &i) : CODE_ON;
	}
}

/* ---- stubs ------------------------------------------------------------------------------- */

/* jmp rel32 with or without bnd, as at the end of a PLT entry */
static bool x86_is_plt_jump(const uint8_t *p, size_t n_bytes)
{
	return n_bytes && (*p == 0xe9 || (*p == 0xf2 && n_bytes > 1 && p[1] == 0xe9));
}

/* A function that only jumps to the function in its argument, such as the one in musl's qsort().
 * The jump of a switch statement follows other code and is rarely aligned like a function. */
static bool x86_is_thunk(const uint8_t *p, size_t n_bytes, uint64_t vaddr)
{
	return vaddr % 16 == 0 && n_bytes >= 2 && p[0] == 0xff && (p[1] & 0xf8) == 0xe0;
}

bool x86code_stub_rule(const uint8_t *pc, size_t n_before, size_t n_bytes, uint64_t vaddr,
		       struct cfi_rule *ret)
{
	*ret = (struct cfi_rule){ .kind = CFI_PLAIN, .flags = CFI_FLAG_HEURISTIC, .cfa_off8 = 1,
				  .ra_off8 = -1 };
	/* between a PLT entry's push and its jump */
	if (n_before >= 5 && pc[-5] == 0x68 && x86_is_plt_jump(pc, n_bytes)) {
		ret->cfa_off8 = 2;
		return true;
	}
	return x86_is_thunk(pc, n_bytes, vaddr);
}

/* [endbr64] [bnd] jmp *disp(%rip) */
bool x86code_stub_slot(const uint8_t *code, size_t n_bytes, uint64_t pc, uint64_t *ret)
{
	size_t i = n_bytes >= 4 && !memcmp(code, ENDBR64, 4) ? 4 : 0;
	i += n_bytes > i && code[i] == 0xf2;
	if (n_bytes < i + 6 || code[i] != 0xff || code[i + 1] != 0x25)
		return false;
	*ret = pc + i + 6 + (uint64_t)x86_imm(code + i + 2, 4);
	return true;
}

/* The jump through the slot may follow prefixes.  The lazy half of a PLT with IBT has only a push
 * (68 imm32), after endbr64. */
enum arch_plt x86code_plt_entry(const uint8_t *plt, size_t n_bytes, uint64_t start, size_t off,
				size_t entry_bytes, uint64_t *ret)
{
	off = off / entry_bytes * entry_bytes;
	size_t end = n_bytes - off < entry_bytes ? n_bytes : off + entry_bytes;
	for (size_t i = off; i + 6 <= end; i++) {
		const uint8_t *p = plt + i;
		if (p[0] == 0xff && p[1] == 0x25) {
			*ret = start + i + 6 + (uint64_t)x86_imm(p + 2, 4);
			return ARCH_PLT_SLOT;
		}
		if (p[0] == 0x68 && (i == off || i == off + 4)) {
			*ret = (uint32_t)x86_imm(p + 1, 4);
			return ARCH_PLT_INDEX;
		}
	}
	return ARCH_PLT_NONE;
}

/* ---- calls ------------------------------------------------------------------------------- */

enum arch_call x86code_call(const uint8_t *before, size_t n_bytes, uint64_t ra, uint64_t *ret)
{
	const uint8_t *end = before + n_bytes;
	*ret = n_bytes >= 5 ? ra + (uint64_t)x86_imm(end - 4, 4) : 0;
	if (n_bytes >= 5 && end[-5] == 0xe8)
		return ARCH_CALL_DIRECT;
	if (n_bytes >= 6 && end[-6] == 0xff && end[-5] == 0x15)
		return ARCH_CALL_SLOT;
	for (unsigned int n = 2; n <= 7 && n <= n_bytes; n++) {
		const uint8_t *p = end - n;
		if (p[0] == 0xff && (p[1] >> 3 & 7) == 2 &&
		    x86insn_modrm_bytes(p + 1, end) == n - 1)
			return ARCH_CALL_OTHER;
	}
	return ARCH_CALL_NONE;
}

bool x86code_is_root(const uint8_t *code, size_t n_bytes)
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

bool x86code_is_exit(const uint8_t *code, size_t n_bytes)
{
	/* [endbr64;] xor %rdi, %rdi; call ...; hlt */
	size_t i = n_bytes >= 4 && !memcmp(code, ENDBR64, 4) ? 4 : 0;
	i += n_bytes > i && code[i] == 0x48;
	return n_bytes >= i + 8 && code[i] == 0x31 && code[i + 1] == 0xff && code[i + 2] == 0xe8 &&
	       code[i + 7] == 0xf4;
}

/* ---- prologues and epilogues ------------------------------------------------------------- */

/* Instructions of an epilogue. */
#define X86_EPILOGUE_MAX 8u

bool x86code_is_epilogue(const uint8_t *p, size_t n)
{
	for (unsigned int k = 0; k < X86_EPILOGUE_MAX; k++) {
		struct x86insn i = x86insn_decode(p, n);
		if (!i.n_bytes || i.is_vector)
			return false;
		if (*i.p == 0xc3)
			return true;
		bool is_add_sp = (*i.p == 0x83 || *i.p == 0x81) && i.modrm && *i.modrm == 0xc4;
		bool is_pop = *i.p >= 0x58 && *i.p <= 0x5f;
		if (!is_add_sp && !is_pop && *i.p != 0xc9)
			return false;
		p += i.n_bytes;
		n -= i.n_bytes;
	}
	return false;
}

static bool x86_is_mov_fp_sp(const uint8_t *p)
{
	return p[0] == 0x48 && ((p[1] == 0x89 && p[2] == 0xe5) || (p[1] == 0x8b && p[2] == 0xec));
}

/* push %rbp; mov %rsp, %rbp */
bool x86code_prologue_rule(const uint8_t *pc, size_t n_bytes, struct cfi_rule *ret)
{
	const uint8_t *p = pc, *end = pc + n_bytes;
	*ret = (struct cfi_rule){ .kind = CFI_PLAIN, .flags = CFI_FLAG_HEURISTIC, .cfa_off8 = 1,
				  .ra_off8 = -1 };
	if (end - p >= 3 && pc[-1] == 0x55 && x86_is_mov_fp_sp(p)) {
		ret->cfa_off8 = 2;
		ret->fp_off8 = -2;
		ret->flags |= CFI_FLAG_FP_SAVED;
		return true;
	}
	if (end - p >= 4 && !memcmp(p, ENDBR64, 4))
		p += 4;
	if (end - p >= 7 && !memcmp(p, "\x89\x84\x24", 3)) /* Java's stack overflow check */
		p += 7;
	return end - p >= 4 && p[0] == 0x55 && x86_is_mov_fp_sp(p + 1);
}

bool x86code_stores_fp(const uint8_t *insn, size_t n_bytes)
{
	/* mov %rbp, disp(%rsp) */
	return n_bytes >= 4 && insn[0] == 0x48 && insn[1] == 0x89 &&
	       (insn[2] == 0x6c || insn[2] == 0xac) && insn[3] == 0x24;
}

/* ---- other stacks ------------------------------------------------------------------------ */

/* mov REG, %rsp or mov MEMORY, %rsp, but not from the frame pointer. */
static bool x86_loads_sp(const struct x86insn *x)
{
	const uint8_t sp = 4, fp = 5, rex_w = 8, rex_r = 4, rex_b = 1;
	if (!x->modrm || x->is_vector || !(x->rex & rex_w))
		return false;
	uint8_t mod = *x->modrm >> 6, reg = *x->modrm >> 3 & 7, rm = *x->modrm & 7;
	if (x->p[0] == 0x8b && reg == sp && !(x->rex & rex_r))
		return mod != 3 || (x->rex & rex_b) || (rm != fp && rm != sp);
	if (x->p[0] == 0x89 && mod == 3 && rm == sp && !(x->rex & rex_b))
		return (x->rex & rex_r) || (reg != fp && reg != sp);
	return false;
}

unsigned int x86code_n_sp_loads(const uint8_t *code, size_t n_bytes)
{
	unsigned int n = 0;
	for (size_t i = 0; i < n_bytes;) {
		struct x86insn x = x86insn_decode(code + i, n_bytes - i);
		if (x.n_bytes == 0)
			break;
		n += x86_loads_sp(&x);
		/* after a return comes code that is reached from elsewhere, on the first stack */
		if (!x.is_vector && *x.p == 0xc3)
			n = 0;
		i += x.n_bytes;
	}
	return n;
}

/* ---- references -------------------------------------------------------------------------- */

size_t x86code_references(const uint8_t *code, size_t n_bytes, uint64_t vaddr, uint64_t *ret,
			  size_t max)
{
	size_t n = 0;
	for (size_t i = 0; i < n_bytes && n < max;) {
		struct x86insn x = x86insn_decode(code + i, n_bytes - i);
		int32_t disp;
		if (x.n_bytes == 0)
			break;
		i += x.n_bytes;
		if (!x.modrm || (*x.modrm & 0xc7) != 0x05)
			continue;
		/* disp32(%rip) */
		memcpy(&disp, x.modrm + 1, sizeof(disp));
		ret[n++] = vaddr + i + (uint64_t)(int64_t)disp;
	}
	return n;
}
