/* Several readers of rings in memory. */
#include "source/live/livereaders.h"

#include "base/clock.h"
#include "base/err.h"
#include "source/share.h"
#include "tests/unit/source/record-build.h"
#include "tests/unit/source/sim-ring.h"
#include "tests/unit/tap.h"

#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define RINGS 6
#define READERS 3
#define RING_BYTES 8192

static struct err e;
static struct sim_ring sim[RINGS];
static uint64_t n_put, now_ns = 1;

static struct live *make_live(void)
{
	struct live *l = calloc(1, sizeof(*l));
	struct ring *rings[RINGS];
	if (!l)
		abort();
	l->source.ops = &live_ops;
	l->format = calloc(1, sizeof(*l->format));
	l->event = calloc(1, sizeof(*l->event));
	l->ring = calloc(RINGS, sizeof(*l->ring));
	if (!l->format || !l->event || !l->ring)
		abort();
	l->format[0] = record_build_format();
	l->options.n_events = 1;
	l->n_rings = RINGS;
	for (size_t i = 0; i < RINGS; i++) {
		sim_ring_init(&sim[i], RING_BYTES);
		l->ring[i].fd = -1;
		rings[i] = &l->ring[i].ring;
		if (ring_open_memory(rings[i], sim[i].control, RING_BYTES) < 0)
			abort();
	}
	if (round_init(&l->round, l->format, rings, RINGS) < 0 ||
	    merge_init(&l->first.merge, &l->round) < 0)
		abort();
	l->round.by_ring = true;
	live_add_id(l, (struct live_id){ .id = 11 });
	return l;
}

static bool put(size_t ring, const struct record_build *b)
{
	bool ok = sim_ring_write(&sim[ring], b->v, b->n_bytes);
	n_put += ok;
	return ok;
}

static bool put_sample(size_t ring, uint32_t tid)
{
	struct record_build b = { 0 };
	const struct record_build_id at = { .pid = 7, .tid = tid, .time_ns = now_ns++, .id = 11,
					    .stream_id = 11, .cpu = (uint32_t)ring };
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, 0x1000 };
	record_build_sample(&b, &at, PERF_RECORD_MISC_USER, 0x1000, 1, chain, 2);
	bool ok = put(ring, &b);
	record_build_done(&b);
	return ok;
}

static bool put_comm(size_t ring, uint32_t tid)
{
	struct record_build b = { 0 };
	const struct record_build_id at = { .pid = 7, .tid = tid, .time_ns = now_ns++, .id = 11,
					    .cpu = (uint32_t)ring };
	record_build_comm(&b, &at, "name", false);
	bool ok = put(ring, &b);
	record_build_done(&b);
	return ok;
}

/* What one reader got in a round. */
struct got {
	struct live *l;
	uint32_t reader;
	uint64_t n_samples, n_comms, comm_ns, ring_ns[RINGS];
	struct share_place last;
	bool is_wrong;
};

static bool is_after(struct share_place a, struct share_place b)
{
	return a.segment != b.segment ? a.segment > b.segment : a.at > b.at;
}

/* COMM records are in the order of time, and samples after the COMM before them and before the next
 * one; those of a ring are in order. */
static void *read_round(void *arg)
{
	struct got *g = arg;
	struct record r;
	share_read(&g->l->source, g->reader);
	while (share_next(&g->l->source, g->reader, &r, NULL) == SOURCE_RECORD) {
		struct share_place place = share_place(&g->l->source, g->reader);
		bool is_sample = r.type == PERF_RECORD_SAMPLE;
		uint64_t *ring_ns = &g->ring_ns[r.cpu];
		g->n_samples += is_sample;
		g->n_comms += r.type == PERF_RECORD_COMM;
		g->is_wrong |= r.time_ns <= g->comm_ns || r.time_ns <= *ring_ns ||
			       !is_after(place, g->last) ||
			       (is_sample && r.tid != UINT32_MAX &&
				share_reader_of(&g->l->source, r.tid) != g->reader);
		*ring_ns = r.time_ns;
		for (int i = 0; i < RINGS && !is_sample; i++)
			g->is_wrong |= g->ring_ns[i] > r.time_ns;
		g->comm_ns = is_sample ? g->comm_ns : r.time_ns;
		g->last = place;
	}
	return NULL;
}

