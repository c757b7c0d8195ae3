#ifndef CPROF_SYMBOLIZE_CFI_CFI_CODE_H
#define CPROF_SYMBOLIZE_CFI_CFI_CODE_H

/*
 * Rules for code without CFI: hand-written assembly, musl, PLT entries.  The code is followed from
 * the pc to a return.  Its changes of the stack pointer show where the return address is, and its
 * loads of the frame pointer where the caller's is saved.  Such a rule is heuristic until the
 * caller has found a return address at that place.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/arch/arch.h"

struct cfi_code {
	const struct arch *arch;
	void *ctx;
	/* Copies up to n bytes of code at `at` and returns how many. */
	size_t (*read)(void *ctx, uint64_t at, uint8_t *buf, size_t n_bytes);
	bool is_return;         /* the pc of cfi_code_rule is a return address */
	uint32_t frame_words;   /* of JIT code, if the frame is complete at pc; 0: unknown */
	/* Does the stack confirm the rule?  Called for each path to a return until it is true. */
	bool (*accept)(void *ctx, const struct cfi_rule *rule);
};

/* The first accepted rule for pc, whose instruction has not been executed yet: CFI_PLAIN with
 * CFI_FLAG_HEURISTIC.  False: none within a bounded number of instructions. */
bool cfi_code_rule(const struct cfi_code *c, uint64_t pc, struct cfi_rule *ret);

/* The same from the code between the function's start and pc, if a path leads from one to the
 * other.  Does not call c->accept: the caller checks the rule against the stack. */
bool cfi_code_rule_from(const struct cfi_code *c, uint64_t start, uint64_t pc,
			struct cfi_rule *ret);

#endif
