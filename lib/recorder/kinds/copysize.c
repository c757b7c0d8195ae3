/*
 * A copy twice as large costs the target half a microsecond to some microseconds per sample, and
 * twice the room in the ring; a truncated stack costs its root.  So the wanted size doubles while
 * more than one stack in fifty ends beyond the copy.  Each ring follows as far as it can.
 *
 * The user's chain of frame pointers, which costs the target some time, is requested once Go's
 * runtime is seen to work on stacks of its own, where it is the only trace of the goroutine.  One
 * stack in a hundred is reason enough; a few in a whole system are not.
 */

#include "recorder/kinds/copysize.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "engine/engine.h"
#include "source/source.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

/* Decisions need at least this many stacks, enough to distinguish 2 % from 0.2 %.  STACKS_FEW
 * suffice if one in FEW_CUT_SHARE or more is truncated. */
#define STACKS_PER_DECISION 200u
#define STACKS_FEW 50u
#define FEW_CUT_SHARE 4u

/* All rings are looked at once in this time. */
#define STEP_NS 10000000u
/* To reopen a ring's events takes some dozen us, in which nothing is read: with hundreds of rings,
 * a step ends after this time, and the next one goes on. */
#define CHANGES_NS 4000000u

/* While the scope changes, or threads are born too fast, copies stay as they are. */
#define BUSY_NS 200000000u

/* Request the chain once Go's runtime has switched at least this many stacks, and at least one
 * stack in this many. */
#define SWITCHED_MIN 4u
#define SWITCHED_SHARE 100u

void copysize_init(struct copysize *z, uint32_t bytes, bool is_fixed)
{
	*z = (struct copysize){
		.is_fixed = is_fixed, .wanted = bytes, .bytes_min = bytes, .bytes_max = bytes,
	};
}

void copysize_done(struct copysize *z)
{
	free(z->ring);
	z->ring = NULL;
	z->n_rings = 0;
}

uint32_t copysize_need(struct copysize *z, const struct copysize_seen *now)
{
	uint64_t n = now->n_stacks - z->last.n_stacks, cut = now->n_beyond - z->last.n_beyond;
	if (n < STACKS_PER_DECISION && !(n >= STACKS_FEW && cut * FEW_CUT_SHARE >= n))
		return z->wanted;
	z->last = *now;
	/* Nobody knows yet what the wanted size would do. */
	if (cut * 50 <= n || z->bytes_max < z->wanted)
		return z->wanted;
	z->wanted = z->wanted < COPYSIZE_BYTES_MAX / 2 ? z->wanted * 2 : COPYSIZE_BYTES_MAX;
	return z->wanted;
}

/* ---- rings ----------------------------------------------------------------------- */

static bool make_rings(struct copysize *z, struct source *s)
{
	struct source_ring ring;
	size_t n = 0;
	if (z->ring)
		return true;
	while (source_ring(s, n, &ring))
		n++;
	z->ring = n ? calloc(n, sizeof(*z->ring)) : NULL;
	if (!z->ring)
		return false;
	z->n_rings = n;
	for (size_t i = 0; i < n; i++)
		z->ring[i].bytes = z->wanted;
	return true;
}

