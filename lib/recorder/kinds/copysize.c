/*
 * A copy twice as large costs the target half a microsecond to some microseconds per sample, and
 * twice the room in the ring; a truncated stack costs its root.  So the size doubles while more
 * than one stack in fifty ends beyond the copy, as long as a ring lasts long enough for its
 * reader.  It halves, permanently, when samples are lost.
 *
 * The user's chain of frame pointers, which costs the target some time, is requested once Go's
 * runtime is seen to work on stacks of its own, where it is the only trace of the goroutine.  One
 * stack in a hundred is reason enough; a few in a whole system are not.
 */

#include "recorder/kinds/copysize.h"

#include "base/err.h"
#include "base/log.h"
#include "engine/engine.h"
#include "source/source.h"

#include <sched.h>

#define STACK_BYTES_MIN 4096u

/* Decisions need at least this many stacks, enough to distinguish 2 % from 0.2 %.  STACKS_FEW
 * suffice if one in FEW_CUT_SHARE or more is truncated. */
#define STACKS_PER_DECISION 200u
#define STACKS_FEW 50u
#define FEW_CUT_SHARE 4u

/*
 * A ring must last this long at the observed sample rate: its reader wakes when a quarter is full,
 * and may be late.  A reader with a real-time priority is late only by its own work, mostly opening
 * files; it reads a thousand samples in 15 ms.
 */
#define RING_MS_MIN 40u
#define RING_MS_MIN_PROMPT 20u

/* Request the chain once Go's runtime has switched at least this many stacks, and at least one
 * stack in this many. */
#define SWITCHED_MIN 4u
#define SWITCHED_SHARE 100u

void copysize_init(struct copysize *z, uint32_t bytes, uint64_t ring_bytes, bool is_fixed)
{
	*z = (struct copysize){
		.is_fixed = is_fixed, .bytes = bytes, .max_bytes = COPYSIZE_BYTES_MAX,
		.ring_bytes = ring_bytes,
	};
}

static uint64_t ring_ms(const struct copysize *z, uint32_t bytes, uint64_t n, uint64_t ns)
{
	return z->ring_bytes / bytes * (ns / 1000) / (n ? n : 1) / 1000;
}

uint32_t copysize_wanted(struct copysize *z, const struct copysize_seen *now)
{
	if (!z->last.time_ns)
		z->last.time_ns = now->time_ns;
	uint64_t n = now->n_stacks - z->last.n_stacks, cut = now->n_beyond - z->last.n_beyond;
	uint64_t ns = now->time_ns - z->last.time_ns;
	bool lost = now->n_lost > z->last.n_lost;
	bool is_enough = n >= STACKS_PER_DECISION || (n >= STACKS_FEW && cut * FEW_CUT_SHARE >= n);
	if (z->is_fixed || (!is_enough && !lost))
		return z->bytes;
	z->last = *now;
	if (lost && z->bytes > STACK_BYTES_MIN) {
		z->max_bytes = z->bytes / 2 & ~7u;
		return z->max_bytes;
	}
	uint32_t twice = z->bytes < COPYSIZE_BYTES_MAX / 2 ? z->bytes * 2 : COPYSIZE_BYTES_MAX;
	if (cut * 50 <= n || twice > z->max_bytes ||
	    ring_ms(z, twice, n, ns) < (now->is_prompt ? RING_MS_MIN_PROMPT : RING_MS_MIN))
		return z->bytes;
	return twice;
}

void copysize_changed(struct copysize *z, uint32_t bytes)
{
	z->bytes = bytes;
	z->n_changes++;
}

static void adapt_size(struct copysize *z, struct source *s, const struct engine *g,
		       const struct unwind_stats *st, const struct log *log, uint64_t now_ns)
{
	if (z->is_fixed)
		return;
	int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
	struct copysize_seen seen = {
		.n_stacks = st->n_stacks, .n_beyond = st->n_end[UNWIND_BEYOND], .time_ns = now_ns,
		.is_prompt = policy == SCHED_FIFO || policy == SCHED_RR,
	};
	for (size_t i = 0; i < g->options.n_events; i++)
		seen.n_lost += g->event[i].n_lost_records;
	uint32_t bytes = copysize_wanted(z, &seen);
	if (bytes == z->bytes)
		return;
	struct err why;
	if (source_set_stack(s, bytes, &why) < 0) {
		log_line(log, LOG_EXPLAIN, "stack copies stay at %u bytes: %s", z->bytes,
			 why.what);
		z->is_fixed = true;
		return;
	}
	log_line(log, LOG_EXPLAIN, "stack copies: %u bytes instead of %u", bytes, z->bytes);
	copysize_changed(z, bytes);
}

static void adapt_chain(struct copysize *z, struct source *s, const struct engine *g,
			const struct unwind_stats *st, const struct log *log)
{
	uint64_t n = g->walk.user.outer.n_switched;
	struct err why;
	if (z->has_chain || n < SWITCHED_MIN || n * SWITCHED_SHARE < st->n_stacks)
		return;
	z->has_chain = true;
	if (source_set_user_chain(s, &why) < 0)
		log_line(log, LOG_EXPLAIN, "stacks end where a language runtime switches "
			 "stacks: %s", why.what);
	else
		log_line(log, LOG_EXPLAIN, "frame-pointer callchains beside stack copies: a "
			 "language runtime switches stacks");
}

void copysize_step(struct copysize *z, struct source *s, const struct engine *g,
		   const struct log *log, uint64_t now_ns)
{
	const struct stack_user *u = &g->walk.user;
	const struct unwind_stats *st = u->unwind ? unwind_stats(u->unwind) : NULL;
	if (!st)
		return;
	adapt_size(z, s, g, st, log, now_ns);
	adapt_chain(z, s, g, st, log);
}
