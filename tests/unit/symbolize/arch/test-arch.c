/* The tables of architectures agree with themselves, and each is found by its names. */

#include "symbolize/arch/arch.h"
#include "tests/unit/tap.h"

#include <elf.h>

static bool has_registers(const struct arch *a)
{
	uint64_t perf = 0, all = 0;
	for (unsigned int i = 0; i < a->n_perf_regs; i++) {
		if (a->perf_reg[i] < 0)
			continue;
		perf |= 1ull << a->perf_reg[i];
	}
	for (unsigned int i = 0; i < a->n_regs; i++)
		all |= 1ull << i;
	return a->n_regs <= ARCH_REGS_MAX && a->sp < a->n_regs && a->fp < a->n_regs &&
	       a->pc < a->n_regs && (a->link < a->n_regs || arch_pushes_ra(a)) &&
	       a->no_eh_data < a->n_regs && !(a->callee_saved & ~all) && perf == all;
}

static bool has_functions(const struct arch *a)
{
	return a->step && a->stub_rule && a->call && a->stub_slot && a->is_root && a->is_exit &&
	       a->is_epilogue && a->prologue_rule && a->stores_fp && a->n_sp_loads &&
	       a->references;
}

/* The unwinder's bounds checks assume that order. */
static bool has_frames(const struct arch *a)
{
	struct cfi_slots at = cfi_slots(&a->by_fp, 0x1000);
	return a->by_fp.kind == CFI_PLAIN && a->by_fp.flags & CFI_FLAG_CFA_FP &&
	       a->by_fp.flags & CFI_FLAG_FP_SAVED && at.ra == at.fp + 8 && at.cfa > at.ra;
}

static void check(const struct arch *a, uint16_t e_machine)
{
	tap_ok(has_registers(a), "%s: perf samples each register that a rule may name", a->name);
	tap_ok(has_frames(a), "%s: a frame pointer leads to a pair of slots below the CFA",
	       a->name);
	tap_ok(has_functions(a), "%s: no function is missing", a->name);
	tap_ok(arch_of_machine(e_machine) == a && arch_of_name(a->name) == a &&
	       arch_of_name(a->perf_name) == a, "%s: found by its names", a->name);
	tap_ok(arch_of_perf_mask(a->perf_mask) == a, "%s: found by what perf samples", a->name);
	tap_ok(arch_begins(a->sigreturn[0].b + a->sigreturn[0].n - a->syscall.n, a->syscall.n,
			   &a->syscall), "%s: the signal trampoline ends with a system call",
	       a->name);
	tap_ok(a->n_sp_loads(a->syscall.b, a->syscall.n) == 0 &&
	       !a->stores_fp(a->syscall.b, a->syscall.n),
	       "%s: a system call moves no stack", a->name);
}

int main(void)
{
	check(&arch_x86_64, EM_X86_64);
	check(&arch_arm64, EM_AARCH64);
	tap_ok(!arch_of_machine(EM_RISCV) && !arch_of_name("riscv64"), "others are not supported");
	tap_ok(!arch_of_perf_mask(0), "no registers identify no architecture");
	tap_ok(arch_native() && arch_native()->perf_mask, "this machine's is known");
	return tap_done();
}
