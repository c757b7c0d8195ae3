/* The table of arm64 (AAPCS64, AADWARF64, and the kernel's arch/arm64/include/uapi/asm). */

#include "symbolize/arch/arch.h"
#include "symbolize/arch/archprobe.h"
#include "symbolize/arch/arm64/arm64code.h"

#include <elf.h>

/* PERF_REG_ARM64_*: x0 .. x29, lr, sp, pc, which are the DWARF numbers. */
static const int8_t arm64_perf_reg[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
	17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 };

/* struct rt_sigframe: siginfo (128 bytes), ucontext (176 to its mcontext), fault_address, regs. */
#define SIGNAL_REG(n) (128 + 176 + 8 + 8 * (n))
#define SIGNAL_REGS(n) SIGNAL_REG(n), SIGNAL_REG(n + 1), SIGNAL_REG(n + 2), SIGNAL_REG(n + 3)
static const uint16_t arm64_signal_off[] = { SIGNAL_REGS(0), SIGNAL_REGS(4), SIGNAL_REGS(8),
	SIGNAL_REGS(12), SIGNAL_REGS(16), SIGNAL_REGS(20), SIGNAL_REGS(24), SIGNAL_REGS(28),
	SIGNAL_REG(32) };

const struct arch arch_arm64 = {
	.name = "aarch64",
	.perf_name = "arm64",
	.e_machine = EM_AARCH64,

	.n_regs = 33,
	.sp = 31,
	.fp = 29,
	.pc = 32,
	.link = 30,
	.result = 0,
	.eh_data = { 0, 1 },
	.no_eh_data = 8,
	.callee_saved = 0x7ffu << 19, /* x19 to x29 */
	/* Above the 48 bits of user addresses are pointer authentication codes. */
	.pc_mask = (1ull << 48) - 1,
	.by_fp = { .kind = CFI_PLAIN, .flags = CFI_FLAG_CFA_FP | CFI_FLAG_FP_SAVED,
		   .cfa_off8 = 2, .ra_off8 = -1, .fp_off8 = -2 },

	/* X0 to X29, LR, SP, PC */
	.perf_mask = (1ull << 33) - 1,
	.perf_mark = 1ull << 32,
	.perf_reg = arm64_perf_reg,
	.n_perf_regs = sizeof(arm64_perf_reg),
	.perf_syscall_arg = { 0, 1, 2 },
	.probe = &arm64probe_arch,

	.signal_off = arm64_signal_off,
	.uses_signal_off = true,
	/* mov x8, #139; svc #0 */
	.sigreturn = { { 8, { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 } } },
	.syscall = { 4, { 0x01, 0x00, 0x00, 0xd4 } },

	.plt_pushed_bytes = 16,
	.insn_align = 4,
	.insn_bytes_max = 4,
	.direct_call_bytes = 4,
	.stub_bytes_before = 16,
	.prologue_bytes_before = 8,

	.reloc_jump_slot = R_AARCH64_JUMP_SLOT,
	.reloc_glob_dat = R_AARCH64_GLOB_DAT,
	.reloc_irelative = R_AARCH64_IRELATIVE,
	.reloc_abs64 = R_AARCH64_ABS64,
	.reloc_abs32 = { R_AARCH64_ABS32, R_AARCH64_ABS32 },

	.asm_nop = { 4, { 0xe0, 0x03, 0x00, 0xaa } }, /* mov x0, x0 */

	.step = arm64code_step,
	.stub_rule = arm64code_stub_rule,
	.call = arm64code_call,
	.stub_slot = arm64code_stub_slot,
	.plt_entry = arm64code_plt_entry,
	.is_root = arm64code_is_root,
	.is_exit = arm64code_is_exit,
	.is_epilogue = arm64code_is_epilogue,
	.is_leaving = arm64code_is_leaving,
	.prologue_rule = arm64code_prologue_rule,
	.stores_fp = arm64code_stores_fp,
	.n_sp_loads = arm64code_n_sp_loads,
	.references = arm64code_references,
};
