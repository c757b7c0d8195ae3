/*
 * Several readers of the same rings.  Each reads the headers in a part of the rings, and then goes
 * through the round for itself: it decodes the side band and the samples of its own threads, and
 * never touches those of others.  So all see the side band in its place among the samples, no
 * reader waits for another, and what a thread did on any CPU is seen by one reader.
 *
 * Tried and rejected: a part of the rings for each reader.  Then the side band of each must be
 * handed to all others before they may go on, and a thread that changes CPUs loses its memo, and
 * the outer parts of stacks that are joined by it.
 *
 * A ring is released up to where its last reader is.
 */

#include "source/live/livereaders.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

static struct live_reader *reader_at(const struct live *l, uint32_t i)
{
	return i ? &l->other[i - 1] : (struct live_reader *)&l->first;
}

/* Adds up what the others have counted since the last round. */
static void add_counters(struct live *l)
{
	struct source_losses *sum = &l->source.losses;
	*sum = l->first.losses;
	sum->n_out_of_order = l->round.n_out_of_order;
	for (uint32_t i = 1; i < l->n_readers; i++) {
		struct live_reader *v = reader_at(l, i);
		sum->n_undecodable += v->losses.n_undecodable;
		sum->n_unknown += v->losses.n_unknown;
		sum->n_unassigned += v->losses.n_unassigned;
		l->first.n_samples += v->n_samples;
		l->first.n_chain_entries += v->n_chain_entries;
		l->first.n_stack_bytes += v->n_stack_bytes;
		v->n_samples = v->n_chain_entries = v->n_stack_bytes = 0;
	}
}

static void reader_done(struct live_reader *v)
{
	merge_done(&v->merge);
	livegroup_done(&v->group);
	VEC_FREE(&v->shared);
}

void livereaders_done(struct live *l)
{
	for (uint32_t i = 1; i < l->n_readers; i++)
		reader_done(reader_at(l, i));
	free(l->other);
	l->other = NULL;
	l->n_readers = 0;
	l->round.divide = NULL;
	divide_done(&l->divide);
	l->first.merge.n_readers = 1;
	l->first.merge.skips = NULL;
	for (size_t i = 0; i < l->round.n_rings; i++)
		ring_share(l->round.ring[i].ring, NULL);
}

/* An exiting task has no ids: the engine knows whose it is. */
static bool is_of_other(void *ctx, uint32_t tid)
{
	struct live_reader *v = ctx;
	if (tid == UINT32_MAX)
		return false;
	if (tid != v->last_tid) {
		v->last_tid = tid;
		v->last_is_other = divide_reader(v->merge.round->divide, tid) != v->index;
	}
	return v->last_is_other;
}

static void set_merge(const struct live *l, struct live_reader *v, uint32_t n)
{
	struct merge *m = &v->merge;
	m->reader = v->index;
	m->n_readers = n;
	m->skips = l->all_samples ? NULL : is_of_other;
	m->skips_ctx = v;
	m->place = l->first.merge.place;
}

/* What a number of readers needs, before anything changes. */
struct readers_next {
	uint32_t n_kept, n;            /* readers, and those of them that there are already */
	struct live_reader *other;     /* n - 1; the first n_kept - 1 are empty */
	struct ring_share **share;     /* one per ring */
	size_t n_rings;
};

static void next_done(struct readers_next *next)
{
	for (uint32_t i = next->n_kept; next->other && i < next->n; i++)
		reader_done(&next->other[i - 1]);
	free(next->other);
	for (size_t i = 0; next->share && i < next->n_rings; i++)
		free(next->share[i]);
	free(next->share);
}

