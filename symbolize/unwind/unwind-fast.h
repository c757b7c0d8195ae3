#ifndef CPROF_SYMBOLIZE_UNWIND_UNWIND_FAST_H
#define CPROF_SYMBOLIZE_UNWIND_UNWIND_FAST_H

/* The steps that most stacks consist of.  Only unwind.c uses this. */

#include "symbolize/unwind/unwind-cache.h"
#include "symbolize/unwind/unwind-memo.h"

enum unwind_fast {
	UNWIND_FAST_MET,        /* the newest frame is one of the memo's: s->k is which */
	UNWIND_FAST_ROOT,       /* the newest frame is the outermost one */
	UNWIND_FAST_STUCK,      /* the next step is of another kind, or there is no room for it */
};

/*
 * Takes steps by rules in the cache (with keys from salt) as long as possible.  Frames from stop_sp
 * on may be the memo's; 0: the newest one may be, too.
 */
enum unwind_fast unwind_fast(const struct unwind_cache *by_pc, uint64_t salt,
			     struct unwind_walk *w, struct unwind_sync *s, uint64_t stop_sp);

#endif
