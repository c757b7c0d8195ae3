#ifndef CPROF_SYMBOLIZE_UNWIND_UNWIND_CODE_H
#define CPROF_SYMBOLIZE_UNWIND_UNWIND_CODE_H

/* Rules by the code, for frames without CFI.  Only the unwinder uses this. */

#include "symbolize/unwind/unwind-slow.h"

/* Rules that the code of a place in a file offers and no stack has borne out yet, though one may:
 * what is asked for sample after sample. */
#define UNWIND_CODE_OPEN_MAX 128u
#define UNWIND_CODE_OFFERED_MAX 4u
struct unwind_code_opens {
	struct unwind_code_open {
		uint64_t key;
		uint8_t n_asked, n_offered;
		struct cfi_rule offered[UNWIND_CODE_OFFERED_MAX];
	} v[UNWIND_CODE_OPEN_MAX];
};

/* The rule for the newest frame by its code; CFI_NONE when there is none.  *ret_is_final is false
 * when a longer copy might have given another answer. */
struct cfi_rule unwind_code_rule(struct unwind_walk *w, const struct module *m,
				 bool *ret_is_final);

/* arm64: clang before 15, and what is made of it, tells CFI that holds at calls but not where a
 * frame is made and taken down.  There the code says more than a plain rule by CFI for the newest
 * frame, if that was interrupted; *rule becomes what it says. */
void unwind_code_amend(struct unwind_walk *w, const struct module *m, struct cfi_rule *rule);

/* Of a stack whose only frame could not be left: did the process or the thread just begin, so that
 * there is no caller? */
bool unwind_code_is_start(const struct unwind_walk *w);

/* Of a stack that ended because the last frame's caller, frame n, lies nowhere: was the program's
 * count of arguments taken for its return address, so that the frame is the first one? */
bool unwind_code_is_begun(const struct unwind_walk *w);

/* Does the stack bear out a plain rule for the newest frame: is there a return address, one with a
 * call before it, where the rule says? */
bool unwind_code_accepts(struct unwind_walk *w, const struct cfi_rule *rule);

/* The caller's stack pointer of a frame of an interpreter in JIT code of module m, whose frame
 * pointer is fp; 0: it is not such a frame. */
uint64_t unwind_code_interpreter_sp(const struct unwind_walk *w, const struct module *m,
				    uint64_t fp);

/* Is that a return address: one with a call before it? */
bool unwind_code_is_call(const struct unwind_walk *w, uint64_t ra);

#endif
