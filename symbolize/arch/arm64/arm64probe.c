/*
 * Operands as gcc and clang print them into the notes of probes: "5", "x0", "w1", "[sp, 16]",
 * "[x19,24]", "[x0, x1, lsl 3]".
 *
 * Which instructions the kernel simulates: arch/arm64/kernel/probes/decode-insn.c; nop since
 * Linux 6.13.
 */

#include "symbolize/arch/archprobe.h"

#include <string.h>

#define SP 31u
#define REG_ZERO 0xfeu

static void skip_blanks(const char **at)
{
	*at += strspn(*at, " \t");
}

/* Perf's numbers (PERF_REG_ARM64_*) are those of the names, with lr 30 and sp 31. */
static bool read_reg(const char **at, uint8_t *ret_reg, uint8_t *ret_n_bytes)
{
	const char *p = *at;
	size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789");
	const char *const end = p + n;
	bool is_w = *p == 'w';
	*ret_n_bytes = is_w ? 4 : 8;
	if ((n == 2 && memcmp(p, "sp", 2) == 0) || (n == 3 && memcmp(p, "wsp", 3) == 0)) {
		*ret_reg = SP;
	} else if (n == 3 && (*p == 'x' || is_w) && memcmp(p + 1, "zr", 2) == 0) {
		*ret_reg = REG_ZERO;
	} else {
		int64_t number = -1;
		if ((*p != 'x' && !is_w) || n > 3)
			return false;
		p++;
		if (!archprobe_number(&p, &number) || p != end || number < 0 || number > 30)
			return false;
		*ret_reg = (uint8_t)number;
	}
	*at = end;
	return true;
}

static bool read_number(const char **at, int64_t *ret)
{
	if (**at == '#')
		(*at)++;
	return archprobe_number(at, ret);
}

/* ", lsl 3" after an index. */
static bool read_shift(const char **at, struct archprobe_operand *ret)
{
	int64_t shift;
	(*at)++;
	skip_blanks(at);
	if (strncmp(*at, "lsl", 3) != 0)
		return false;
	*at += 3;
	skip_blanks(at);
	if (!read_number(at, &shift) || shift < 0 || shift > 4)
		return false;
	ret->index_shift = (uint8_t)shift;
	return true;
}

static bool read_offset(const char **at, struct archprobe_operand *ret)
{
	uint8_t n_bytes;
	(*at)++;
	skip_blanks(at);
	if (**at != 'x')
		return read_number(at, &ret->number);
	if (!read_reg(at, &ret->index, &n_bytes) || ret->index == REG_ZERO)
		return false;
	return **at != ',' || read_shift(at, ret);
}

static bool read_address(const char *at, struct archprobe_operand *ret)
{
	uint8_t n_bytes;
	ret->kind = ARCHPROBE_MEMORY;
	skip_blanks(&at);
	if (!read_reg(&at, &ret->reg, &n_bytes) || n_bytes != 8 || ret->reg == REG_ZERO ||
	    (*at == ',' && !read_offset(&at, ret)))
		return false;
	skip_blanks(&at);
	return at[0] == ']' && !at[1];
}

static bool read_operand(const char *text, struct archprobe_operand *ret)
{
	struct archprobe_operand o = { .reg = ARCHPROBE_NO_REG, .index = ARCHPROBE_NO_REG };
	const char *at = text;
	bool ok;
	if (*text == '[') {
		ok = read_address(text + 1, &o);
	} else if (read_reg(&at, &o.reg, &o.n_bytes)) {
		/* The kind NUMBER is that of zero, too. */
		o.kind = o.reg == REG_ZERO ? ARCHPROBE_NUMBER : ARCHPROBE_REG;
		ok = !*at;
	} else {
		o.kind = ARCHPROBE_NUMBER;
		ok = read_number(&at, &o.number) && !*at;
	}
	if (ok)
		*ret = o;
	return ok;
}

static bool is_stepped(const uint8_t *insn, size_t n_bytes)
{
	static const struct { uint32_t mask, code; } simulated[] = {
		{ 0x7c000000, 0x14000000 }, /* b, bl */
		{ 0xff000010, 0x54000000 }, /* b.cond */
		{ 0x7c000000, 0x34000000 }, /* cbz, cbnz, tbz, tbnz */
		{ 0xff9ffc1f, 0xd61f0000 }, /* br, blr, ret */
		{ 0x1f000000, 0x10000000 }, /* adr, adrp */
		{ 0xbf000000, 0x18000000 }, /* ldr of a literal */
		{ 0xff000000, 0x98000000 }, /* ldrsw of one */
		{ 0xffffffff, 0xd503201f }, /* nop */
	};
	uint32_t code;
	if (n_bytes < sizeof(code))
		return true;
	memcpy(&code, insn, sizeof(code));
	for (size_t i = 0; i < sizeof(simulated) / sizeof(*simulated); i++)
		if ((code & simulated[i].mask) == simulated[i].code)
			return false;
	return true;
}

const struct arch_probe arm64probe_arch = {
	.sp = SP,
	.operand = read_operand,
	.is_stepped = is_stepped,
};
