/*
 * A copy twice as large costs the target half a microsecond to some microseconds
 * per sample, and the ring twice the room; a stack that is cut costs its root.  So
 * the size doubles while more than one stack in fifty ends beyond the copy, as
 * long as a ring lasts long enough for its reader; and it halves, for good, when samples are lost.
 */

#include "recorder/copysize.h"

/* perf_event_open(2): a multiple of 8, below what 16 bits hold. */
#define STACK_BYTES_MAX 65528u
#define STACK_BYTES_MIN 4096u

/* Decide on so many stacks at least: enough to tell 2 % from 0.2 %; and where one in FEW_CUT_SHARE
 * or more is cut, which few can tell as well. */
#define STACKS_PER_DECISION 200u
#define STACKS_FEW 50u
#define FEW_CUT_SHARE 4u

/*
 * A ring has to last so long at the rate of samples that is seen: the reader wakes at a quarter of
 * it, and may be late.  One of a real-time priority is late by no more than what it does itself,
 * which is mostly the opening of files; it reads a thousand samples in 15 ms.
 */
#define RING_MS_MIN 40u
#define RING_MS_MIN_PROMPT 20u

void copysize_init(struct copysize *z, uint32_t bytes, uint64_t ring_bytes, bool is_fixed)
{
	*z = (struct copysize){
		.is_fixed = is_fixed, .bytes = bytes, .max_bytes = STACK_BYTES_MAX,
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
	uint32_t twice = z->bytes < STACK_BYTES_MAX / 2 ? z->bytes * 2 : STACK_BYTES_MAX;
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
