/*
 * A heap orders the rings that have ordered records left.  Its root is the cut: the samples before
 * it are those whose time is less.  They are found by going through an array with the time of each
 * ring's next sample, which is small and has no branch to mispredict, where a heap would move a
 * ring for each sample.
 *
 * All readers see the same ordered records, so they count the same segments.
 */

#include "source/merge.h"

#include <errno.h>
#include <stdlib.h>

#define NONE_NS UINT64_MAX

struct merge_input {
	size_t sample, ordered;  /* the next entries */
	uint64_t released;       /* position */
};

int merge_init(struct merge *m, struct round *r)
{
	size_t n = r->n_rings ? r->n_rings : 1;
	*m = (struct merge){
		.round = r, .in = calloc(n, sizeof(*m->in)),
		.sample_ns = calloc(n, sizeof(*m->sample_ns)), .heap = calloc(n, sizeof(*m->heap)),
		.n_readers = 1, .last = SIZE_MAX,
	};
	if (m->in && m->sample_ns && m->heap && r->n_rings < UINT32_MAX / 2)
		return 0;
	merge_done(m);
	return -ENOMEM;
}

void merge_done(struct merge *m)
{
	free(m->in);
	free(m->sample_ns);
	free(m->heap);
	*m = (struct merge){ 0 };
}

/* ---- ordered records ----------------------------------------------------------------- */

static const struct round_entry *next_ordered(const struct merge *m, size_t i)
{
	const struct round_ring *r = &m->round->ring[i];
	size_t at = m->in[i].ordered;
	return at < r->ordered.n && r->ordered.v[at].time_ns <= m->end_ns ? &r->ordered.v[at]
									: NULL;
}

static inline bool comes_before(const struct merge *m, uint32_t a, uint32_t b)
{
	const struct round_ring *ra = &m->round->ring[a], *rb = &m->round->ring[b];
	uint64_t ta = ra->ordered.v[m->in[a].ordered].time_ns;
	uint64_t tb = rb->ordered.v[m->in[b].ordered].time_ns;
	return ta < tb || (ta == tb && a < b);
}

/* Moves the ring at the root down to its place. */
static void sink_root(struct merge *m)
{
	uint32_t moving = m->heap[0];
	size_t at = 0;
	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= m->n_heap)
			break;
		if (child + 1 < m->n_heap && comes_before(m, m->heap[child + 1], m->heap[child]))
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
}

static void find_cut(struct merge *m)
{
	m->cut_ns = m->n_heap ? next_ordered(m, m->heap[0])->time_ns : NONE_NS;
	m->at = 0;
	if (m->least_ns > m->cut_ns)
		m->at = m->round->n_rings;  /* no ring has an older sample */
	else
		m->least_ns = NONE_NS;
}

/* ---- samples -------------------------------------------------------------------------- */

/* Finds the ring's next sample of this reader. */
static void find_sample(struct merge *m, size_t i)
{
	const struct round_ring *r = &m->round->ring[i];
	size_t at = m->in[i].sample, n = r->sample.n;
	const struct round_entry *e = r->sample.v;
	while (m->skips && at < n && m->skips(m->skips_ctx, e[at].tid))
		at++;
	m->in[i].sample = at;
	m->sample_ns[i] = at < n && e[at].time_ns <= m->end_ns ? e[at].time_ns : NONE_NS;
}

/* Is the ring's next sample before the cut, which has the same time? */
static bool wins_tie(const struct merge *m, size_t i)
{
	if (!m->n_heap || m->sample_ns[i] == NONE_NS)
		return false;
	const struct round_ring *r = &m->round->ring[i];
	return i < m->heap[0] || (i == m->heap[0] &&
				  r->sample.v[m->in[i].sample].at8 < next_ordered(m, i)->at8);
}

/* ---- delivering ------------------------------------------------------------------------ */

/* Position of the first record that the reader still needs. */
static uint64_t first_needed(const struct merge *m, size_t i)
{
	const struct round_ring *r = &m->round->ring[i];
	const struct round_entry *ordered = next_ordered(m, i);
	uint32_t at8 = ordered ? ordered->at8 : UINT32_MAX;
	if (m->sample_ns[i] != NONE_NS && r->sample.v[m->in[i].sample].at8 < at8)
		at8 = r->sample.v[m->in[i].sample].at8;
	return at8 != UINT32_MAX ? r->begin + 8 * (uint64_t)at8 : round_ring_end(r, m->end_ns);
}

