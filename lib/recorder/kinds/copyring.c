/*
 * Back-off: when samples are lost, or the ring was nearly full, the copies halve.  That holds for
 * an eighth of a second, and twice as long each time it happens again, so that a ring which cannot
 * carry more does not lose samples over and over.
 *
 * Growth: the copies double when the ring would have carried the larger ones in the last seconds.
 * What was in the ring when its reader came, on top of what wakes the reader, shows how late it
 * was, in records.  As many larger records must fit beside what wakes it, and one more.  Moreover
 * the ring must last a while at the rate of its bytes, unless these are so few that the copying
 * costs the target next to nothing.
 */

#include "recorder/kinds/copyring.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

/* Registers, ids and the kernel's callchain beside the copy. */
#define RECORD_BYTES 768u

/* Records of the old size are still in the ring after a change, and the reader is late by it. */
#define SETTLE_NS (50 * MS)
/* Then the ring is observed for this long before the copies grow. */
#define OBSERVE_NS (50 * MS)

#define HOLD_NS_MIN (SECOND / 8)
#define HOLD_NS_MAX (64 * SECOND)
/* A ring without trouble for this many times the hold, but at least so long, begins anew. */
#define FORGET 8u
#define FORGET_NS_MIN (4 * SECOND)

/*
 * A ring must last this long at the observed rate: its reader wakes when a part of it is full, and
 * may be late.  A reader with a real-time priority is late only by its own work, mostly opening
 * files; it reads a thousand samples in 15 ms.
 */
#define RING_NS_MIN (40 * MS)
#define RING_NS_MIN_PROMPT (20 * MS)
/* A ring that lasts this long needs few wake-ups. */
#define RING_NS_WANTED (50 * MS)
/* 64 KiB at the default rate: below one percent of a CPU. */
#define BYTES_PER_S_CHEAP (80u << 20)

static uint64_t record_bytes(uint32_t copy_bytes)
{
	return (uint64_t)copy_bytes + RECORD_BYTES;
}

static uint64_t nearly_full(const struct source_ring *seen)
{
	return seen->size_bytes / 4 * 3;
}

static void begin_second(struct copyring *c, const struct source_ring *seen, uint64_t now_ns)
{
	c->now = (struct copyring_second){ .from_ns = now_ns, .taken_bytes = seen->taken_bytes };
}

static void note_second(struct copyring *c, const struct source_ring *seen, uint64_t now_ns)
{
	if (seen->peak_bytes > c->now.peak_bytes)
		c->now.peak_bytes = seen->peak_bytes;
	if (now_ns - c->now.from_ns < SECOND)
		return;
	c->before = c->now;
	c->before.taken_bytes = seen->taken_bytes - c->now.taken_bytes;
	c->before.ns = now_ns - c->now.from_ns;
	begin_second(c, seen, now_ns);
}

static uint64_t per_second(uint64_t n_bytes, uint64_t ns)
{
	return ns ? (uint64_t)((double)n_bytes * (double)SECOND / (double)ns) : 0;
}

/* The higher rate of the last two seconds. */
static uint64_t bytes_per_s(const struct copyring *c, const struct source_ring *seen,
			    uint64_t now_ns)
{
	uint64_t before = per_second(c->before.taken_bytes, c->before.ns);
	uint64_t now = per_second(seen->taken_bytes - c->now.taken_bytes,
				  now_ns - c->now.from_ns);
	return now > before ? now : before;
}

static bool is_observed(const struct copyring *c, uint64_t now_ns)
{
	return c->before.ns || now_ns - c->now.from_ns >= OBSERVE_NS;
}

/* Would the ring have carried copies of this size? */
static bool is_carried(const struct copyring *c, const struct source_ring *seen, uint64_t now_ns,
		       uint32_t bytes, bool is_prompt)
{
	uint64_t old = record_bytes(c->bytes), new = record_bytes(bytes);
	uint64_t peak = c->now.peak_bytes > c->before.peak_bytes ? c->now.peak_bytes
								  : c->before.peak_bytes;
	uint64_t wakeup = seen->wakeup_bytes;
	uint64_t n_late = peak > wakeup ? (peak - wakeup) / old : 0;
	uint64_t n_batch = (wakeup + new - 1) / new;
	if ((n_batch + n_late) * new > nearly_full(seen) ||
	    (n_batch + n_late + 1) * new > seen->size_bytes)
		return false;
	uint64_t rate = bytes_per_s(c, seen, now_ns) / old * new;
	uint64_t ns_min = is_prompt ? RING_NS_MIN_PROMPT : RING_NS_MIN;
	return rate <= BYTES_PER_S_CHEAP ||
	       (double)seen->size_bytes * (double)SECOND >= (double)rate * (double)ns_min;
}

