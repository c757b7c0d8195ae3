#ifndef CPROF_SYMBOLIZE_CFI_CFI_EVAL_H
#define CPROF_SYMBOLIZE_CFI_CFI_EVAL_H

/*
 * Evaluates DWARF expressions in CFI (DWARF 5 sections 2.5 and 6.4.2), and the rule of a register.
 * Steps and stack are bounded.
 */

#include <stddef.h>
#include <stdint.h>

struct cfi_reg_rule;

enum cfi_eval {
	CFI_EVAL_OK,
	CFI_EVAL_NO_REG,    /* the value of a register is unknown or was lost */
	CFI_EVAL_NO_MEMORY, /* memory that no copy of the stack can hold */
	CFI_EVAL_BEYOND,    /* memory beyond the end of the copy: a longer one would help */
	CFI_EVAL_BAD,	    /* malformed, unknown operation, too many steps */
};

/* Registers and memory.  Both functions set *ret only with CFI_EVAL_OK. */
struct cfi_eval_env {
	void *ctx;
	uint64_t bias;          /* added to DW_OP_addr: pc = vaddr + bias */
	enum cfi_eval (*reg)(void *ctx, unsigned int reg, uint64_t *ret);
	/* n_bytes (1 to 8) as an unsigned number */
	enum cfi_eval (*read)(void *ctx, uint64_t at, size_t n_bytes, uint64_t *ret);
};

/* The value of an expression; *first (may be NULL) is pushed before it runs. */
enum cfi_eval cfi_eval_expr(const struct cfi_eval_env *env, const uint8_t *expr, size_t n_bytes,
			    const uint64_t *first, uint64_t *ret);

/* The caller's value of register reg, by the rule in a frame with that CFA. */
enum cfi_eval cfi_eval_reg(const struct cfi_eval_env *env, const struct cfi_reg_rule *rule,
			   unsigned int reg, uint64_t cfa, uint64_t *ret);

#endif
