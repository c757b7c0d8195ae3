#ifndef CPROF_SYMBOLIZE_RUNTIME_UNWIND_GO_H
#define CPROF_SYMBOLIZE_RUNTIME_UNWIND_GO_H

/*
 * Who called a function of Go's runtime that has gone to another stack (UNWIND_FRAME_SWITCH), where
 * the chain of frame pointers tells the return addresses further out.
 */

#include "symbolize/unwind/unwind.h"

enum unwind_go {
	UNWIND_GO_DENIED,       /* what is further out cannot have led there */
	UNWIND_GO_NEXT,         /* the return address is behind a call of the function itself */
	UNWIND_GO_BETWEEN,      /* its caller is missing: *ret_ra is its return address there */
};

/*
 * All are addresses in the process.  at: in the function that has switched; called_at: in the one
 * that it has called, 0: none; ra: the innermost return address that the chain tells.  Not for
 * every sample: reads code from the files.
 */
enum unwind_go unwind_go_caller(enum cfi_arch arch, unwind_find_module *find_module, void *ctx,
				uint64_t at, uint64_t called_at, uint64_t ra, uint64_t *ret_ra);

/* What lies at a return address further out. */
enum unwind_go_outer {
	UNWIND_GO_NO_CALL,      /* it is none: nothing was called before it */
	UNWIND_GO_CALL,
	UNWIND_GO_ROOT,         /* in the outermost frame */
};
enum unwind_go_outer unwind_go_outer(enum cfi_arch arch, unwind_find_module *find_module,
				     void *ctx, uint64_t ra);

#endif