/* Would the largest ring? */
static bool is_short(const struct copyring *c, const struct source_ring *seen, uint64_t now_ns,
		     uint32_t bytes, bool is_prompt)
{
	struct source_ring larger = *seen;
	larger.size_bytes = COPYRING_RING_BYTES_MAX;
	larger.wakeup_bytes = COPYRING_RING_BYTES_MAX / 2;
	return larger.size_bytes > seen->size_bytes &&
	       is_carried(c, &larger, now_ns, bytes, is_prompt);
}

/*
 * Each wake-up of the reader costs some dozen us, and CPU caches are cold after it.  With a ring of
 * 16 MiB instead of 8, recording clang at 5 kHz took 5 % less CPU time, with one of 32 MiB no less
 * than with 16 (tests/bench/RESULTS.md).  Only a ring whose reader wakes up at a half is for a rate
 * that is known: at others, growing itself may take too long.
 */
static bool is_brief(const struct copyring *c, const struct source_ring *seen, uint64_t now_ns)
{
	bool is_known = (c->before.ns || now_ns - c->now.from_ns >= SECOND / 2) &&
			seen->wakeup_bytes >= seen->size_bytes / 2;
	bool is_fair = !seen->share_bytes || 2 * seen->size_bytes <= seen->share_bytes;
	double ns = (double)seen->size_bytes * (double)SECOND /
		    ((double)bytes_per_s(c, seen, now_ns) + 1);
	/* while it grows, the copies do not shrink: it must have a reserve */
	return is_known && is_fair && 2 * seen->size_bytes <= COPYRING_RING_BYTES_MAX &&
	       ns < (double)RING_NS_WANTED && ns >= (double)RING_NS_MIN_PROMPT;
}

static uint32_t half_of(uint32_t bytes)
{
	uint32_t half = (bytes + 8) / 2 & ~7u;  /* of 65528, too, a power of two */
	return half > COPYRING_BYTES_MIN ? half : COPYRING_BYTES_MIN;
}

static void hold(struct copyring *c, uint64_t now_ns)
{
	uint64_t forget_ns = FORGET * c->hold_ns > FORGET_NS_MIN ? FORGET * c->hold_ns
								 : FORGET_NS_MIN;
	bool is_new = !c->hold_ns || now_ns - c->hold_until_ns > forget_ns;
	if (now_ns < c->hold_until_ns)
		is_new = false;
	c->hold_ns = is_new ? HOLD_NS_MIN : c->hold_ns * 2;
	if (c->hold_ns > HOLD_NS_MAX)
		c->hold_ns = HOLD_NS_MAX;
	c->hold_until_ns = now_ns + c->hold_ns;
}

enum copyring_why copyring_look(struct copyring *c, const struct source_ring *seen, uint64_t now_ns,
				uint32_t wanted, bool is_prompt, uint32_t *ret_bytes)
{
	*ret_bytes = c->bytes;
	bool lost = seen->n_lost > c->n_lost;
	c->n_lost = seen->n_lost;
	if (!c->changed_ns) {
		c->changed_ns = now_ns;
		begin_second(c, seen, now_ns);
	}
	if (now_ns - c->changed_ns < SETTLE_NS) {
		begin_second(c, seen, now_ns);
		return COPYRING_STAYS;
	}
	note_second(c, seen, now_ns);
	bool full = seen->peak_bytes > nearly_full(seen);
	if (lost || full) {
		hold(c, now_ns);
		if (c->bytes > COPYRING_BYTES_MIN)
			*ret_bytes = half_of(c->bytes);
		return lost ? COPYRING_LOST : COPYRING_FULL;
	}
	uint32_t twice = c->bytes < wanted / 2 ? c->bytes * 2 : wanted;
	if (c->bytes >= wanted)
		return is_brief(c, seen, now_ns) ? COPYRING_BRIEF : COPYRING_STAYS;
	if (!is_observed(c, now_ns))
		return COPYRING_STAYS;
	if (!is_carried(c, seen, now_ns, twice, is_prompt))
		return is_short(c, seen, now_ns, twice, is_prompt) ? COPYRING_SHORT
								   : COPYRING_STAYS;
	if (now_ns < c->hold_until_ns)
		return COPYRING_STAYS;
	*ret_bytes = twice;
	return COPYRING_GROWS;
}

void copyring_relieved(struct copyring *c, const struct source_ring *seen, uint64_t now_ns)
{
	c->hold_ns = 0;
	c->hold_until_ns = now_ns;
	c->n_lost = seen->n_lost;
	copyring_changed(c, seen, now_ns, c->bytes);
}

void copyring_changed(struct copyring *c, const struct source_ring *seen, uint64_t now_ns,
		      uint32_t bytes)
{
	/* What was measured with copies of another size does not count any more. */
	c->bytes = bytes;
	c->changed_ns = now_ns;
	c->before = (struct copyring_second){ .ns = 0 };
	begin_second(c, seen, now_ns);
}
