#ifndef CPROF_SYMBOLIZE_ARCH_ARCH_H
#define CPROF_SYMBOLIZE_ARCH_ARCH_H

/*
 * What the unwinder needs to know about a CPU architecture.  Each architecture has one constant
 * table, in a folder of its own, and an entry in arch.c.  All tables are always built, so that a
 * recording can be unwound on any machine.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/arch/cfi-rule.h"
#include "symbolize/arch/codepath.h"

#define ARCH_REGS_MAX 33u       /* DWARF registers of the largest architecture */
#define ARCH_NO_REG 255u
#define ARCH_BYTES_MAX 11u
#define ARCH_CALL_BYTES 7u      /* before a return address: the longest call */
#define ARCH_STUB_BYTES 16u     /* of a PLT entry: enough for struct arch's stub_slot */
#define ARCH_EXIT_BYTES 13u     /* after a call: enough for is_root and is_exit */
#define ARCH_SWITCH_BYTES_MAX 1024u     /* of functions that switch stacks: they are short */

/* A fixed instruction sequence. */
struct arch_bytes {
	uint8_t n;              /* 0: none */
	uint8_t b[ARCH_BYTES_MAX];
};

enum arch_call {
	ARCH_CALL_NONE,
	ARCH_CALL_DIRECT,
	ARCH_CALL_SLOT,         /* through a pointer at a known address */
	ARCH_CALL_OTHER,        /* through a register, or memory that a register points to */
};

enum arch_plt {
	ARCH_PLT_NONE,
	ARCH_PLT_SLOT,          /* jumps through a slot */
	ARCH_PLT_INDEX,         /* pushes the index of its relocation in .rela.plt */
};

struct arch {
	const char *name, *perf_name;   /* as uname -m prints it; as in some perf.data files */
	uint16_t e_machine;     /* EM_* of ELF files */

	/* Registers, by DWARF number. */
	uint8_t n_regs;         /* general registers with the pc; rules of others are dropped */
	uint8_t sp, fp, pc, link;       /* link ARCH_NO_REG: calls push the return address */
	uint8_t result;         /* of functions and system calls */
	/* __builtin_eh_return passes data to the handler in the first two, never in the third. */
	uint8_t eh_data[2], no_eh_data;
	uint64_t callee_saved;  /* a bit per register */
	uint64_t pc_mask;       /* bits of a return address that are address, not signature */
	/* The rule in functions that keep a frame pointer.  The return address is in the slot above
	 * it.  Where frames extend beyond the two slots, as on arm64, the CFA is their end. */
	struct cfi_rule by_fp;

	/* perf's registers (asm/perf_regs.h). */
	uint64_t perf_mask;             /* sample_regs_user: all that the kernel accepts */
	uint64_t perf_mark;             /* bits that identify the architecture, see arch.c */
	const int8_t *perf_reg;         /* DWARF number by perf's number; -1: no such register */
	uint8_t n_perf_regs, perf_syscall_arg[3];  /* perf's numbers of a system call's arguments */
	const struct arch_probe *probe; /* archprobe.h */

	/* The kernel's signal frame: where each register is, from the trampoline's stack
	 * pointer. */
	const uint16_t *signal_off;
	bool uses_signal_off;           /* even where the trampoline has CFI, which lacks the pc */
	struct arch_bytes sigreturn[2]; /* the trampoline's code, its usual form first */
	struct arch_bytes syscall;
	uint8_t plt_pushed_bytes;       /* by PLT entries; not in the CFI of glibc's resolver */
	uint8_t insn_align, insn_bytes_max, direct_call_bytes;
	uint8_t stub_bytes_before, prologue_bytes_before;       /* read by the rules of that name */

	/* ELF relocation types: of the slots that PLT entries jump through, and of data. */
	uint32_t reloc_jump_slot, reloc_glob_dat, reloc_irelative;
	uint32_t reloc_abs64, reloc_abs32[2];
	struct arch_bytes asm_nop;      /* as Go's assembler writes it */

