#ifndef CPROF_SYMBOLIZE_UNWIND_UNWIND_JIT_H
#define CPROF_SYMBOLIZE_UNWIND_UNWIND_JIT_H

/* Rules for JIT code.  Only the unwinder uses this. */

#include "symbolize/cfi/cfi-code.h"
#include "symbolize/unwind/unwind-slow.h"

/* The rule for the newest frame, which runs JIT code; CFI_NONE: by the frame pointer.
 * code->accept sets *is_open when it might have accepted a rule with a longer copy; *ret_is_final
 * is as in unwind_code_rule. */
struct cfi_rule unwind_jit_rule(struct unwind_walk *w, const struct module *m,
				const struct cfi_code *code, const bool *is_open,
				bool *ret_is_final);

#endif
