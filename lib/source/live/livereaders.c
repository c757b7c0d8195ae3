/*
 * Several readers of the same rings.  Each merges all rings by itself, over views with positions of
 * its own, and decodes the samples of its own threads; of the others' it reads the header.  So all
 * see the side band in its place among the samples, no reader waits for another, and what a thread
 * did on any CPU is seen by one reader.  A sample costs a header's cache line for each reader, some
 * 50 ns, and microseconds for one of them.
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

static void close_views(struct live *l, struct live_reader *v)
{
	for (size_t i = 0; v->view && i < l->n_rings; i++)
		ring_close(&v->view[i]);
	free(v->view);
	merge_done(&v->merge);
	livegroup_done(&v->group);
	VEC_FREE(&v->shared);
}

void livereaders_done(struct live *l)
{
	for (uint32_t i = 1; i < l->n_readers; i++)
		close_views(l, reader_at(l, i));
	free(l->other);
	l->other = NULL;
	l->n_readers = 0;
	for (size_t i = 0; i < l->n_rings; i++)
		ring_unshare(&l->ring[i].ring);
}

static int open_views(struct live *l, struct live_reader *v)
{
	CLEANUP_FREE struct ring **rings = calloc(l->n_rings, sizeof(struct ring *));
	v->view = calloc(l->n_rings, sizeof(*v->view));
	if (!rings || !v->view)
		return -ENOMEM;
	for (size_t i = 0; i < l->n_rings; i++) {
		if (ring_open_view(&v->view[i], &l->ring[i].ring, v->index) < 0)
			return -ENOMEM;
		rings[i] = &v->view[i];
	}
	if (merge_init(&v->merge, l->format, rings, l->n_rings) < 0)
		return -ENOMEM;
	merge_follow(&v->merge, &l->first.merge);
	return 0;
}

static int share_rings(struct live *l, uint32_t n)
{
	l->other = calloc(n - 1, sizeof(*l->other));
	if (!l->other)
		return -ENOMEM;
	for (size_t i = 0; i < l->n_rings; i++)
		if (ring_share(&l->ring[i].ring, n) < 0)
			return -ENOMEM;
	for (l->n_readers = 1; l->n_readers < n;) {
		struct live_reader *v = reader_at(l, l->n_readers);
		v->index = l->n_readers++;
		if (open_views(l, v) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int set_readers(struct source *s, uint32_t n, struct err *e)
{
	struct live *l = (struct live *)s;
	add_counters(l);
	/* What the others have counted remains. */
	l->first.losses = l->source.losses;
	livereaders_done(l);
	l->all_samples = false;
	for (size_t i = 0; i < l->options.n_events; i++)
		l->all_samples |= (l->event[i].attr.sample_type & PERF_SAMPLE_READ) != 0;
	if (n < 2)
		return 0;
	if (share_rings(l, n) < 0) {
		livereaders_done(l);
		return err_errno(e, ENOMEM, "cannot set up %u readers", n);
	}
	return 0;
}

static uint64_t begin_round(struct source *s)
{
	struct live *l = (struct live *)s;
	add_counters(l);
	uint64_t n_bytes = merge_begin(&l->first.merge);
	for (uint32_t i = 1; i < l->n_readers; i++)
		merge_begin(&reader_at(l, i)->merge);
	return n_bytes;
}

static int next_record(struct source *s, uint32_t reader, struct record *ret, struct err *e)
{
	struct live *l = (struct live *)s;
	return live_next_of(l, reader_at(l, reader), ret);
}

static uint64_t position_of(const struct source *s, uint32_t reader)
{
	const struct live *l = (const struct live *)s;
	return reader_at(l, reader)->merge.n_delivered;
}

const struct share_ops livereaders_ops = {
	.set = set_readers, .begin = begin_round, .next = next_record, .position = position_of,
};
