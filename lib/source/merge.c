/*
 * Each ring has at most one record read ahead, and a heap orders the rings by that record's time.
 * The ring whose record was delivered last stays at the root until the next call advances it.  So
 * the delivered bytes stay valid that long, a ring that remains the oldest costs one comparison and
 * no movement, and a single ring needs no comparison at all.
 *
 * A record that was read ahead but not delivered when the round ends is after the ring's first
 * head.  It stays read ahead, and the ring is released only up to it.
 *
 * Order within a ring is kept whatever the times say, and equal times are ordered by ring number,
 * so that the result is deterministic.
 */

#include "source/merge.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>

/* Clocks that differ by less change the order of records only as late interrupts do. */
#define CLOCK_NS 1000000u
#define DISTRUST_NS 1000000000u

struct merge_input {
	struct ring *ring;
	const void *raw;      /* read ahead; valid while the ring is in the heap */
	size_t n_bytes;
	uint64_t time_ns;
	uint64_t at;          /* position of raw in the ring */
	uint64_t first_head;
	bool in_heap;
	bool unfinished;      /* not all before first_head was delivered */
};

int merge_init(struct merge *m, const struct record_format *format,
	       struct ring *const *rings, size_t n_rings)
{
	struct merge_input *in = calloc(n_rings ? n_rings : 1, sizeof(*in));
	uint32_t *heap = calloc(n_rings ? n_rings : 1, sizeof(*heap));
	if (!in || !heap || n_rings > UINT32_MAX / 2) {
		free(in);
		free(heap);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n_rings; i++)
		in[i].ring = rings[i];
	*m = (struct merge){
		.format = format, .until_ns = UINT64_MAX, .in = in, .n_in = n_rings, .heap = heap,
	};
	return 0;
}

void merge_done(struct merge *m)
{
	free(m->in);
	free(m->heap);
	*m = (struct merge){ 0 };
}

static inline bool comes_before(const struct merge *m, uint32_t a, uint32_t b)
{
	uint64_t ta = m->in[a].time_ns, tb = m->in[b].time_ns;
	return ta < tb || (ta == tb && a < b);
}

/* Moves the input at the root down to its place. */
static void sink_root(struct merge *m)
{
	uint32_t moving = m->heap[0];
	size_t at = 0;
	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= m->n_heap)
			break;
		if (child + 1 < m->n_heap &&
		    comes_before(m, m->heap[child + 1], m->heap[child]))
			child++;
		if (comes_before(m, moving, m->heap[child]))
			break;
		m->heap[at] = m->heap[child];
		at = child;
	}
	m->heap[at] = moving;
}