static void read_all(struct got *g)
{
	pthread_t thread[READERS];
	share_begin(&g[0].l->source);
	for (uint32_t i = 0; i < READERS; i++)
		share_scan(&g[0].l->source, i);
	share_plan(&g[0].l->source);
	for (uint32_t i = 1; i < READERS; i++)
		if (pthread_create(&thread[i], NULL, read_round, &g[i]) != 0)
			abort();
	read_round(&g[0]);
	for (uint32_t i = 1; i < READERS; i++)
		pthread_join(thread[i], NULL);
	share_end(&g[0].l->source);
}

/* While readers take what is there, nothing is overwritten, and in the end all is released. */
static void test_rounds(void)
{
	struct live *l = make_live();
	struct got g[READERS] = { { .n_samples = 0 } };
	uint64_t n_samples = 0, n_comms = 0, n_all = 0, n_exit = 0;
	uint32_t tid = 100;
	for (uint32_t i = 0; i < READERS; i++)
		g[i] = (struct got){ .l = l, .reader = i };
	tap_int(share_set(&l->source, READERS, &e), 0, "three readers");
	for (int round = 0; round < 40; round++) {
		/* Times are positions, so a record without room must not use one up. */
		for (int i = 0; i < 200; i++) {
			size_t ring = (size_t)(i * 7 + round) % RINGS;
			bool is_comm = i % 23 == 0, is_exit = i % 31 == 0 && !is_comm;
			bool ok = is_comm ? put_comm(ring, tid)
					  : put_sample(ring, is_exit ? UINT32_MAX : tid++);
			now_ns -= !ok;
			n_samples += ok && !is_comm && !is_exit;
			n_exit += ok && is_exit;
			n_comms += ok && is_comm;
		}
		for (size_t i = 0; i < RINGS; i++)
			sim_ring_publish(&sim[i]);
		read_all(g);
	}
	bool wrong = false, all_comms = true, even = true;
	for (uint32_t i = 0; i < READERS; i++) {
		n_all += g[i].n_samples;
		wrong |= g[i].is_wrong;
		all_comms &= g[i].n_comms == n_comms;
		even &= g[i].n_samples > n_samples / READERS * 9 / 10;
	}
	tap_ok(n_samples > 3000 && n_all == n_samples + READERS * n_exit,
	       "each sample has one reader, except those of exiting tasks");
	tap_ok(even, "they have about the same work");
	tap_ok(all_comms, "other records have all");
	tap_ok(!wrong, "samples are between the records before and after them");
	bool released = true;
	for (size_t i = 0; i < RINGS; i++)
		released &= sim[i].control->data_tail == sim[i].head;
	tap_ok(released, "the rings are empty");
	read_all(g);
	tap_int((int)l->first.n_samples, (int)(n_samples + READERS * n_exit),
		"the counters are added up");

	tap_int(share_set(&l->source, 1, &e), 0, "back to one reader");
	put_sample(0, 5);
	put_sample(1, 6);
	sim_ring_publish(&sim[0]);
	sim_ring_publish(&sim[1]);
	struct record r;
	int n = 0;
	while (source_next(&l->source, &r, &e) == SOURCE_RECORD)
		n++;
	tap_int(n, 2, "which gets all samples");
	source_close(&l->source);
	for (size_t i = 0; i < RINGS; i++)
		sim_ring_done(&sim[i]);
}

/* One thread runs all readers. */
static int count_all(struct live *l, uint32_t n_readers)
{
	struct record r;
	int n = 0;
	share_begin(&l->source);
	for (uint32_t i = 0; i < n_readers; i++)
		share_scan(&l->source, i);
	share_plan(&l->source);
	for (uint32_t i = 0; i < n_readers; i++) {
		share_read(&l->source, i);
		while (share_next(&l->source, i, &r, &e) == SOURCE_RECORD)
			n++;
	}
	share_end(&l->source);
	return n;
}

