#ifndef CPROF_SYMBOLIZE_CFI_CFI_RULE_H
#define CPROF_SYMBOLIZE_CFI_CFI_RULE_H

/* How a frame is left, in a word: what the unwinder keeps of the CFI of a place. */

#include <stdint.h>

enum cfi_kind {
	CFI_EMPTY,      /* no rule; never returned */
	CFI_PLAIN,      /* struct cfi_rule says all */
	CFI_ROOT,       /* the return address is undefined: the outermost frame */
	CFI_UNUSUAL,    /* ask cfi_row_again */
	CFI_SIGRETURN,  /* the kernel's trampoline without CFI: registers lie in its signal frame */
	CFI_NONE,       /* the module says nothing about this address */
	CFI_BAD,        /* what it says is malformed */
	CFI_N_KINDS
};

#define CFI_FLAG_CFA_FP 1u   /* the CFA is frame pointer + offset; else stack pointer + offset */
#define CFI_FLAG_FP_SAVED                                                                          \
	2u /* the caller's frame pointer is at CFA + fp_off8 * 8; else unchanged */
#define CFI_FLAG_RA_REG                                                                            \
	4u /* the return address is in the link register; else at CFA + ra_off8 * 8 */
#define CFI_FLAG_DEBUG 8u    /* by .debug_frame, also the entry of CFI_UNUSUAL */
#define CFI_FLAG_GUESSED 16u /* not by CFI but by the code: see cfi-code.h */
#define CFI_FLAG_SWITCH 64u  /* of CFI_ROOT: it has gone to another stack, and will be back */
#define CFI_FLAG_MADE 32u    /* of CFI_NONE, and of CFI_PLAIN by the code: made by the process,
			      * see struct module */
#define CFI_FLAG_OPEN 128u   /* of CFI_NONE: the code is to be asked for each stack */

/* A rule in 8 bytes, to be kept by address.  Offsets in units of 8 bytes. */
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
_Static_assert(sizeof(struct cfi_rule) == 8, "rules are kept by the ten thousand");

#endif
