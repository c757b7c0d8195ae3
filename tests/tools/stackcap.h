#ifndef CPROF_TESTS_STACKCAP_H
#define CPROF_TESTS_STACKCAP_H

/*
 * Captured stacks for tests and benchmarks of the unwinder: user registers and stack copies of a
 * command, and its mappings over time.  A file is a struct stackcap_head followed by records in
 * time order.  Each is a struct stackcap_record and a body that is padded to 8 bytes, in the byte
 * order of the machine:
 *
 *   STACKCAP_MAP     struct stackcap_map, then the path with its NUL
 *   STACKCAP_EXEC    no body: the process has lost all its mappings
 *   STACKCAP_FORK    u32 parent's pid, u32 0: the new process pid copies its parent's mappings
 *   STACKCAP_SAMPLE  struct stackcap_sample, the registers, the bytes of the stack
 *   STACKCAP_VDSO    the bytes of the vDSO (once)
 *
 * Registers are those of STACKCAP_REGS, in perf's order.
 */

#include <stdint.h>

#define STACKCAP_MAGIC "stackcap"

/* ax bx cx dx si di bp sp ip, r8 .. r15 of <asm/perf_regs.h> (x86-64) */
#define STACKCAP_REGS_X86 0xff01ffull
#define STACKCAP_N_REGS_X86 17

struct stackcap_head {
	char magic[8];
	uint32_t machine;       /* e_machine */
	uint32_t n_regs;
	uint64_t regs_mask;
};

enum stackcap_type {
	STACKCAP_MAP = 1, STACKCAP_EXEC, STACKCAP_FORK, STACKCAP_SAMPLE, STACKCAP_VDSO,
};

struct stackcap_record {
	uint32_t type, n_bytes; /* n_bytes of the body */
	uint64_t time_ns;
	uint32_t pid, tid;
};

struct stackcap_map {
	uint64_t start, len, pgoff;
	uint64_t prot;
};

struct stackcap_sample {
	uint64_t n_stack_bytes;
};

#endif