/* A reader more: threads stay where they are, except for some that it gets, and nothing is lost. */
static void test_grow(void)
{
	enum { TIDS = 60 };
	struct live *l = make_live();
	uint32_t before[TIDS], n_moved = 0;
	struct got g[READERS] = { { .n_samples = 0 } };
	uint64_t n = 0, n_all = 0;
	bool ok = true;
	share_set(&l->source, 2, &e);
	for (uint32_t tid = 0; tid < TIDS; tid++)
		n += put_sample(tid % RINGS, tid);
	for (size_t i = 0; i < RINGS; i++)
		sim_ring_publish(&sim[i]);
	n_all += (uint64_t)count_all(l, 2);
	for (uint32_t tid = 0; tid < TIDS; tid++)
		before[tid] = share_reader_of(&l->source, tid);
	tap_int(share_set(&l->source, READERS, &e), 0, "three readers instead of two");
	for (uint32_t i = 0; i < READERS; i++)
		g[i] = (struct got){ .l = l, .reader = i };
	for (int round = 0; round < 4; round++) {
		for (uint32_t tid = 0; tid < TIDS; tid++)
			n += put_sample((tid + (uint32_t)round) % RINGS, tid);
		for (size_t i = 0; i < RINGS; i++)
			sim_ring_publish(&sim[i]);
		read_all(g);
	}
	for (uint32_t tid = 0; tid < TIDS; tid++) {
		uint32_t now = share_reader_of(&l->source, tid);
		n_moved += now != before[tid];
		ok &= now == before[tid] || now == 2;
	}
	tap_ok(ok && n_moved == TIDS / 3, "the new reader gets a third of the threads");
	for (uint32_t i = 0; i < READERS; i++) {
		n_all += g[i].n_samples;
		ok &= !g[i].is_wrong;
	}
	tap_ok(ok && n_all == n && n == 5 * TIDS, "each sample has one reader, in order");
	ok = true;
	for (size_t i = 0; i < RINGS; i++)
		ok &= sim[i].control->data_tail == sim[i].head;
	tap_ok(ok, "the rings are empty");
	tap_int((int)l->first.n_samples, (int)n, "the counters of all readers are added up");
	source_close(&l->source);
	for (size_t i = 0; i < RINGS; i++)
		sim_ring_done(&sim[i]);
}

/* How full rings were is known, with one reader and with several. */
static void test_fullest(void)
{
	struct live *l = make_live();
	struct record r;
	tap_int((int)share_fullest_percent(&l->source), 0, "nothing was read yet");
	while (put_sample(2, 5))
		;
	put_sample(1, 5);
	sim_ring_publish(&sim[1]);
	sim_ring_publish(&sim[2]);
	while (source_next(&l->source, &r, &e) == SOURCE_RECORD)
		;
	unsigned percent = share_fullest_percent(&l->source);
	tap_ok(percent > 95 && percent <= 100, "a full ring: %u %%", percent);
	tap_int((int)share_fullest_percent(&l->source), 0, "nothing since then");
	share_set(&l->source, 2, &e);
	while (sim[4].head < RING_BYTES / 2)
		put_sample(4, 5);
	sim_ring_publish(&sim[4]);
	count_all(l, 2);
	percent = share_fullest_percent(&l->source);
	tap_ok(percent >= 50 && percent < 55, "a half: %u %%", percent);
	source_close(&l->source);
	for (size_t i = 0; i < RINGS; i++)
		sim_ring_done(&sim[i]);
}

/* A ring is released up to its last reader, while the round goes on. */
static void test_release(void)
{
	struct live *l = make_live();
	struct record r;
	share_set(&l->source, 2, &e);
	for (uint32_t i = 0; put_sample(0, 4 + i % 2); i++)
		;
	sim_ring_publish(&sim[0]);
	share_begin(&l->source);
	for (uint32_t i = 0; i < 2; i++)
		share_scan(&l->source, i);
	share_plan(&l->source);
	for (uint32_t i = 0; i < 2; i++)
		share_read(&l->source, i);
	while (share_next(&l->source, 0, &r, &e) == SOURCE_RECORD)
		;
	tap_int((int)sim[0].control->data_tail, 0, "what one has not read stays");
	for (int i = 0; i < 40; i++)
		share_next(&l->source, 1, &r, &e);
	uint64_t tail = sim[0].control->data_tail;
	tap_ok(tail >= RING_BYTES / 4 && tail < sim[0].head, "what both have read is released");
	while (share_next(&l->source, 1, &r, &e) == SOURCE_RECORD)
		;
	share_end(&l->source);
	tap_ok(sim[0].control->data_tail == sim[0].head, "at the end of the round, all is");

	/* A record that was left belongs to the next round, also with other readers. */
	share_set(&l->source, 1, &e);
	source_limit(&l->source, now_ns);
	put_sample(0, 2);
	now_ns += 10;
	put_sample(0, 3);
	sim_ring_publish(&sim[0]);
	int n = 0;
	while (source_next(&l->source, &r, &e) == SOURCE_RECORD)
		n++;
	share_set(&l->source, 2, &e);
	source_limit(&l->source, UINT64_MAX);
	n += 10 * count_all(l, 2);
	tap_int(n, 11, "a record that was left is given to new readers");
	source_close(&l->source);
	for (size_t i = 0; i < RINGS; i++)
		sim_ring_done(&sim[i]);
}

