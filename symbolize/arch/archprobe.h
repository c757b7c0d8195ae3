#ifndef CPROF_SYMBOLIZE_ARCH_ARCHPROBE_H
#define CPROF_SYMBOLIZE_ARCH_ARCHPROBE_H

/* What probes need to know about a CPU architecture: where their arguments are, and which
 * instructions the kernel can put a probe on at little cost. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARCHPROBE_NO_REG 255u

enum archprobe_kind { ARCHPROBE_NUMBER, ARCHPROBE_REG, ARCHPROBE_MEMORY };

/* An operand as compilers write it in assembly.  Registers have perf's numbers. */
struct archprobe_operand {
	uint8_t kind;           /* enum archprobe_kind */
	uint8_t reg;            /* the register, or the base of an address */
	uint8_t index;          /* of an address; ARCHPROBE_NO_REG: none, as above */
	uint8_t index_shift;
	uint8_t n_bytes;        /* of the register that belong to the operand */
	uint8_t low_bit;        /* where they begin: 8 for ah */
	int64_t number;         /* a constant, or the displacement of an address */
};

struct arch_probe {
	uint8_t sp;             /* perf's number of the stack pointer */
	/* Reads an operand.  False: it is malformed, or its value is in no general register and at
	 * no address that general registers contain (globals, vector registers, segments). */
	bool (*operand)(const char *text, struct archprobe_operand *ret);
	/* Must the kernel execute this instruction alone, with a trap after it, because it cannot
	 * emulate it?  Up to X86INSN_BYTES_MAX bytes decide. */
	bool (*is_stepped)(const uint8_t *insn, size_t n_bytes);
	/* What a hit of a probe costs, with such an instruction and without; NULL: never
	 * measured. */
	const char *stepped_cost, *other_cost;
};

extern const struct arch_probe x86probe_arch, arm64probe_arch;

/* A number at *at, decimal or hexadecimal with 0x, perhaps negative; moves *at past it. */
bool archprobe_number(const char **at, int64_t *ret);

#endif
