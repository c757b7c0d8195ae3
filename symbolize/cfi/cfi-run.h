#ifndef CPROF_SYMBOLIZE_CFI_CFI_RUN_H
#define CPROF_SYMBOLIZE_CFI_CFI_RUN_H

/* The program of call frame instructions (DWARF 5 section 6.4.2): all rules at one address. */

#include <stdbool.h>
#include <stdint.h>

#include "symbolize/arch/arch.h"
#include "symbolize/cfi/cfi-entry.h"

enum cfi_how {
	CFI_HOW_UNSPECIFIED,         /* no rule: unchanged if callee-saved by the ABI */
	CFI_HOW_SAME,
	CFI_HOW_UNDEFINED,
	CFI_HOW_OFFSET,         /* saved at CFA + off */
	CFI_HOW_VAL_OFFSET,     /* is CFA + off */
	CFI_HOW_REGISTER,       /* is in register reg */
	CFI_HOW_EXPR,           /* saved at the address that the expression computes */
	CFI_HOW_VAL_EXPR,       /* is the value of the expression */
};

struct cfi_reg_rule {
	uint32_t how;           /* enum cfi_how */
	uint32_t n_expr_bytes;
	union {
		int64_t off;
		uint64_t reg;
		const uint8_t *expr;    /* borrows the section's bytes */
	};
};

/* All rules at one address. */
struct cfi_row {
	bool is_signal;
	unsigned int ra_reg;
	unsigned int n_bytes_run;       /* of program, for callers that limit the work */
	uint64_t start, end;            /* the row holds for vaddrs in [start, end) */
	/* the CFA: REGISTER means cfa_reg + cfa.off, else VAL_EXPR; UNSAID: the program does not
	 * define it */
	unsigned int cfa_reg;
	struct cfi_reg_rule cfa;
	struct cfi_reg_rule reg[ARCH_REGS_MAX];
};

/* The row after a CIE's program: the same for all its FDEs, unless it contains locations. */
struct cfi_cached_row {
	bool is_valid;
	uint64_t cie_off;
	struct cfi_row row;
};

/* Runs the program up to vaddr.  False: it is malformed, and *ret is undefined. */
bool cfi_run_row(const struct cfi_frames *f, const struct cfi_fde *fde, uint64_t vaddr,
		 struct cfi_row *ret);

/* Is the row that of a function with __builtin_eh_return, which transfers exceptions to their
 * handlers?  Such a function also saves the registers that pass data to the handler, but not all
 * argument registers. */
static inline bool cfi_run_is_eh_return(const struct arch *a, const struct cfi_row *row)
{
	return row->reg[a->eh_data[0]].how == CFI_HOW_OFFSET &&
	       row->reg[a->eh_data[1]].how == CFI_HOW_OFFSET &&
	       row->reg[a->no_eh_data].how != CFI_HOW_OFFSET;
}

#endif
