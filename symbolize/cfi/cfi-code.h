#ifndef CPROF_SYMBOLIZE_CFI_CFI_CODE_H
#define CPROF_SYMBOLIZE_CFI_CFI_CODE_H

/*
 * Rules for code that has no CFI (hand-written assembly, musl, linkers' stubs), from the code
 * itself: from the pc forward to a return, what happens to the stack pointer says where the
 * return address is, and what is loaded into the frame pointer where that is.
 * Such a rule is a guess until the caller has seen a return address where it says.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/arch/arch.h"

struct cfi_code {
	const struct arch *arch;
	void *ctx;
	/* Copies up to n bytes of code at `at` and returns how many; 0: none there. */
	size_t (*read)(void *ctx, uint64_t at, uint8_t *buf, size_t n_bytes);
	bool is_return;         /* the pc of cfi_code_rule is one that a call returns to */
	/* Is the rule borne out by the stack?  Asked for one way to a return after the other. */
	bool (*accept)(void *ctx, const struct cfi_rule *rule);
};

/* The first rule that is accepted for the instruction at pc, which was not executed yet; CFI_PLAIN
 * with CFI_FLAG_GUESSED.  False when there is none within a bounded number of instructions. */
bool cfi_code_rule(const struct cfi_code *c, uint64_t pc, struct cfi_rule *ret);

/* The same from what was done since the function's start, if a way leads from there to the pc;
 * whether the stack bears it out is left to the caller.  c->accept is not called. */
bool cfi_code_rule_from(const struct cfi_code *c, uint64_t start, uint64_t pc,
			struct cfi_rule *ret);

#endif
