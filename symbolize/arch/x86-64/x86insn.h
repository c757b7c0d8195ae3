#ifndef CPROF_SYMBOLIZE_ARCH_X86_64_X86INSN_H
#define CPROF_SYMBOLIZE_ARCH_X86_64_X86INSN_H

/* The length and the parts of an x86-64 instruction. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define X86INSN_BYTES_MAX 15u

struct x86insn {
	const uint8_t *p;       /* the opcode, after the prefixes */
	unsigned int n_bytes;   /* in all; 0: unknown, or cut short */
	uint8_t rex;            /* 0: none */
	bool is_16;             /* has the operand size prefix */
	bool is_vector;         /* VEX or EVEX: the opcode at p is of another map */
	const uint8_t *modrm;   /* NULL: none */
};

struct x86insn x86insn_decode(const uint8_t *p, size_t n_bytes);

/* Bytes of modrm, SIB and displacement at p; 0: cut short. */
unsigned int x86insn_modrm_bytes(const uint8_t *p, const uint8_t *end);

#endif
