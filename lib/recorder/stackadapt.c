/*
 * The size of stack copies follows copysize.c.  The user's chain of frame pointers, which costs
 * the target some time, is asked for where Go's runtime is seen to work on stacks of its own; there
 * it is the only trace of the goroutine.  One stack in a hundred is reason enough, a few of a whole
 * system's are none.
 */

#include "recorder/stackadapt.h"

#include "base/err.h"
#include "base/log.h"
#include "recorder/recorder-private.h"
#include "source/live/live.h"

#include <sched.h>

#define SWITCHED_MIN 4u
#define SWITCHED_SHARE 100u

static void adapt_size(struct cprof_recorder *r, const struct unwind_stats *st, uint64_t now_ns)
{
	if (r->stacksize.is_fixed)
		return;
	int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
	struct copysize_seen seen = {
		.n_stacks = st->n_stacks, .n_beyond = st->n_end[UNWIND_BEYOND], .time_ns = now_ns,
		.is_prompt = policy == SCHED_FIFO || policy == SCHED_RR,
	};
	for (size_t i = 0; i < r->events.n; i++)
		seen.n_lost += r->engine.event[i].n_lost_records;
	uint32_t bytes = copysize_wanted(&r->stacksize, &seen);
	if (bytes == r->stacksize.bytes)
		return;
	struct err why;
	if (source_set_stack(r->source, bytes, &why) < 0) {
		log_line(r->log, LOG_EXPLAIN, "stack copies stay at %u bytes: %s",
			 r->stacksize.bytes, why.what);
		r->stacksize.is_fixed = true;
		return;
	}
	log_line(r->log, LOG_EXPLAIN, "stack copies: %u bytes instead of %u", bytes,
		 r->stacksize.bytes);
	copysize_changed(&r->stacksize, bytes);
}

static void adapt_chain(struct cprof_recorder *r, const struct unwind_stats *st)
{
	uint64_t n = r->engine.walk.user.go.n_switched;
	struct err why;
	if (r->has_user_chain || n < SWITCHED_MIN || n * SWITCHED_SHARE < st->n_stacks)
		return;
	r->has_user_chain = true;
	if (source_set_user_chain(r->source, &why) < 0)
		log_line(r->log, LOG_EXPLAIN, "stacks of goroutines end where Go's runtime "
			 "switches to its own: %s", why.what);
	else
		log_line(r->log, LOG_EXPLAIN, "chains of frame pointers beside stack copies: Go's "
			 "runtime switches stacks");
}

void stackadapt_step(struct cprof_recorder *r, uint64_t now_ns)
{
	const struct stack_user *u = &r->engine.walk.user;
	const struct unwind_stats *st = u->unwind ? unwind_stats(u->unwind) : NULL;
	if (!st)
		return;
	adapt_size(r, st, now_ns);
	adapt_chain(r, st);
}
