/*
 * Functions that switch stacks (makecontext's, Go's systemstack and mcall, those of coroutines)
 * load the stack pointer from memory or a register.  Frames with variable arrays also load it from
 * a register, mostly the frame pointer.
 */

#include "symbolize/cfi/cfi-switch.h"

#include "symbolize/arch/x86-64/x86insn.h"

#include <stdbool.h>
#include <string.h>

/* mov REG, %rsp or mov MEMORY, %rsp, but not from the frame pointer. */
static bool switch_loads_x86_sp(const struct x86insn *x)
{
	const uint8_t sp = 4, fp = 5, rex_w = 8, rex_r = 4, rex_b = 1;
	if (!x->modrm || x->is_vector || !(x->rex & rex_w))
		return false;
	uint8_t mod = *x->modrm >> 6, reg = *x->modrm >> 3 & 7, rm = *x->modrm & 7;
	if (x->p[0] == 0x8b && reg == sp && !(x->rex & rex_r))
		return mod != 3 || (x->rex & rex_b) || (rm != fp && rm != sp);
	if (x->p[0] == 0x89 && mod == 3 && rm == sp && !(x->rex & rex_b))
		return (x->rex & rex_r) || (reg != fp && reg != sp);
	return false;
}

/* mov sp, xREG (add sp, xREG, #0) but for x29 and sp */
static bool switch_loads_arm_sp(uint32_t insn)
{
	uint32_t reg = insn >> 5 & 31;
	return (insn & 0xfffffc1f) == 0x9100001f && reg != CFI_ARM_FP && reg != 31;
}

unsigned int cfi_switch_n_loads(enum cfi_arch arch, const uint8_t *code, size_t n_bytes)
{
	unsigned int n = 0;
	for (size_t i = 0; i < n_bytes;) {
		if (arch == CFI_ARM64) {
			uint32_t insn;
			if (n_bytes - i < sizeof(insn))
				break;
			memcpy(&insn, code + i, sizeof(insn));
			n += switch_loads_arm_sp(insn);
			i += sizeof(insn);
			continue;
		}
		struct x86insn x = x86insn_decode(code + i, n_bytes - i);
		if (x.n_bytes == 0)
			break;
		n += switch_loads_x86_sp(&x);
		i += x.n_bytes;
	}
	return n;
}
