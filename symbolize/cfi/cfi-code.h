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

#include "symbolize/cfi/cfi.h"

struct cfi_code {
	enum cfi_arch arch;
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

/* Does the code at a return address hand the value that was returned straight on to exit, to
 * pthread_exit or to the system call?  So main's and a thread's caller look in musl. */
bool cfi_code_is_root(enum cfi_arch arch, const uint8_t *code, size_t n_bytes);

/* Does it end the program, as what a coroutine of boost.context would return to does?  13 bytes are
 * enough. */
bool cfi_code_is_exit(enum cfi_arch arch, const uint8_t *code, size_t n_bytes);

/* Do the n bytes (7 are enough) before a return address end with a call? */
bool cfi_code_ends_with_call(enum cfi_arch arch, const uint8_t *before, size_t n_bytes);

/* arm64: what the BL before return address ra calls, false when that is none; before: its 4 bytes.
 * And the address that a linker's stub at pc loads its target from, false when it is none. */
bool cfi_code_arm_called(const uint8_t *before, uint64_t ra, uint64_t *ret);
bool cfi_code_arm_stub_slot(const uint8_t *code, size_t n_bytes, uint64_t pc, uint64_t *ret);

/* arm64: does the code do nothing but take down its frame and return?  Or has it loaded the return
 * address in the n_before bytes before pc? */
bool cfi_code_arm_is_epilogue(const uint8_t *pc, size_t n_bytes);
bool cfi_code_arm_is_left(const uint8_t *pc, size_t n_before, size_t n_bytes);

/* Is a frame about to be made at pc, with 8 bytes before it?  Then *ret is the rule there. */
bool cfi_code_arm_prologue(const uint8_t *pc, size_t n_bytes, struct cfi_rule *ret);

#endif
