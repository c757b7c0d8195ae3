/*
 * Lengths follow the opcode maps in the Intel SDM, volume 2, appendix A; VEX and EVEX prefixes
 * follow sections 2.3 and 2.7.  The caller knows what an instruction does.
 */

#include "symbolize/arch/x86-64/x86insn.h"

unsigned int x86insn_modrm_bytes(const uint8_t *p, const uint8_t *end)
{
	if (p >= end)
		return 0;
	unsigned int mod = *p >> 6, rm = *p & 7, n = 1;
	if (mod == 3)
		return 1;
	if (rm == 4) {
		if (p + 1 >= end)
			return 0;
		n++;
		if (mod == 0 && (p[1] & 7) == 5)
			n += 4;
	} else if (mod == 0 && rm == 5) {
		n += 4;
	}
	return n + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

enum { OP_BAD = 0x80, OP_MODRM = 0x40, OP_IMM_Z = 0x20 }; /* other bits: bytes of immediate */

static unsigned int insn_op1(const struct x86insn *i)
{
	uint8_t op = *i->p;
	if (op < 0x40) {
		static const uint8_t low[8] = { OP_MODRM, OP_MODRM, OP_MODRM, OP_MODRM, 1, OP_IMM_Z,
			OP_BAD, OP_BAD };
		return low[op & 7];
	}
	switch (op) {
	case 0x50 ... 0x5f: case 0x6c ... 0x6f: case 0x90 ... 0x99: case 0x9b ... 0x9f:
	case 0xa4 ... 0xa7: case 0xaa ... 0xaf: case 0xc3: case 0xc9: case 0xcc: case 0xd7:
	case 0xec ... 0xef: case 0xf1: case 0xf4: case 0xf5: case 0xf8 ... 0xfd:
		return 0;
	case 0x63: case 0x84 ... 0x8f: case 0xd0 ... 0xd3: case 0xd8 ... 0xdf: case 0xfe: case 0xff:
		return OP_MODRM;
	case 0x69: case 0x81: case 0xc7:
		return OP_MODRM | OP_IMM_Z;
	case 0x6b: case 0x80: case 0x83: case 0xc0: case 0xc1: case 0xc6:
		return OP_MODRM | 1;
	case 0x6a: case 0x70 ... 0x7f: case 0xa8: case 0xb0 ... 0xb7: case 0xcd:
	case 0xe0 ... 0xe7: case 0xeb:
		return 1;
	case 0x68: case 0xa9:
		return OP_IMM_Z;
	case 0xe8: case 0xe9:
		return 4;
	case 0xa0 ... 0xa3:
		return 8;
	case 0xb8 ... 0xbf:
		return i->rex & 8 ? 8 : OP_IMM_Z;
	case 0xc2:
		return 2;
	case 0xc8:
		return 3;
	default: /* 0xf6 and 0xf7: see x86insn_decode */
		return OP_BAD;
	}
}

/* Opcodes after 0f, and those of map 1 of VEX. */
static unsigned int insn_op2(uint8_t op)
{
	switch (op) {
	case 0x05 ... 0x09: case 0x0b: case 0x0e: case 0x30 ... 0x37: case 0x77:
	case 0xa0 ... 0xa2: case 0xa8 ... 0xaa: case 0xc8 ... 0xcf:
		return 0;
	case 0x80 ... 0x8f:
		return 4;
	case 0x0f:
	case 0x70 ... 0x73:
	case 0xa4:
	case 0xac:
	case 0xba:
	case 0xc2:
	case 0xc4 ... 0xc6: return OP_MODRM | 1;
	case 0x04: case 0x0a: case 0x0c: case 0x24 ... 0x27: case 0x39: case 0x3b ... 0x3f:
		return OP_BAD;
	default:
		return OP_MODRM;
	}
}

/* VEX and EVEX: sets i->p to the opcode. */
static unsigned int insn_vector(struct x86insn *i, const uint8_t *end)
{
	unsigned int n = *i->p == 0xc5 ? 2 : *i->p == 0xc4 ? 3 : 4, map = 1;
	if (end - i->p <= (long)n)
		return OP_BAD;
	if (n > 2)
		map = i->p[1] & (n == 3 ? 31 : 7);
	i->p += n;
	i->is_vector = true;
	if (map == 1)
		return *i->p == 0x77 ? 0 : insn_op2(*i->p) | OP_MODRM;
	return map == 3 ? OP_MODRM | 1 : OP_MODRM;
}

struct x86insn x86insn_decode(const uint8_t *p, size_t n_bytes)
{
	const struct x86insn bad = { 0 };
	const uint8_t *start = p, *end = p + n_bytes;
	struct x86insn i = { 0 };
	for (; p < end; p++) {
		if (*p == 0x66)
			i.is_16 = true;
		else if (*p != 0xf2 && *p != 0xf3 && *p != 0xf0 && *p != 0x67 && *p != 0x64 &&
			 *p != 0x65 && (*p & 0xe7) != 0x26)
			break;
	}
	if (p < end && (*p & 0xf0) == 0x40)
		i.rex = *p++;
	if (p >= end)
		return bad;
	i.p = p;
	unsigned int what;
	if (*p == 0xc4 || *p == 0xc5 || *p == 0x62) {
		what = insn_vector(&i, end);
	} else if (*p == 0x0f) {
		if (end - p < 3)
			return bad;
		what = insn_op2(p[1]);
		if (p[1] == 0x38 || p[1] == 0x3a) {
			what = p[1] == 0x3a ? OP_MODRM | 1 : OP_MODRM;
			p++;
		}
		p += 2;
	} else if (*p == 0xf6 || *p == 0xf7) {
		if (end - p < 2)
			return bad;
		what = OP_MODRM | (p[1] & 0x30 ? 0 : *p == 0xf6 ? 1 : OP_IMM_Z);
		p++;
	} else {
		what = insn_op1(&i);
		p++;
	}
	if (what & OP_BAD)
		return bad;
	if (i.is_vector)
		p = i.p + 1;
	if (what & OP_MODRM) {
		i.modrm = p;
		unsigned int n = x86insn_modrm_bytes(p, end);
		if (!n)
			return bad;
		p += n;
	}
	p += (what & OP_IMM_Z ? i.is_16 ? 2 : 4 : 0) + (what & 15);
	if (p > end)
		return bad;
	i.n_bytes = (unsigned int)(p - start);
	return i;
}
