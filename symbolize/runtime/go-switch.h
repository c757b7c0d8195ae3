#ifndef CPROF_SYMBOLIZE_RUNTIME_GO_SWITCH_H
#define CPROF_SYMBOLIZE_RUNTIME_GO_SWITCH_H

/*
 * Who called a function of Go's runtime that has gone to another stack (UNWIND_FRAME_SWITCH), where
 * the chain of frame pointers tells the return addresses further out.
 */

#include "symbolize/cfi/cfi-entry.h"
#include "symbolize/runtime/module.h"

enum go_switch {
	GO_SWITCH_DENIED,       /* what is further out cannot have led there */
	GO_SWITCH_NEXT,         /* the return address is behind a call of the function itself */
	GO_SWITCH_BETWEEN,      /* its caller is missing: *ret_ra is its return address there */
};

/*
 * All are addresses in the process.  at: in the function that has switched; called_at: in the one
 * that it has called, 0: none; ra: the innermost return address that the chain tells.  Not for
 * every sample: reads code from the files.
 */
enum go_switch go_switch_caller(const struct arch *arch, module_find *find_module, void *ctx,
				uint64_t at, uint64_t called_at, uint64_t ra, uint64_t *ret_ra);

/* What lies at a return address further out. */
enum go_switch_outer {
	GO_SWITCH_NO_CALL,      /* it is none: nothing was called before it */
	GO_SWITCH_CALL,
	GO_SWITCH_ROOT,         /* in the outermost frame */
};
enum go_switch_outer go_switch_outer(const struct arch *arch, module_find *find_module,
				     void *ctx, uint64_t ra);

#endif
