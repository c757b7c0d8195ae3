#ifndef CPROF_SYMBOLIZE_UNWIND_UNWIND_CODE_H
#define CPROF_SYMBOLIZE_UNWIND_UNWIND_CODE_H

/* Rules that are derived from the code, for frames without CFI.  Only the unwinder uses this. */

#include "symbolize/unwind/unwind-slow.h"

/* Addresses in files for which the code offers rules that no stack has confirmed yet, though one
 * still may.  Sample after sample asks for them. */
#define UNWIND_CODE_OPEN_MAX 128u
#define UNWIND_CODE_OFFERED_MAX 4u
struct unwind_code_opens {
	struct unwind_code_open {
		uint64_t key;
		uint8_t n_asked, n_offered;
		struct cfi_rule offered[UNWIND_CODE_OFFERED_MAX];
	} v[UNWIND_CODE_OPEN_MAX];
};

/* The rule for the newest frame by its code, or CFI_NONE.  *ret_is_final is false when the answer
 * might be another with a longer copy. */
struct cfi_rule unwind_code_rule(struct unwind_walk *w, const struct module *m,
				 bool *ret_is_final);

/* arm64: the CFI of clang before 15, and of compilers based on it, is valid at calls but not in
 * prologues and epilogues.  If the newest frame was interrupted there, the code is more reliable
 * than its plain rule: *rule is replaced. */
void unwind_code_amend(struct unwind_walk *w, const struct module *m, struct cfi_rule *rule);

/* For a stack with one frame and no step: has the process or the thread just started, so that the
 * frame has no caller? */
bool unwind_code_is_start(const struct unwind_walk *w);

/* For a stack that ended because the caller of the last frame, frame n, is in no mapping: was the
 * program's argument count read as a return address, so that the last frame is the root? */
bool unwind_code_is_begun(const struct unwind_walk *w);

/* Does the stack confirm a plain rule for the newest frame, by a return address with a call before
 * it where the rule says? */
bool unwind_code_accepts(struct unwind_walk *w, const struct cfi_rule *rule);

/* The caller's stack pointer of a frame of an interpreter in JIT code of module m, whose frame
 * pointer is fp; 0: it is not such a frame. */
uint64_t unwind_code_interpreter_sp(const struct unwind_walk *w, const struct module *m,
				    uint64_t fp);

/* Does a call precede ra? */
bool unwind_code_is_call(const struct unwind_walk *w, uint64_t ra);

/*
 * Functions that raise exceptions, such as OCaml's, load the stack pointer of the handler's frame
 * and return to the handler, and those that switch between coroutines do the same.  If the newest
 * frame was interrupted there, adds the frame to which its code returns.
 */
bool unwind_code_raise(struct unwind_walk *w);

/* The CFA of the newest frame, which was not interrupted: by its stack pointer and the code from
 * its function's start.  False: unknown. */
bool unwind_code_cfa(struct unwind_walk *w, uint64_t *ret);

#endif
