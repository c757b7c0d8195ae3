#ifndef CPROF_SYMBOLIZE_CFI_CODE_H
#define CPROF_SYMBOLIZE_CFI_CODE_H

/*
 * Rules for x86-64 code that has no CFI (hand-written assembly, musl, PLTs by lld and mold),
 * from the code itself: from the pc forward to a return, what happens to the stack pointer
 * says where the return address is, and what is popped into rbp where the frame pointer is.
 * Such a rule is a guess until the caller has seen a return address where it says.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/cfi.h"

struct cfi_code {
	void *ctx;
	/* Copies up to n bytes of code at `at` and returns how many; 0: none there. */
	size_t (*read)(void *ctx, uint64_t at, uint8_t *buf, size_t n_bytes);
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

/* Does the code at a return address hand the value that was returned straight on to exit, to
 * pthread_exit or to the system call?  So main's and a thread's caller look in musl. */
bool cfi_code_is_root(const uint8_t *code, size_t n_bytes);

/* Does it end the program, as what a coroutine of boost.context would return to does?  13 bytes are
 * enough. */
bool cfi_code_is_exit(const uint8_t *code, size_t n_bytes);

/* Do the n bytes (7 are enough) before a return address end with a call? */
bool cfi_code_ends_with_call(const uint8_t *before, size_t n_bytes);

#endif