static void heap_push(struct merge *m, uint32_t i)
{
	size_t at = m->n_heap++;
	while (at && comes_before(m, i, m->heap[(at - 1) / 2])) {
		m->heap[at] = m->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	m->heap[at] = i;
	m->in[i].in_heap = true;
}

/* A record is older than the round, and younger than the one before it in its ring and than the
 * last round, which would have seen it. */
static void check_shared(struct merge *m, struct merge_input *in, uint64_t before_ns)
{
	struct merge_shared *s = &m->shared;
	if (!s->is_shared(s->ctx, in->raw, in->n_bytes))
		return;
	uint64_t least_ns = before_ns > s->since_ns ? before_ns : s->since_ns;
	if (in->time_ns + CLOCK_NS < least_ns || in->time_ns > s->now_ns + CLOCK_NS)
		s->distrust_ns = s->now_ns + DISTRUST_NS;
	if (s->now_ns < s->distrust_ns)
		in->time_ns = least_ns;
}

/* Reads a ring's next record ahead; false if there is none before its second head. */
static bool read_ahead(struct merge *m, struct merge_input *in)
{
	in->at = in->ring->tail;
	in->raw = ring_next(in->ring, &in->n_bytes);
	if (!in->raw) {
		in->at = in->ring->tail;
		return false;
	}
	/* A record without a time takes the time of the one before it. */
	uint64_t before_ns = in->time_ns;
	record_peek_time(m->format, in->raw, in->n_bytes, &in->time_ns);
	if (m->shared.is_shared)
		check_shared(m, in, before_ns);
	return true;
}

static void note_finished(struct merge *m, struct merge_input *in)
{
	if (in->unfinished && (!in->in_heap || in->at >= in->first_head)) {
		in->unfinished = false;
		m->n_unfinished--;
	}
}

static void take_heads(struct merge *m)
{
	m->until_ns = m->leader->until_ns;
	m->shared.now_ns = m->leader->shared.now_ns;
	for (size_t i = 0; i < m->n_in; i++) {
		const struct merge_input *from = &m->leader->in[i];
		m->in[i].first_head = from->first_head;
		ring_follow(m->in[i].ring, from->ring);
	}
}

static void fetch_heads(struct merge *m)
{
	if (m->shared.is_shared)
		m->shared.now_ns = clock_monotonic_ns();
	for (size_t i = 0; i < m->n_in; i++)
		m->in[i].first_head = ring_fetch(m->in[i].ring);
	for (size_t i = 0; i < m->n_in; i++)
		ring_fetch(m->in[i].ring);
}

void merge_follow(struct merge *m, const struct merge *leader)
{
	m->leader = leader;
	m->shared = leader->shared;
	for (size_t i = 0; i < m->n_in; i++)
		m->in[i].time_ns = leader->in[i].time_ns;
	m->last_time_ns = leader->last_time_ns;
	m->n_delivered = leader->n_delivered;
}

uint64_t merge_begin(struct merge *m)
{
	uint64_t n_bytes = 0;
	if (m->leader)
		take_heads(m);
	else
		fetch_heads(m);
	m->has_heads = true;
	for (size_t i = 0; i < m->n_in; i++)
		n_bytes += ring_waiting(m->in[i].ring);
	return n_bytes;
}

static void start_round(struct merge *m)
{
	if (!m->has_heads)
		fetch_heads(m);
	m->has_heads = false;
	m->n_unfinished = 0;
	for (uint32_t i = 0; i < m->n_in; i++) {
		struct merge_input *in = &m->in[i];
		if (!in->in_heap && read_ahead(m, in))
			heap_push(m, i);
		in->unfinished = in->in_heap && in->at < in->first_head;
		m->n_unfinished += in->unfinished;
	}
	m->in_round = true;
}

static void end_round(struct merge *m)
{
	struct merge_shared *s = &m->shared;
	s->since_ns = s->now_ns < m->until_ns ? s->now_ns : m->until_ns;
	for (size_t i = 0; i < m->n_in; i++)
		ring_release_to(m->in[i].ring, m->in[i].at);
	m->in_round = false;
}

/* Advances the ring whose record was delivered last. */
static void advance_root(struct merge *m)
{
	struct merge_input *in = &m->in[m->heap[0]];
	struct ring *ring = in->ring;
	if (ring->tail - ring->released >= ring->n_data_bytes / 4)
		ring_release(ring);
	if (!read_ahead(m, in)) {
		in->in_heap = false;
		m->heap[0] = m->heap[--m->n_heap];
	}
	note_finished(m, in);
	if (m->n_heap > 1)
		sink_root(m);
}

const void *merge_next(struct merge *m, size_t *ret_n_bytes, size_t *ret_ring)
{
	if (m->in_round)
		advance_root(m);
	else
		start_round(m);
	if (!m->n_unfinished || m->in[m->heap[0]].time_ns > m->until_ns) {
		end_round(m);
		return NULL;
	}
	uint32_t i = m->heap[0];
	const struct merge_input *in = &m->in[i];
	if (in->time_ns < m->last_time_ns)
		m->n_out_of_order++;
	else
		m->last_time_ns = in->time_ns;
	m->n_delivered++;
	*ret_n_bytes = in->n_bytes;
	*ret_ring = i;
	return in->raw;
}

uint64_t merge_time_ns(const struct merge *m)
{
	return m->in[m->heap[0]].time_ns;
}
