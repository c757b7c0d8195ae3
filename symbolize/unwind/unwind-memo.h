#ifndef CPROF_SYMBOLIZE_UNWIND_UNWIND_MEMO_H
#define CPROF_SYMBOLIZE_UNWIND_UNWIND_MEMO_H

/* The thread's previous stack while a new one is unwound.  Only unwind.c and unwind-fast.c use
 * this; the last two functions are also for modules that join stacks. */

#include "symbolize/unwind/unwind-slow.h"

#define UNWIND_AHEAD_BYTES_MAX 4096u

/* The memo while a stack is unwound. */
struct unwind_sync {
	const struct unwind_frame *m;   /* outermost first */
	int64_t k;                      /* m[k] is the newest frame, or may be the next one */
	/* Frames from .. n_met - 1 equal memo frames without a gap, the last of them m[k_met]. */
	uint32_t from, n_met;
	int64_t k_met;
	uint32_t n_joined;
	uint64_t walked_sp;             /* of the last frame that was not taken from the memo */
	bool is_whole;                  /* joined to the outermost frame that there is */
};

/* The newest frame equals m[k]: copies outer frames as long as their slots are unchanged.  True:
 * the copy of the stack ended, and the rest was joined. */
bool unwind_memo_reuse(struct unwind_sync *s, struct unwind_walk *w);

/* The step from the newest frame led beyond the copy.  If the memo has a frame at that CFA that is
 * the caller of the same function, joins that frame and all outer ones. */
bool unwind_memo_cut(struct unwind_sync *s, struct unwind_walk *w, uint32_t n_memo);

/* Decides what the memo holds from now on, and sets n_same and is_kept of *ret. */
void unwind_memo_update(struct unwind_memo *m, const struct unwind_walk *w,
			const struct unwind_sync *s, uint64_t space, struct unwind_result *ret);

/* The index in caller_id of the frame at stack pointer cfa, in a memo of the same space, if that
 * frame called the function that contains pc; else -1. */
int64_t unwind_memo_caller(const struct unwind_memo *m, module_find *find_module, void *ctx,
			   uint64_t pc, uint64_t cfa);

/* Does the memo have a frame that called the function that contains pc, returning to ra? */
bool unwind_memo_has_call(const struct unwind_memo *m, module_find *find_module, void *ctx,
			  uint64_t pc, uint64_t ra);

#endif
