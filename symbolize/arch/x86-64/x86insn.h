#ifndef CPROF_SYMBOLIZE_ARCH_X86_64_X86INSN_H
#define CPROF_SYMBOLIZE_ARCH_X86_64_X86INSN_H

/* Where an x86-64 instruction ends, and where its parts are. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define X86INSN_BYTES_MAX 15u

struct x86insn {
	const uint8_t *p;       /* behind the prefixes: the opcode */
	unsigned int n_bytes;   /* of all; 0: not known, or beyond the end */
	uint8_t rex;            /* 0: none */
	bool is_16;             /* operand size prefix */
	bool is_vector;         /* VEX or EVEX: p is the opcode, which means something else */
	const uint8_t *modrm;   /* NULL: none */
};

struct x86insn x86insn_decode(const uint8_t *p, size_t n_bytes);

/* Bytes of modrm, SIB and displacement at p; 0 when they are beyond end. */
unsigned int x86insn_modrm_bytes(const uint8_t *p, const uint8_t *end);

#endif