/* Damaged records are counted once, although several readers see them. */
static void test_damage(void)
{
	struct live *l = make_live();
	struct record_build b = { 0 };
	share_set(&l->source, READERS, &e);
	record_build_begin(&b, 9999, 0);
	record_build_end(&b);
	record_build_begin(&b, PERF_RECORD_MMAP2, 0);
	record_build_end(&b);
	for (uint32_t tid = 0; tid < 4; tid++) {
		/* It ends after the thread. */
		record_build_begin(&b, PERF_RECORD_SAMPLE, 0);
		record_build_u64(&b, 11);
		record_build_u64(&b, 0x1000);
		record_build_u32s(&b, 7, tid);
		record_build_end(&b);
	}
	for (uint32_t tid = 0; tid < 3; tid++) {
		const struct record_build_id at = { .pid = 7, .tid = tid, .id = 99 };
		const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, 0x1000 };
		record_build_sample(&b, &at, PERF_RECORD_MISC_USER, 0x1000, 1, chain, 2);
	}
	put(0, &b);
	record_build_done(&b);
	sim_ring_publish(&sim[0]);
	l->event[0].attr.type = PERF_TYPE_HARDWARE;  /* its samples have its own id */
	count_all(l, READERS);
	tap_int((int)l->source.losses.n_unknown, 1, "an unknown record is counted once");
	tap_int((int)l->source.losses.n_undecodable, 5, "and so are damaged ones");
	tap_int((int)l->source.losses.n_unassigned, 3, "and samples of unknown events");
	source_close(&l->source);
	for (size_t i = 0; i < RINGS; i++)
		sim_ring_done(&sim[i]);
}

/* Few rings and many are waited for in different ways. */
static void test_wait(size_t n_rings)
{
	struct live *l = calloc(1, sizeof(*l));
	const int other = eventfd(0, EFD_CLOEXEC);
	const uint64_t one = 1;
	bool ready = false;
	l->source.ops = &live_ops;
	l->n_rings = n_rings;
	l->ring = calloc(n_rings, sizeof(*l->ring));
	for (size_t i = 0; i < n_rings; i++)
		l->ring[i].fd = eventfd(0, EFD_CLOEXEC);
	bool ok = source_wait(&l->source, 0, &other, 1, &ready) == 0 && !ready;
	uint64_t start_ns = clock_monotonic_ns();
	ok &= source_wait(&l->source, 50, NULL, 0, NULL) == 0 &&
	      clock_monotonic_ns() - start_ns >= 40000000;
	tap_ok(ok, "%zu rings: nothing happens", n_rings);
	ok = write(l->ring[n_rings - 1].fd, &one, sizeof(one)) == sizeof(one);
	start_ns = clock_monotonic_ns();
	ok &= source_wait(&l->source, 60000, &other, 1, &ready) == 0 && !ready;
	ok &= write(other, &one, sizeof(one)) == sizeof(one);
	ok &= source_wait(&l->source, 60000, &other, 1, &ready) == 0 && ready;
	tap_ok(ok && clock_monotonic_ns() - start_ns < 30000000000u,
	       "a ring and another descriptor end the wait");
	source_close(&l->source);
	close(other);
}

int main(void)
{
	test_wait(3);
	test_wait(40);
	test_rounds();
	test_release();
	test_grow();
	test_fullest();
	test_damage();
	return tap_done();
}