static int next_init(struct readers_next *next, struct live *l, uint32_t n_kept, uint32_t n)
{
	*next = (struct readers_next){ .n_kept = n_kept, .n = n,
					.n_rings = l->round.n_rings };
	next->other = calloc(n - 1, sizeof(*next->other));
	next->share = calloc(next->n_rings ? next->n_rings : 1, sizeof(*next->share));
	if (!next->other || !next->share)
		return -ENOMEM;
	for (size_t i = 0; i < next->n_rings; i++) {
		next->share[i] = ring_share_new(l->round.ring[i].ring, n);
		if (!next->share[i])
			return -ENOMEM;
	}
	for (uint32_t i = n_kept; i < n; i++) {
		next->other[i - 1].index = i;
		if (merge_init(&next->other[i - 1].merge, &l->round) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void use_next(struct live *l, struct readers_next *next)
{
	for (uint32_t i = 1; i < next->n_kept; i++)
		next->other[i - 1] = l->other[i - 1];
	free(l->other);
	l->other = next->other;
	l->n_readers = next->n;
	l->round.divide = &l->divide;
	for (uint32_t i = 0; i < next->n; i++)
		set_merge(l, reader_at(l, i), next->n);
	for (size_t i = 0; i < next->n_rings; i++)
		ring_share(l->round.ring[i].ring, next->share[i]);
	free(next->share);
}

/* No reader keeps what it had. */
static int begin_anew(struct live *l, uint32_t n)
{
	struct divide divide;
	if (divide_init(&divide, n) < 0)
		return -ENOMEM;
	add_counters(l);
	/* What the others have counted remains. */
	l->first.losses = l->source.losses;
	livereaders_done(l);
	l->divide = divide;
	l->first.n_noted = l->first.n_samples;
	l->all_samples = false;
	for (size_t i = 0; i < l->options.n_events; i++)
		l->all_samples |= (l->event[i].attr.sample_type & PERF_SAMPLE_READ) != 0;
	return 0;
}

static int set_readers(struct source *s, uint32_t n, struct err *e)
{
	struct live *l = (struct live *)s;
	struct readers_next next;
	if (n < 2) {
		add_counters(l);
		l->first.losses = l->source.losses;
		livereaders_done(l);
		return 0;
	}
	bool grows = l->n_readers >= 2 && n > l->n_readers;
	int r = next_init(&next, l, grows ? l->n_readers : 1, n);
	if (r == 0)
		r = grows ? divide_grow(&l->divide, n) : begin_anew(l, n);
	if (r < 0) {
		next_done(&next);
		return err_errno(e, ENOMEM, "cannot set up %u reader%s", n, units_s(n));
	}
	use_next(l, &next);
	return 0;
}

static uint64_t begin_round(struct source *s)
{
	struct live *l = (struct live *)s;
	return round_begin(&l->round);
}

static void scan_part(struct source *s, uint32_t reader)
{
	struct live *l = (struct live *)s;
	round_scan(&l->round, reader, l->n_readers);
}

static void plan_round(struct source *s)
{
	struct live *l = (struct live *)s;
	for (size_t i = 0; i < l->round.n_rings; i++) {
		const struct round_ring *r = &l->round.ring[i];
		for (size_t k = 0; k < r->fresh.n; k++)
			divide_add(&l->divide, r->fresh.v[k].tid, r->fresh.v[k].n);
	}
}

static void begin_reading(struct source *s, uint32_t reader)
{
	struct live_reader *v = reader_at((struct live *)s, reader);
	v->last_tid = UINT32_MAX;
	merge_begin(&v->merge);
}

static int next_record(struct source *s, uint32_t reader, struct record *ret, struct err *e)
{
	struct live *l = (struct live *)s;
	(void)e;
	return live_next_of(l, reader_at(l, reader), ret);
}

static void end_round(struct source *s)
{
	struct live *l = (struct live *)s;
	round_end(&l->round);
	for (uint32_t i = 0; i < l->n_readers; i++) {
		const struct live_reader *v = reader_at(l, i);
		divide_note(&l->divide, i, v->n_samples - v->n_noted);
	}
	divide_forget(&l->divide);
	add_counters(l);
	l->first.n_noted = l->first.n_samples;
}

static struct share_place place_of(const struct source *s, uint32_t reader)
{
	const struct merge *m = &reader_at((const struct live *)s, reader)->merge;
	return (struct share_place){ m->place.segment, m->place.at };
}

static uint32_t reader_of(const struct source *s, uint32_t tid)
{
	return divide_reader(&((const struct live *)s)->divide, tid);
}

static unsigned fullest_percent(struct source *s)
{
	struct round *r = &((struct live *)s)->round;
	unsigned percent = r->fullest_percent;
	r->fullest_percent = 0;
	return percent;
}

const struct share_ops livereaders_ops = {
	.set = set_readers, .begin = begin_round, .scan = scan_part, .plan = plan_round,
	.read = begin_reading, .next = next_record, .end = end_round, .place = place_of,
	.reader_of = reader_of, .fullest_percent = fullest_percent,
};
