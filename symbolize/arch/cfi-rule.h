#ifndef CPROF_SYMBOLIZE_ARCH_CFI_RULE_H
#define CPROF_SYMBOLIZE_ARCH_CFI_RULE_H

/* How to unwind one frame, in 8 bytes: what the unwinder caches for an address. */

#include <stdint.h>

enum cfi_kind {
	CFI_EMPTY,      /* no rule; never returned */
	CFI_PLAIN,      /* struct cfi_rule is the complete rule */
	CFI_ROOT,       /* the return address is undefined: the outermost frame */
	CFI_UNUSUAL,    /* does not fit in struct cfi_rule: use cfi_row_again */
	CFI_SIGRETURN,  /* a signal trampoline without CFI: use the kernel's signal frame */
	CFI_NONE,       /* the module has no CFI for this address */
	CFI_BAD,        /* its CFI is malformed */
	CFI_N_KINDS
};

#define CFI_FLAG_CFA_FP 1u   /* CFA = frame pointer + offset; else stack pointer + offset */
#define CFI_FLAG_FP_SAVED 2u /* caller's frame pointer at CFA + fp_off8 * 8; else unchanged */
#define CFI_FLAG_RA_REG 4u   /* return address in the link register; else at CFA + ra_off8 * 8 */
#define CFI_FLAG_DEBUG 8u    /* from .debug_frame, as is the entry of CFI_UNUSUAL */
#define CFI_FLAG_HEURISTIC 16u /* heuristic: from the code, not from CFI (cfi-code.h) */
#define CFI_FLAG_SWITCH 64u  /* of CFI_ROOT: it switched to another stack and will return */
#define CFI_FLAG_JIT 32u     /* of CFI_NONE, and of CFI_PLAIN from the code: JIT code, see
			      * struct module */
#define CFI_FLAG_OPEN 128u   /* of CFI_NONE: read the code again for each stack */
#define CFI_FLAG_INTERRUPTED 128u /* of CFI_PLAIN: the caller has made no call, as for a signal */

/* Offsets are in units of 8 bytes. */
struct cfi_rule {
	uint8_t kind;                   /* enum cfi_kind */
	uint8_t flags;                  /* CFI_FLAG_* */
	int16_t cfa_off8;
	union {
		struct {
			int16_t ra_off8, fp_off8;
		};
		uint32_t both_off8;
		uint32_t entry_off;     /* of CFI_UNUSUAL: offset of the FDE in its section */
	};
};
_Static_assert(sizeof(struct cfi_rule) == 8, "tens of thousands of rules are cached");

/* The CFA by a plain rule, and the slots of the return address and the caller's frame pointer.
 * base: the register that the CFA is relative to. */
struct cfi_slots {
	uint64_t cfa, ra, fp;
};

static inline struct cfi_slots cfi_slots(const struct cfi_rule *r, uint64_t base)
{
	uint64_t cfa = base + (uint64_t)(r->cfa_off8 * 8l);
	return (struct cfi_slots){ cfa, cfa + (uint64_t)(r->ra_off8 * 8l),
				   cfa + (uint64_t)(r->fp_off8 * 8l) };
}

#endif