static void release_some(struct merge *m, size_t i)
{
	struct ring *ring = m->round->ring[i].ring;
	uint64_t position = first_needed(m, i);
	if ((int64_t)(position - m->in[i].released) < (int64_t)(ring->n_data_bytes / 4))
		return;
	m->in[i].released = position;
	if (m->n_readers > 1)
		ring_release_of(ring, m->reader, position);
	else
		ring_release_to(ring, position);
}

static const void *deliver(struct merge *m, size_t i, const struct round_entry *e, uint64_t at,
			   size_t *ret_n_bytes, size_t *ret_ring)
{
	const struct round_ring *r = &m->round->ring[i];
	m->place = (struct merge_place){ m->place.segment, at };
	m->time_ns = e->time_ns;
	m->last = i;
	*ret_ring = i;
	return ring_at(r->ring, r->begin + 8 * (uint64_t)e->at8, ret_n_bytes);
}

/* Asks for a ring's next sample. */
static void ask_ahead(const struct merge *m, size_t i, size_t n_bytes)
{
	if (i == m->round->n_rings || m->sample_ns[i] == NONE_NS)
		return;
	const struct round_ring *r = &m->round->ring[i];
	uint64_t at8 = r->sample.v[m->in[i].sample].at8;
	ring_ask(r->ring, r->begin + 8 * at8, n_bytes);
}

static const void *deliver_sample(struct merge *m, size_t i, size_t *ret_n_bytes, size_t *ret_ring)
{
	const struct round_ring *r = &m->round->ring[i];
	const struct round_entry *e = &r->sample.v[m->in[i].sample++];
	const void *raw = deliver(m, i, e, (uint64_t)i << 32 | e->at8, ret_n_bytes, ret_ring);
	find_sample(m, i);
	ask_ahead(m, m->sample_ns[i] < m->cut_ns ? i : i + 1, *ret_n_bytes);
	return raw;
}

/* It ends its segment. */
static const void *deliver_ordered(struct merge *m, size_t *ret_n_bytes, size_t *ret_ring)
{
	size_t i = m->heap[0];
	const struct round_entry *e = next_ordered(m, i);
	const void *raw = deliver(m, i, e, UINT64_MAX, ret_n_bytes, ret_ring);
	m->in[i].ordered++;
	e = next_ordered(m, i);
	if (e)
		ring_ask(m->round->ring[i].ring, m->round->ring[i].begin + 8 * (uint64_t)e->at8,
			 *ret_n_bytes);
	else
		m->heap[0] = m->heap[--m->n_heap];
	if (m->n_heap > 1)
		sink_root(m);
	find_cut(m);
	return raw;
}

void merge_begin(struct merge *m)
{
	bool any = round_end_ns(m->round, &m->end_ns);
	m->n_heap = 0;
	for (uint32_t i = 0; i < m->round->n_rings; i++) {
		m->in[i] = (struct merge_input){ .released = m->round->ring[i].begin };
		m->sample_ns[i] = NONE_NS;
		if (!any)
			continue;
		find_sample(m, i);
		if (next_ordered(m, i))
			heap_push(m, i);
		release_some(m, i);
	}
	m->place.segment++;
	m->least_ns = 0;
	find_cut(m);
	m->is_begun = true;
}

static const void *end_round(struct merge *m)
{
	m->is_begun = false;
	if (m->n_readers < 2)
		round_end(m->round);
	return NULL;
}

const void *merge_next(struct merge *m, size_t *ret_n_bytes, size_t *ret_ring)
{
	if (!m->is_begun) {
		round_begin(m->round);
		round_scan(m->round, 0, 1);
		merge_begin(m);
	} else if (m->last != SIZE_MAX) {
		release_some(m, m->last);
	}
	if (m->last != SIZE_MAX && m->place.at == UINT64_MAX)
		m->place.segment++;
	m->last = SIZE_MAX;
	for (; m->at < m->round->n_rings; m->at++) {
		uint64_t time_ns = m->sample_ns[m->at];
		if (time_ns < m->cut_ns || (time_ns == m->cut_ns && wins_tie(m, m->at)))
			return deliver_sample(m, m->at, ret_n_bytes, ret_ring);
		m->least_ns = time_ns < m->least_ns ? time_ns : m->least_ns;
	}
	return m->n_heap ? deliver_ordered(m, ret_n_bytes, ret_ring) : end_round(m);
}
