#ifndef CPROF_SYMBOLIZE_UNWIND_UNWIND_JIT_H
#define CPROF_SYMBOLIZE_UNWIND_UNWIND_JIT_H

/* Rules for code that a process has made itself.  Only the unwinder uses this. */

#include "symbolize/cfi/cfi-code.h"
#include "symbolize/unwind/unwind-slow.h"

/* The rule for the newest frame, which runs such code; CFI_NONE: by the frame pointer.  *is_open is
 * what code->accept sets when a longer copy might have had it accept a rule; *ret_is_final as
 * in unwind_code_rule. */
struct cfi_rule unwind_jit_rule(struct unwind_walk *w, const struct module *m,
				 const struct cfi_code *code, const bool *is_open,
				 bool *ret_is_final);

#endif
