/*
 * The entries of a ring are in the order of the ring whatever their times say: an entry has at
 * least the time of the one before it.  What the round leaves is scanned again by the next one;
 * that is little, since it was written while the heads were fetched.
 */

#include "source/round.h"

#include "base/clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

/* Clocks that differ by less change the order of records only as late interrupts do. */
#define CLOCK_NS 1000000u
#define DISTRUST_NS 1000000000u
/* So many in a row: a single one may be late, because the host stopped the virtual CPU while it was
 * written. */
#define WRONG_TIMES 4u

/* Readers take UINT64_MAX for the time of no record. */
#define TIME_MAX (UINT64_MAX - 1)

int round_init(struct round *r, const struct record_format *format,
	       struct ring *const *rings, size_t n_rings)
{
	struct round_ring *ring = calloc(n_rings ? n_rings : 1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	for (size_t i = 0; i < n_rings; i++)
		ring[i].ring = rings[i];
	*r = (struct round){
		.format = format, .until_ns = UINT64_MAX, .ring = ring, .n_rings = n_rings,
	};
	return 0;
}

void round_done(struct round *r)
{
	for (size_t i = 0; i < r->n_rings; i++) {
		VEC_FREE(&r->ring[i].sample);
		VEC_FREE(&r->ring[i].ordered);
		VEC_FREE(&r->ring[i].fresh);
	}
	free(r->ring);
	*r = (struct round){ 0 };
}

void round_exchange(struct round *r, size_t a, size_t b)
{
	struct round_ring old = r->ring[a];
	struct ring *in_a = r->ring[a].ring, *in_b = r->ring[b].ring;
	r->ring[a] = r->ring[b];
	r->ring[b] = old;
	r->ring[a].ring = in_a;
	r->ring[b].ring = in_b;
}

void round_forget(struct round *r, size_t i)
{
	struct round_ring *in = &r->ring[i];
	in->first_head = in->begin_ns = in->time_ns = in->end_ns = in->checked = 0;
	in->is_in_round = false;
}

uint64_t round_begin(struct round *r)
{
	uint64_t n_bytes = 0;
	if (r->shared.is_shared)
		r->shared.now_ns = clock_monotonic_ns();
	for (size_t i = 0; i < r->n_rings; i++)
		r->ring[i].first_head = ring_fetch(r->ring[i].ring);
	for (size_t i = 0; i < r->n_rings; i++) {
		struct ring *ring = r->ring[i].ring;
		ring_fetch(ring);
		n_bytes += ring_waiting(ring);
		unsigned percent = (unsigned)(ring_waiting(ring) * 100 / ring->n_data_bytes);
		if (percent > r->fullest_percent)
			r->fullest_percent = percent;
	}
	if (r->is_live)
		r->now_ns = clock_monotonic_ns() + CLOCK_NS;
	return n_bytes;
}

/* ---- reading headers ----------------------------------------------------------------- */

/* A record is older than the round, and younger than the one before it in its ring and than the
 * last round, which would have seen it. */
static uint64_t check_shared(struct round_shared *s, struct round_ring *in, const void *raw,
			     size_t n_bytes, uint64_t time_ns)
{
	if (!s->is_shared(s->ctx, raw, n_bytes))
		return time_ns;
	uint64_t least_ns = in->time_ns > s->since_ns ? in->time_ns : s->since_ns;
	bool is_wrong = time_ns + CLOCK_NS < least_ns || time_ns > s->now_ns + CLOCK_NS;
	in->n_wrong = is_wrong ? in->n_wrong + 1 : 0;
	if (in->n_wrong >= WRONG_TIMES)
		__atomic_store_n(&s->distrust_ns, s->now_ns + DISTRUST_NS, __ATOMIC_RELAXED);
	bool is_trusted = s->now_ns >= __atomic_load_n(&s->distrust_ns, __ATOMIC_RELAXED);
	return is_trusted && !is_wrong ? time_ns : least_ns;
}

/* Its time; a record without one takes that of the record before it. */
static uint64_t time_of(struct round *r, struct round_ring *in, const void *raw, size_t n_bytes,
			bool is_new)
{
	uint64_t before_ns = in->time_ns, time_ns = before_ns;
	record_peek_time(r->format, raw, n_bytes, &time_ns);
	if (r->shared.is_shared)
		time_ns = check_shared(&r->shared, in, raw, n_bytes, time_ns);
	/* It would hold up all that follow. */
	if (r->now_ns && time_ns > r->now_ns)
		time_ns = before_ns;
	if (is_new && (time_ns < before_ns || time_ns < r->delivered_ns))
		in->n_out_of_order++;
	if (time_ns < before_ns)
		return before_ns;
	return time_ns < TIME_MAX ? time_ns : TIME_MAX;
}

/* If memory is short, the thread is not listed. */
static void note_thread(const struct round *r, struct round_ring *in, uint32_t tid)
{
	struct round_thread *last = in->fresh.n ? &in->fresh.v[in->fresh.n - 1] : NULL;
	if (tid == UINT32_MAX || tid == in->known_tid)
		return;
	if (last && last->tid == tid)
		last->n++;
	else if (divide_find(r->divide, tid) == DIVIDE_NONE)
		VEC_PUSH(&in->fresh, ((struct round_thread){ tid, 1 }));
	else
		in->known_tid = tid;
}

static bool add_entry(struct round *r, struct round_ring *in, const void *raw, size_t n_bytes,
		      uint64_t at)
{
	const struct perf_event_header *h = raw;
	struct round_entry entry = {
		.time_ns = time_of(r, in, raw, n_bytes, at >= in->checked),
		.at8 = (uint32_t)((at - in->begin) / 8), .tid = UINT32_MAX,
	};
	bool is_sample = r->by_ring && h->type == PERF_RECORD_SAMPLE;
	if (is_sample)
		record_peek_tid(r->format, raw, n_bytes, &entry.tid);
	if (r->divide)
		note_thread(r, in, entry.tid);
	if (!(is_sample ? VEC_PUSH(&in->sample, entry) : VEC_PUSH(&in->ordered, entry)))
		return false;
	in->time_ns = entry.time_ns;
	if (at < in->first_head) {
		in->end_ns = entry.time_ns;
		in->is_in_round = true;
	}
	return true;
}

static void scan_ring(struct round *r, struct round_ring *in)
{
	struct ring *ring = in->ring;
	size_t n_bytes;
	const void *raw;
	in->begin = ring->tail;
	in->begin_ns = in->time_ns;
	in->is_in_round = false;
	in->fresh.n = 0;
	in->known_tid = UINT32_MAX;
	for (;;) {
		uint64_t at = ring->tail;
		raw = ring_next(ring, &n_bytes);
		if (!raw)
			break;
		if (!add_entry(r, in, raw, n_bytes, at)) {
			ring->tail = at;
			break;
		}
	}
	in->checked = ring->tail;
}

void round_scan(struct round *r, uint32_t part, uint32_t n_parts)
{
	size_t i = r->n_rings * part / n_parts, end = r->n_rings * (part + 1) / n_parts;
	for (; i < end; i++) {
		if (i + 1 < end)
			ring_ask(r->ring[i + 1].ring, r->ring[i + 1].ring->tail, 8);
		scan_ring(r, &r->ring[i]);
	}
}

/* ---- its end ---------------------------------------------------------------------------- */

bool round_end_ns(const struct round *r, uint64_t *ret_end_ns)
{
	uint64_t end_ns = 0;
	bool any = false;
	for (size_t i = 0; i < r->n_rings; i++) {
		const struct round_ring *in = &r->ring[i];
		if (!in->is_in_round)
			continue;
		any = true;
		end_ns = in->end_ns > end_ns ? in->end_ns : end_ns;
	}
	*ret_end_ns = end_ns < r->until_ns ? end_ns : r->until_ns;
	return any;
}

uint64_t round_ring_end(const struct round_ring *in, uint64_t end_ns)
{
	bool is_shared = (in->sample.n && in->sample.v[in->sample.n - 1].time_ns > end_ns) ||
			 (in->ordered.n && in->ordered.v[in->ordered.n - 1].time_ns > end_ns);
	return is_shared ? in->begin : in->ring->tail;
}

/* Leaves entries after end_ns in the ring. */
static void end_ring(struct round_ring *in, bool any, uint64_t end_ns)
{
	uint64_t end = in->ring->tail;
	while (in->sample.n && (!any || in->sample.v[in->sample.n - 1].time_ns > end_ns)) {
		uint64_t at = in->begin + 8 * (uint64_t)in->sample.v[--in->sample.n].at8;
		end = at < end ? at : end;
	}
	while (in->ordered.n && (!any || in->ordered.v[in->ordered.n - 1].time_ns > end_ns)) {
		uint64_t at = in->begin + 8 * (uint64_t)in->ordered.v[--in->ordered.n].at8;
		end = at < end ? at : end;
	}
	if (end != in->ring->tail)
		in->time_ns = any && end_ns > in->begin_ns ? end_ns : in->begin_ns;
	ring_end(in->ring, end);
	in->sample.n = in->ordered.n = 0;
}

void round_end(struct round *r)
{
	struct round_shared *s = &r->shared;
	uint64_t end_ns = 0;
	bool any = round_end_ns(r, &end_ns);
	for (size_t i = 0; i < r->n_rings; i++) {
		end_ring(&r->ring[i], any, end_ns);
		r->n_out_of_order += r->ring[i].n_out_of_order;
		r->ring[i].n_out_of_order = 0;
	}
	if (any && end_ns > r->delivered_ns)
		r->delivered_ns = end_ns;
	s->since_ns = s->now_ns < r->until_ns ? s->now_ns : r->until_ns;
}
