/*
 * Operands in AT&T syntax, as gcc and clang print them into the notes of probes: "$-5", "%edi",
 * "-8(%rbp)", "16(%rax,%rbx,4)".
 *
 * Which instructions the kernel emulates: arch/x86/kernel/uprobes.c, branch_setup_xol_ops() and
 * push_setup_xol_ops().
 */

#include "symbolize/arch/archprobe.h"
#include "symbolize/arch/x86-64/x86insn.h"

#include <string.h>

/* By perf's number (PERF_REG_X86_*): the names of a register with 8, 4, 2 and 1 bytes. */
static const struct { uint8_t perf; const char *name[4]; } regs[] = {
	{ 0, { "rax", "eax", "ax", "al" } }, { 1, { "rbx", "ebx", "bx", "bl" } },
	{ 2, { "rcx", "ecx", "cx", "cl" } }, { 3, { "rdx", "edx", "dx", "dl" } },
	{ 4, { "rsi", "esi", "si", "sil" } }, { 5, { "rdi", "edi", "di", "dil" } },
	{ 6, { "rbp", "ebp", "bp", "bpl" } }, { 7, { "rsp", "esp", "sp", "spl" } },
	{ 16, { "r8", "r8d", "r8w", "r8b" } }, { 17, { "r9", "r9d", "r9w", "r9b" } },
	{ 18, { "r10", "r10d", "r10w", "r10b" } }, { 19, { "r11", "r11d", "r11w", "r11b" } },
	{ 20, { "r12", "r12d", "r12w", "r12b" } }, { 21, { "r13", "r13d", "r13w", "r13b" } },
	{ 22, { "r14", "r14d", "r14w", "r14b" } }, { 23, { "r15", "r15d", "r15w", "r15b" } },
};

static bool read_reg(const char **at, struct archprobe_operand *ret)
{
	if (**at != '%')
		return false;
	const char *name = *at + 1;
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789");
	for (size_t i = 0; i < sizeof(regs) / sizeof(*regs); i++) {
		for (unsigned size = 0; size < 4; size++) {
			if (strlen(regs[i].name[size]) != n ||
			    memcmp(regs[i].name[size], name, n) != 0)
				continue;
			ret->reg = regs[i].perf;
			ret->n_bytes = (uint8_t)(8u >> size);
			*at = name + n;
			return true;
		}
	}
	/* ah, bh, ch, dh */
	static const char *const high = "abcd";
	const char *letter = n == 2 && name[1] == 'h' ? strchr(high, name[0]) : NULL;
	if (!letter)
		return false;
	ret->reg = (uint8_t)(letter - high);
	ret->n_bytes = 1;
	ret->low_bit = 8;
	*at = name + n;
	return true;
}

/* A register of an address has 64 bits. */
static bool read_address_reg(const char **at, uint8_t *ret)
{
	struct archprobe_operand o = { 0 };
	if (!read_reg(at, &o) || o.n_bytes != 8)
		return false;
	*ret = o.reg;
	return true;
}

static bool read_index(const char **at, struct archprobe_operand *ret)
{
	int64_t scale = 1;
	(*at)++;
	if (!read_address_reg(at, &ret->index))
		return false;
	if (**at == ',') {
		(*at)++;
		if (!archprobe_number(at, &scale))
			return false;
	}
	if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
		return false;
	ret->index_shift = (uint8_t)__builtin_ctzll((uint64_t)scale);
	return true;
}

/* What follows the displacement: "(%rax)", "(%rax,%rbx,4)", "(,%rbx,8)". */
static bool read_address(const char *at, struct archprobe_operand *ret)
{
	ret->kind = ARCHPROBE_MEMORY;
	if (*at++ != '(' || (*at != ',' && !read_address_reg(&at, &ret->reg)) ||
	    (*at == ',' && !read_index(&at, ret)))
		return false;
	return at[0] == ')' && !at[1];
}

static bool read_operand(const char *text, struct archprobe_operand *ret)
{
	struct archprobe_operand o = { .reg = ARCHPROBE_NO_REG, .index = ARCHPROBE_NO_REG };
	const char *at = text + (*text == '$');
	bool ok = archprobe_number(&at, &o.number);
	if (*text == '$') {
		o.kind = ARCHPROBE_NUMBER;
		ok = ok && !*at;
	} else if (*text == '%') {
		o.kind = ARCHPROBE_REG;
		ok = read_reg(&at, &o) && !*at;
	} else {
		ok = (ok || *text == '(') && read_address(at, &o);
	}
	if (ok)
		*ret = o;
	return ok;
}

/* Since Linux 6.17 nops of all lengths. */
static bool is_nop(const struct x86insn *i)
{
	return (i->p[0] == 0x90 && !(i->rex & 1)) || (i->p[0] == 0x0f && i->p[1] == 0x1f);
}

static bool is_stepped(const uint8_t *insn, size_t n_bytes)
{
	struct x86insn i = x86insn_decode(insn, n_bytes);
	if (!i.n_bytes || i.is_vector)
		return true;
	uint8_t op = i.p[0];
	bool is_branch = op == 0xe8 || op == 0xe9 || op == 0xeb || (op & 0xf0) == 0x70 ||
			 (op == 0x0f && (i.p[1] & 0xf0) == 0x80);
	bool is_push = (op & 0xf8) == 0x50 && !i.is_16;
	return !is_nop(&i) && !is_branch && !is_push;
}

const struct arch_probe x86probe_arch = {
	.sp = 7,
	.operand = read_operand,
	.is_stepped = is_stepped,
	/* tests/bench/RESULTS.md */
	.stepped_cost = "10 to 16 us",
	.other_cost = "0.5 to 0.9 us",
};