	/* Executes the instruction at path->at, whose bytes are given, and moves path->at. */
	enum code_next (*step)(const uint8_t *insn, size_t n_bytes, struct code_path *path);

	/* The rule for a pc in a PLT entry or a function that is a single jump, where following
	 * the code leads nowhere.  stub_bytes_before bytes precede pc, n_before 0: unknown. */
	bool (*stub_rule)(const uint8_t *pc, size_t n_before, size_t n_bytes, uint64_t vaddr,
			  struct cfi_rule *ret);

	/* The call that n_bytes before return address ra end with; *ret is the address called, or
	 * with ARCH_CALL_SLOT the address of the pointer to it. */
	enum arch_call (*call)(const uint8_t *before, size_t n_bytes, uint64_t ra, uint64_t *ret);
	/* The address that the PLT entry at pc loads its target from; false: not a PLT entry. */
	bool (*stub_slot)(const uint8_t *code, size_t n_bytes, uint64_t pc, uint64_t *ret);

	/* Decodes the PLT entry at plt + off, in a PLT of n_bytes at address start with entries of
	 * entry_bytes.  *ret is the slot's address or the index. */
	enum arch_plt (*plt_entry)(const uint8_t *plt, size_t n_bytes, uint64_t start, size_t off,
				   size_t entry_bytes, uint64_t *ret);

	/* Does the code at a return address pass the result to exit, pthread_exit or the exit
	 * system call?  That is what the callers of main and of thread functions do in musl. */
	bool (*is_root)(const uint8_t *code, size_t n_bytes);
	/* Does it end the program, as the return address of a boost.context coroutine does? */
	bool (*is_exit)(const uint8_t *code, size_t n_bytes);
	/* Does the code only take down its frame and return? */
	bool (*is_epilogue)(const uint8_t *code, size_t n_bytes);
	/* The same, or was the return address reloaded within the n_before bytes before pc?
	 * NULL: compilers describe epilogues in CFI. */
	bool (*is_leaving)(const uint8_t *pc, size_t n_before, size_t n_bytes);

	/* The rule at a pc in the middle of a standard prologue that sets up a frame pointer;
	 * prologue_bytes_before bytes precede it. */
	bool (*prologue_rule)(const uint8_t *pc, size_t n_bytes, struct cfi_rule *ret);
	/* Does the instruction store the frame pointer relative to the stack pointer? */
	bool (*stores_fp)(const uint8_t *insn, size_t n_bytes);

	/* How often a function, from its start to the first unknown instruction, loads the stack
	 * pointer from memory or from a register other than the frame pointer. */
	unsigned int (*n_sp_loads)(const uint8_t *code, size_t n_bytes);
	/* Addresses that a function at vaddr uses relative to its own, at most max; how many. */
	size_t (*references)(const uint8_t *code, size_t n_bytes, uint64_t vaddr, uint64_t *ret,
			     size_t max);
};

extern const struct arch arch_x86_64, arch_arm64;

/* NULL: not supported. */
const struct arch *arch_of_machine(uint16_t e_machine);
const struct arch *arch_of_name(const char *name);
const struct arch *arch_of_perf_mask(uint64_t sample_regs_user);
const struct arch *arch_native(void);

static inline bool arch_pushes_ra(const struct arch *a) { return a->link == ARCH_NO_REG; }

static inline bool arch_ends_with_call(const struct arch *a, const uint8_t *before, size_t n_bytes)
{
	uint64_t unused;
	return a->call(before, n_bytes, 0, &unused) != ARCH_CALL_NONE;
}

/* Do n_bytes of code begin with the sequence? */
static inline bool arch_begins(const uint8_t *code, size_t n_bytes, const struct arch_bytes *with)
{
	return with->n && n_bytes >= with->n && !__builtin_memcmp(code, with->b, with->n);
}

#endif
