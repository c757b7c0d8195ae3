/*
 * A copy twice as large costs the target half a microsecond to some microseconds
 * per sample, and the ring twice the room; a stack that is cut costs its root.  So
 * the size doubles while more than one stack in fifty ends beyond the copy, as
 * long as a ring lasts RING_MS_MIN; and it halves, for good, when samples are lost.
 */

#include "session/stacksize.h"

/* perf_event_open(2): a multiple of 8, below what 16 bits hold. */
#define STACK_BYTES_MAX 65528u
#define STACK_BYTES_MIN 4096u

/* Decide on so many stacks at least: enough to tell 2 % from 0.2 %. */
#define STACKS_PER_DECISION 200u

/* A ring has to last so long at the rate of samples that is seen: the reader wakes at a quarter of
 * it, and may be late. */
#define RING_MS_MIN 40u

void stacksize_init(struct stacksize *z, uint32_t bytes, uint64_t ring_bytes, bool is_fixed)
{
	*z = (struct stacksize){
		.is_fixed = is_fixed, .bytes = bytes, .max_bytes = STACK_BYTES_MAX,
		.ring_bytes = ring_bytes,
	};
}

uint32_t stacksize_wanted(struct stacksize *z, uint64_t n_stacks, uint64_t n_beyond,
			  uint64_t n_lost, uint64_t now_ns)
{
	uint64_t n = n_stacks - z->n_stacks, cut = n_beyond - z->n_beyond;
	bool lost = n_lost > z->n_lost;
	uint64_t ns = now_ns - z->time_ns;
	if (z->is_fixed || (n < STACKS_PER_DECISION && !lost))
		return z->bytes;
	bool first = z->time_ns == 0;
	z->n_stacks = n_stacks;
	z->n_beyond = n_beyond;
	z->n_lost = n_lost;
	z->time_ns = now_ns;
	if (lost && z->bytes > STACK_BYTES_MIN) {
		z->max_bytes = z->bytes / 2 & ~7u;
		return z->max_bytes;
	}
	uint32_t twice = z->bytes < STACK_BYTES_MAX / 2 ? z->bytes * 2 : STACK_BYTES_MAX;
	uint64_t ring_ms = first || !n ? RING_MS_MIN
				       : z->ring_bytes / twice * (ns / 1000) / n / 1000;
	if (cut * 50 <= n || twice > z->max_bytes || ring_ms < RING_MS_MIN)
		return z->bytes;
	return twice;
}

void stacksize_changed(struct stacksize *z, uint32_t bytes)
{
	z->bytes = bytes;
	z->n_changes++;
}