static bool is_prompt(void)
{
	int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

static const char *reason(enum copyring_why why)
{
	return why == COPYRING_LOST ? "samples were lost" :
	       why == COPYRING_FULL ? "the ring was nearly full" : "stacks are longer";
}

/* The ring becomes so many times as large, or twice. */
static void grow_ring(struct copysize *z, struct source *s, size_t i,
		      const struct source_ring *seen, uint64_t times, const struct log *log,
		      uint64_t now_ns)
{
	struct copyring *c = &z->ring[i];
	struct err e;
	int r = -ENOSPC;
	for (; times > 1 && r == -ENOSPC; times /= 2)
		if (seen->size_bytes * times <= COPYRING_RING_BYTES_MAX)
			r = source_grow_ring(s, i, seen->size_bytes * times, &e);
	c->is_grown = r == -ENOSPC;
	c->grows_until_ns = r == 0 ? now_ns + BUSY_NS : 0;
	if (r < 0 && r != -ENOSPC && r != -EAGAIN) {
		log_line(log, LOG_EXPLAIN, "rings stay as they are: %s", e.what);
		z->has_fixed_rings = true;
	}
}

static void note_size(struct copyring *c, const struct source_ring *seen, const struct log *log,
		      uint64_t now_ns)
{
	if (c->size_bytes && c->size_bytes != seen->size_bytes) {
		log_line(log, LOG_EXPLAIN, "ring of CPU %d: %llu KiB instead of %llu", seen->cpu,
			 (unsigned long long)seen->size_bytes / 1024,
			 (unsigned long long)c->size_bytes / 1024);
		copyring_relieved(c, seen, now_ns);
		c->grows_until_ns = 0;
	}
	c->size_bytes = seen->size_bytes;
}

static void change_copies(struct copysize *z, struct source *s, size_t i,
			  const struct source_ring *seen, enum copyring_why why, uint32_t bytes,
			  const struct log *log, uint64_t now_ns)
{
	struct copyring *c = &z->ring[i];
	struct err e;
	int r = source_set_stack(s, i, bytes, &e);
	if (r == -EAGAIN) {
		z->due_ns = now_ns + BUSY_NS;
		return;
	}
	if (r < 0) {
		log_line(log, LOG_EXPLAIN, "stack copies stay at %u bytes: %s", c->bytes, e.what);
		z->is_fixed = true;
		return;
	}
	log_line(log, LOG_EXPLAIN, "stack copies on CPU %d: %u bytes instead of %u: %s", seen->cpu,
		 bytes, c->bytes, reason(why));
	z->n_cuts += bytes < c->bytes;
	copyring_changed(c, seen, now_ns, bytes);
}

static void adapt_ring(struct copysize *z, struct source *s, size_t i, bool prompt,
		       const struct log *log, uint64_t now_ns)
{
	struct copyring *c = &z->ring[i];
	struct source_ring seen;
	uint32_t bytes;
	if (!source_ring(s, i, &seen))
		return;
	note_size(c, &seen, log, now_ns);
	enum copyring_why why = copyring_look(c, &seen, now_ns, z->is_fixed ? c->bytes : z->wanted,
					      prompt, &bytes);
	if (now_ns < c->grows_until_ns)
		return;
	if (!z->is_fixed && bytes != c->bytes)
		change_copies(z, s, i, &seen, why, bytes, log, now_ns);
	/* The smaller copies make do until the ring is larger. */
	if (why != COPYRING_STAYS && why != COPYRING_GROWS && !z->has_fixed_rings && !c->is_grown)
		grow_ring(z, s, i, &seen, why == COPYRING_BRIEF ? 2 : 4, log, now_ns);
}

static void adapt_rings(struct copysize *z, struct source *s, const struct log *log,
			uint64_t now_ns)
{
	bool prompt = is_prompt();
	for (size_t i = 0; i < z->n_rings; i++) {
		const struct copyring *c = &z->ring[z->next];
		uint32_t bytes = c->bytes;
		adapt_ring(z, s, z->next, prompt, log, now_ns);
		z->next = z->next + 1 < z->n_rings ? z->next + 1 : 0;
		if (c->bytes != bytes && clock_monotonic_ns() - now_ns > CHANGES_NS)
			return;
	}
}

/* With more readers, what the rings could not carry before is of no meaning. */
static void note_readers(struct copysize *z, struct source *s, uint32_t n_readers, uint64_t now_ns)
{
	bool is_more = n_readers > z->n_readers && z->n_readers;
	z->n_readers = n_readers;
	for (size_t i = 0; is_more && i < z->n_rings; i++) {
		struct source_ring seen;
		if (source_ring(s, i, &seen))
			copyring_relieved(&z->ring[i], &seen, now_ns);
	}
}

static void adapt_size(struct copysize *z, struct source *s, const struct unwound *all,
		       uint32_t n_readers, const struct log *log)
{
	const struct copysize_seen seen = { all->n_stacks, all->n_beyond };
	uint64_t now_ns = clock_monotonic_ns();
	if ((z->is_fixed && z->has_fixed_rings) || !make_rings(z, s))
		return;
	note_readers(z, s, n_readers, now_ns);
	if (now_ns < z->due_ns)
		return;
	z->due_ns = now_ns + STEP_NS;
	if (!z->is_fixed)
		copysize_need(z, &seen);
	adapt_rings(z, s, log, now_ns);
	z->bytes_min = z->bytes_max = z->ring[0].bytes;
	for (size_t i = 1; i < z->n_rings; i++) {
		uint32_t bytes = z->ring[i].bytes;
		z->bytes_min = bytes < z->bytes_min ? bytes : z->bytes_min;
		z->bytes_max = bytes > z->bytes_max ? bytes : z->bytes_max;
	}
}

static void adapt_chain(struct copysize *z, struct source *s, const struct unwound *all,
			const struct log *log)
{
	uint64_t n = all->n_switched;
	struct err why;
	if (z->has_chain || n < SWITCHED_MIN || n * SWITCHED_SHARE < all->n_stacks)
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
		   uint32_t n_readers, const struct log *log)
{
	const struct unwound all = unwound_by(g);
	adapt_size(z, s, &all, n_readers, log);
	if (g->walk.user.unwind)
		adapt_chain(z, s, &all, log);
}
