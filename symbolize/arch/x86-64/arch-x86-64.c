/* The table of x86-64 (System V psABI, and the kernel's arch/x86/include/uapi/asm). */

#include "symbolize/arch/arch.h"
#include "symbolize/arch/archprobe.h"
#include "symbolize/arch/x86-64/x86code.h"
#include "symbolize/arch/x86-64/x86insn.h"

#include <elf.h>

/* PERF_REG_X86_*: ax bx cx dx si di bp sp ip flags cs ss ds es fs gs r8 .. r15 */
static const int8_t x86_perf_reg[] = { 0, 3, 2, 1, 4, 5, 6, 7, 16, -1, -1, -1, -1, -1, -1, -1,
	8, 9, 10, 11, 12, 13, 14, 15 };

/* struct rt_sigframe without pretcode, which the handler's return popped: gregs are at 40, in the
 * order r8 .. r15 di si bp bx dx ax cx sp ip. */
#define GREG(n) (40 + 8 * (n))
static const uint16_t x86_signal_off[] = { GREG(13), GREG(12), GREG(14), GREG(11), GREG(9),
	GREG(8), GREG(10), GREG(15), GREG(0), GREG(1), GREG(2), GREG(3), GREG(4), GREG(5),
	GREG(6), GREG(7), GREG(16) };

const struct arch arch_x86_64 = {
	.name = "x86_64",
	.perf_name = "x86_64",
	.e_machine = EM_X86_64,

	.n_regs = 17,
	.sp = 7,
	.fp = 6,
	.pc = 16,
	.link = ARCH_NO_REG,
	.result = 0,
	.eh_data = { 0, 1 },
	.no_eh_data = 8,
	.callee_saved = 1u << 3 | 1u << 6 | 0xfu << 12, /* rbx, rbp, r12 to r15 */
	.pc_mask = ~0ull,
	.by_fp = { .kind = CFI_PLAIN, .flags = CFI_FLAG_CFA_FP | CFI_FLAG_FP_SAVED,
		   .cfa_off8 = 2, .ra_off8 = -1, .fp_off8 = -2 },

	/* AX to SS and R8 to R15: the kernel refuses DS, ES, FS and GS (bits 12 to 15). */
	.perf_mask = 0xff0fff,
	.perf_mark = ~0xffffull,
	.perf_reg = x86_perf_reg,
	.n_perf_regs = sizeof(x86_perf_reg),
	.perf_syscall_arg = { 5, 4, 3 }, /* di, si, dx */
	.probe = &x86probe_arch,

	.signal_off = x86_signal_off,
	.sigreturn = {
		{ 9, { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 } }, /* mov $15, %rax; syscall */
		{ 7, { 0xb8, 15, 0, 0, 0, 0x0f, 0x05 } },             /* mov $15, %eax; syscall */
	},
	.syscall = { 2, { 0x0f, 0x05 } },

	.insn_align = 1,
	.insn_bytes_max = X86INSN_BYTES_MAX,
	.direct_call_bytes = 5,
	.stub_bytes_before = 5,
	.prologue_bytes_before = 1,

	.reloc_jump_slot = R_X86_64_JUMP_SLOT,
	.reloc_glob_dat = R_X86_64_GLOB_DAT,
	.reloc_irelative = R_X86_64_IRELATIVE,
	.reloc_abs64 = R_X86_64_64,
	.reloc_abs32 = { R_X86_64_32, R_X86_64_32S },

	.asm_nop = { 1, { 0x90 } },

	.step = x86code_step,
	.stub_rule = x86code_stub_rule,
	.call = x86code_call,
	.stub_slot = x86code_stub_slot,
	.plt_entry = x86code_plt_entry,
	.is_root = x86code_is_root,
	.is_exit = x86code_is_exit,
	.is_epilogue = x86code_is_epilogue,
	.prologue_rule = x86code_prologue_rule,
	.stores_fp = x86code_stores_fp,
	.n_sp_loads = x86code_n_sp_loads,
	.references = x86code_references,
};
