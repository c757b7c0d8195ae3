#include "source/merge.h"

#include "base/clock.h"
#include "source/record-build.h"
#include "source/sim-ring.h"
#include "tap.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define RINGS_MAX 128

/* Rings with a merge over them. */
struct bench {
	struct sim_ring sim[RINGS_MAX];
	struct ring ring[RINGS_MAX];
	struct record_format format;
	struct round round;
	struct merge m;
	size_t n;
};

static void bench_init(struct bench *t, size_t n, uint64_t n_data_bytes)
{
	struct ring *rings[RINGS_MAX];
	t->n = n;
	t->format = record_build_format();
	for (size_t i = 0; i < n; i++) {
		sim_ring_init(&t->sim[i], n_data_bytes);
		if (ring_open_memory(&t->ring[i], t->sim[i].control, n_data_bytes) < 0)
			abort();
		rings[i] = &t->ring[i];
	}
	if (round_init(&t->round, &t->format, rings, n) < 0 || merge_init(&t->m, &t->round) < 0)
		abort();
}

static void bench_done(struct bench *t)
{
	merge_done(&t->m);
	round_done(&t->round);
	for (size_t i = 0; i < t->n; i++) {
		ring_close(&t->ring[i]);
		sim_ring_done(&t->sim[i]);
	}
}

/* A sample with a number in its ip and some more words in its call chain. */
static bool put(struct bench *t, size_t ring, uint64_t time_ns, uint64_t number,
		const uint64_t *words, uint64_t n_words)
{
	struct record_build b = { 0 };
	struct record_build_id id = { .time_ns = time_ns };
	record_build_sample(&b, &id, 0, number, 1, words, n_words);
	bool ok = sim_ring_write(&t->sim[ring], b.v, b.n_bytes);
	if (ok)
		sim_ring_publish(&t->sim[ring]);
	record_build_done(&b);
	return ok;
}

/* The next record, decoded; false when the round is over. */
static bool get(struct bench *t, struct record *r, size_t *ret_ring)
{
	size_t n_bytes;
	const void *raw = merge_next(&t->m, &n_bytes, ret_ring);
	if (!raw)
		return false;
	if (record_decode(&t->format, raw, n_bytes, r) != RECORD_OK)
		abort();
	return true;
}

static void test_two(void)
{
	static struct bench t;
	struct record r;
	size_t ring;
	bench_init(&t, 2, 4096);
	tap_ok(!get(&t, &r, &ring) && !get(&t, &r, &ring), "empty rounds end at once");
	static const struct { size_t ring; uint64_t time_ns; } in[] = {
		{ 0, 10 }, { 0, 20 }, { 1, 15 }, { 1, 16 }, { 0, 30 }, { 1, 30 }, { 1, 31 },
	}, want[] = {
		{ 0, 10 }, { 1, 15 }, { 1, 16 }, { 0, 20 }, { 0, 30 }, { 1, 30 }, { 1, 31 },
	};
	for (size_t i = 0; i < 7; i++)
		put(&t, in[i].ring, in[i].time_ns, i, NULL, 0);
	int n_right = 0;
	for (size_t i = 0; i < 7; i++)
		n_right += get(&t, &r, &ring) && r.time_ns == want[i].time_ns &&
			   ring == want[i].ring;
	tap_int(n_right, 7, "two rings in order of time, ties by ring");
	tap_ok(!get(&t, &r, &ring), "the round ends");
	tap_ok(t.sim[0].control->data_tail == t.sim[0].head &&
	       t.sim[1].control->data_tail == t.sim[1].head, "and has released everything");
	put(&t, 0, 40, 0, NULL, 0);
	tap_ok(get(&t, &r, &ring) && r.time_ns == 40 && !get(&t, &r, &ring), "a further round");
	tap_int((long long)t.round.n_out_of_order, 0, "all in order");
	bench_done(&t);
}

/* Linux adds the trailer's size for each recorder before this one. */
static void test_surplus(void)
{
	const struct record_format f = record_build_format();
	const struct record_build_id at = { .time_ns = 1300, .id = 14 };
	struct record_build b = { 0 };
	struct record r;
	uint64_t time_ns = 0;
	record_build_begin(&b, PERF_RECORD_KSYMBOL, 0);
	record_build_u64(&b, 0xffffffffc0001000);
	record_build_u64(&b, 0x123);
	record_build_text(&b, "bpf_prog_sevenby");
	record_build_trailer(&b, f.sample_type, &at);
	for (int i = 0; i < 10; i++)
		record_build_u64(&b, 0x6f6f5f6162636465);
	record_build_end(&b);
	tap_ok(record_decode(&f, b.v, b.n_bytes, &r) == RECORD_OK && r.time_ns == 1300 &&
	       r.id == 14 && !strcmp(r.ksymbol.name, "bpf_prog_sevenby"),
	       "what follows a KSYMBOL record's trailer is ignored");
	tap_ok(record_peek_time(&f, b.v, b.n_bytes, &time_ns) && time_ns == 1300,
	       "the time before it is peeked");
	record_build_done(&b);
}

/* A wrong time must not hold up what follows. */
static void test_future(void)
{
	static struct bench t;
	struct record r;
	size_t ring;
	uint64_t now = clock_monotonic_ns(), hour = UINT64_C(3600000000000);
	bench_init(&t, 2, 4096);
	t.round.is_live = true;
	put(&t, 0, now, 1, NULL, 0);
	put(&t, 0, now + hour, 2, NULL, 0);
	put(&t, 0, now + 1, 3, NULL, 0);
	put(&t, 1, now + 2, 4, NULL, 0);
	t.round.until_ns = clock_monotonic_ns();
	int n = 0;
	while (get(&t, &r, &ring))
		n++;
	tap_int(n, 4, "records behind one of the future are delivered");
	bench_done(&t);
}

static void test_no_rings(void)
{
	static struct bench t;
	struct record r;
	size_t ring;
	bench_init(&t, 0, 4096);
	tap_ok(!get(&t, &r, &ring), "no rings give nothing");
	bench_done(&t);
}

/* Records that arrive during a round belong to the next. */
static void test_bounded_round(void)
{
	static struct bench t;
	struct record r;
	size_t ring;
	bench_init(&t, 2, 4096);
	uint64_t clock = 0;
	for (int i = 0; i < 10; i++)
		for (size_t k = 0; k < 2; k++) {
			clock++;
			put(&t, k, clock, clock, NULL, 0);
		}
	int n = 0, n_rounds = 0;
	uint64_t expected = 1;
	while (n_rounds < 50) {
		int n_here = 0;
		while (get(&t, &r, &ring)) {
			n += r.time_ns == expected++;
			n_here++;
			clock++;
			put(&t, clock & 1, clock, clock, NULL, 0);
		}
		if (n_here != 20)
			break;
		n_rounds++;
	}
	tap_int(n_rounds, 50, "a producer as fast as the reader does not make a round endless");
	tap_int(n, 1000, "and its records come in order");
	bench_done(&t);
}

static void test_release_within_round(void)
{
	static struct bench t;
	size_t ring;
	bench_init(&t, 1, 4096);
	while (put(&t, 0, 1, 1, NULL, 0))
		;
	unsigned n_stores = 0, n_borrowed_released = 0;
	uint64_t tail = 0, worst = 0;
	const uint8_t *raw;
	size_t n_bytes;
	while ((raw = merge_next(&t.m, &n_bytes, &ring))) {
		uint64_t now = t.sim[0].control->data_tail, at = (uint64_t)(raw - t.ring[0].data);
		n_stores += now != tail;
		tail = now;
		worst = at - tail > worst ? at - tail : worst;
		n_borrowed_released += tail > at;
	}
	tap_ok(worst <= 4096 / 4 + 72, "at most a quarter and one record are kept: %d",
	       (int)worst);
	tap_ok(n_stores >= 2 && n_stores <= 4, "not released per record: %u times", n_stores);
	tap_int((int)n_borrowed_released, 0, "the borrowed record is not released");
	bench_done(&t);
}

/* Times within a ring may go back: its order is kept, and they are counted. */
static void test_disorder(void)
{
	static struct bench t;
	struct record r;
	size_t ring;
	bench_init(&t, 2, 4096);
	static const uint64_t in[] = { 10, 8, 12, 11, 20 };
	for (size_t i = 0; i < 5; i++)
		put(&t, 0, in[i], i, NULL, 0);
	put(&t, 1, 9, 100, NULL, 0);
	static const uint64_t want[] = { 100, 0, 1, 2, 3, 4 };
	int n_right = 0;
	for (size_t i = 0; i < 6; i++)
		n_right += get(&t, &r, &ring) && r.sample.ip == want[i];
	tap_ok(n_right == 6 && !get(&t, &r, &ring), "a ring's own order is kept");
	tap_int((long long)t.round.n_out_of_order, 2, "two records were older than the one before");
	bench_done(&t);
}

/* Without sample_id_all a COMM has no time: it keeps its place in its ring. */
static void test_timeless(void)
{
	static struct bench t;
	size_t ring, n_bytes;
	bench_init(&t, 2, 4096);
	t.format.sample_id_all = false;
	put(&t, 0, 10, 1, NULL, 0);
	struct record_build b = { 0 };
	record_build_begin(&b, PERF_RECORD_COMM, 0);
	record_build_u32s(&b, 1, 1);
	record_build_text(&b, "x");
	record_build_end(&b);
	sim_ring_write(&t.sim[0], b.v, b.n_bytes);
	sim_ring_publish(&t.sim[0]);
	record_build_done(&b);
	put(&t, 0, 30, 2, NULL, 0);
	put(&t, 1, 11, 3, NULL, 0);
	static const uint32_t want[] = { PERF_RECORD_SAMPLE, PERF_RECORD_COMM, PERF_RECORD_SAMPLE,
					 PERF_RECORD_SAMPLE };
	static const size_t want_ring[] = { 0, 0, 1, 0 };
	int n_right = 0;
	for (int i = 0; i < 4; i++) {
		const struct perf_event_header *h = merge_next(&t.m, &n_bytes, &ring);
		n_right += h && h->type == want[i] && ring == want_ring[i];
	}
	tap_int(n_right, 4, "a record without time keeps its place");
	tap_int((long long)t.round.n_out_of_order, 0, "and is not out of order");
	bench_done(&t);
}

/* Younger records wait: a boundary between two rounds is exact. */
static void test_until(void)
{
	static struct bench t;
	struct record r;
	size_t ring;
	bench_init(&t, 2, 4096);
	static const struct { size_t ring; uint64_t time_ns; } in[] = {
		{ 0, 10 }, { 0, 21 }, { 1, 15 }, { 1, 20 }, { 1, 40 }, { 0, 30 },
	};
	for (size_t i = 0; i < 6; i++)
		put(&t, in[i].ring, in[i].time_ns, i, NULL, 0);
	static const uint64_t until[] = { 5, 20, 29, UINT64_MAX };
	static const int want[] = { 0, 3, 1, 2 };
	for (size_t i = 0; i < 4; i++) {
		int n = 0, n_young = 0;
		t.round.until_ns = until[i];
		while (get(&t, &r, &ring)) {
			n++;
			n_young += r.time_ns > until[i] || t.m.time_ns != r.time_ns;
		}
		tap_ok(n == want[i] && n_young == 0, "up to %llu: %d records",
		       (unsigned long long)until[i], n);
	}
	tap_int((long long)t.round.n_out_of_order, 0, "all in order");
	bench_done(&t);
}

/* Samples by ring: between two ordered records, ring after ring. */
static void test_by_ring(void)
{
	static struct bench t;
	struct record_build b = { 0 };
	struct record r;
	size_t ring;
	bench_init(&t, 3, 4096);
	t.round.by_ring = true;
	static const struct { size_t ring; uint64_t time_ns; } in[] = {
		{ 0, 10 }, { 0, 20 }, { 0, 21 }, { 0, 50 }, { 2, 5 }, { 2, 20 }, { 2, 30 },
	}, want[] = {
		{ 0, 10 }, { 0, 20 }, { 2, 5 }, { 1, 20 }, { 0, 21 }, { 0, 50 }, { 2, 20 },
		{ 2, 30 },
	};
	for (size_t i = 0; i < 7; i++)
		put(&t, in[i].ring, in[i].time_ns, i, NULL, 0);
	record_build_comm(&b, &(struct record_build_id){ .time_ns = 20 }, "x", false);
	sim_ring_write(&t.sim[1], b.v, b.n_bytes);
	sim_ring_publish(&t.sim[1]);
	record_build_done(&b);
	int n_right = 0;
	struct merge_place last = { 0 };
	for (size_t i = 0; i < 8; i++) {
		n_right += get(&t, &r, &ring) && r.time_ns == want[i].time_ns &&
			   ring == want[i].ring && t.m.time_ns == r.time_ns &&
			   (t.m.place.segment > last.segment || t.m.place.at > last.at);
		last = t.m.place;
	}
	tap_int(n_right, 8, "samples ring after ring, but on their side of another record");
	tap_ok(!get(&t, &r, &ring), "the round ends");
	tap_ok(t.sim[0].control->data_tail == t.sim[0].head &&
	       t.sim[2].control->data_tail == t.sim[2].head, "and has released everything");
	tap_int((long long)t.round.n_out_of_order, 0, "all in order");
	bench_done(&t);
}

static bool is_odd(const void *ctx, const void *raw, size_t n_bytes)
{
	struct record r;
	return record_decode(ctx, raw, n_bytes, &r) == RECORD_OK && r.sample.ip & 1;
}

/* Samples with the time of another recorder's clock keep their place in their ring. */
static void test_other_clock(void)
{
	static const int64_t offsets[] = { 0, 700000000000000000, -5000000000, 3000000000 };
	struct record r;
	size_t ring;
	for (size_t c = 0; c < 4; c++) {
		static struct bench t;
		bench_init(&t, 2, 1 << 16);
		uint64_t base = clock_monotonic_ns();
		t.round.shared = (struct round_shared){
			.is_shared = is_odd, .ctx = &t.format, .since_ns = base,
		};
		for (uint64_t i = 0; i < 200; i++) {
			uint64_t time_ns = base + i + (i & 1 ? (uint64_t)offsets[c] : 0);
			put(&t, (i / 2) & 1, time_ns, i, NULL, 0);
		}
		int n = 0, n_late = 0;
		t.round.until_ns = base + 99;
		while (get(&t, &r, &ring)) {
			n++;
			n_late += r.sample.ip > 99 || t.m.time_ns - base > 99;
		}
		tap_ok(n == 100 && n_late == 0, "a clock that differs by %lld ns: %d records",
		       (long long)offsets[c], n);
		t.round.until_ns = UINT64_MAX;
		while (get(&t, &r, &ring))
			n++;
		tap_ok(n == 200 && t.round.n_out_of_order == 0, "all records arrive in order");
		bench_done(&t);
	}
}

/* The host stopped a virtual CPU while it wrote a sample: the clock is still ours. */
static void test_late_sample(void)
{
	static const uint64_t want[] = { 2, 1, 4, 3 };
	static struct bench t;
	struct record r;
	size_t ring;
	int n = 0;
	bench_init(&t, 2, 1 << 16);
	uint64_t base = clock_monotonic_ns() - 100000000;
	t.round.shared = (struct round_shared){
		.is_shared = is_odd, .ctx = &t.format, .since_ns = base,
	};
	put(&t, 0, base + 10000000, 2, NULL, 0);
	put(&t, 0, base + 5000000, 1, NULL, 0);
	put(&t, 0, base + 20000000, 3, NULL, 0);
	put(&t, 1, base + 15000000, 4, NULL, 0);
	for (size_t i = 0; i < 4; i++)
		n += get(&t, &r, &ring) && r.sample.ip == want[i];
	tap_int(n, 4, "after a late sample the others keep their times");
	bench_done(&t);
}

static void test_broken_ring(void)
{
	static struct bench t;
	struct record r;
	size_t ring;
	bench_init(&t, 2, 4096);
	put(&t, 0, 10, 1, NULL, 0);
	uint64_t junk[4] = { 0 };
	sim_ring_write(&t.sim[0], junk, sizeof(junk));
	sim_ring_publish(&t.sim[0]);
	put(&t, 1, 11, 2, NULL, 0);
	put(&t, 1, 12, 3, NULL, 0);
	int n = 0;
	while (get(&t, &r, &ring))
		n++;
	tap_ok(n == 3 && t.ring[0].n_broken == 1, "a broken ring does not delay the others");
	put(&t, 0, 13, 4, NULL, 0);
	tap_ok(get(&t, &r, &ring) && r.sample.ip == 4, "and reading it continues");
	bench_done(&t);
}

struct item {
	uint64_t time_ns, number;
	size_t ring;
};

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->ring != y->ring)
		return x->ring < y->ring ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static uint64_t random_next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

/* A round delivers what sorting would: by time, ring, and place in the ring. */
static void test_against_sorting(void)
{
	static const size_t n_rings[] = { 1, 2, 3, 8, 128 };
	static struct bench t;
	static struct item items[4000];
	uint64_t seed = 7;
	for (size_t c = 0; c < 5; c++) {
		bench_init(&t, n_rings[c], 1 << 20);
		int n_wrong = 0;
		uint64_t base = 0;
		for (int round = 0; round < 5; round++) {
			uint64_t last[RINGS_MAX];
			for (size_t i = 0; i < RINGS_MAX; i++)
				last[i] = base;
			for (uint64_t i = 0; i < 4000; i++) {
				size_t k = random_next(&seed) % n_rings[c];
				last[k] += random_next(&seed) % 4;
				base = last[k] > base ? last[k] : base;
				items[i] = (struct item){ last[k], i, k };
				n_wrong += !put(&t, k, last[k], i, NULL, 0);
			}
			qsort(items, 4000, sizeof(*items), compare_items);
			struct record r;
			size_t ring;
			for (int i = 0; i < 4000; i++)
				n_wrong += !get(&t, &r, &ring) || ring != items[i].ring ||
					   r.sample.ip != items[i].number;
			n_wrong += get(&t, &r, &ring);
		}
		n_wrong += t.round.n_out_of_order != 0;
		tap_ok(n_wrong == 0, "%d rings: as if they were sorted", (int)n_rings[c]);
		bench_done(&t);
	}
}

/* ---- with threads --------------------------------------------------------------- */

#define N_CAUSES 4

struct producer {
	struct bench *t;
	size_t ring;             /* its own ring */
	uint64_t n_records;
	uint64_t *clock;         /* shared: each record gets a time of its own */
	uint64_t *n_published;   /* shared, by ring */
};

/*
 * Each record carries the number of records of each ring that were published before it took its
 * time: these may have caused it.
 */
static void *produce(void *arg)
{
	struct producer *p = arg;
	for (uint64_t i = 0; i < p->n_records; i++) {
		uint64_t causes[N_CAUSES];
		for (size_t k = 0; k < N_CAUSES; k++)
			causes[k] = __atomic_load_n(&p->n_published[k], __ATOMIC_SEQ_CST);
		uint64_t now = __atomic_add_fetch(p->clock, 1, __ATOMIC_SEQ_CST);
		while (!put(p->t, p->ring, now, i, causes, N_CAUSES))
			sched_yield();
		__atomic_store_n(&p->n_published[p->ring], i + 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

/* No record is delivered before one that may have caused it; none is lost or duplicated. */
static void test_causality(void)
{
	static struct bench t;
	static struct producer producers[N_CAUSES];
	uint64_t clock = 0, n_published[N_CAUSES] = { 0 }, n_delivered[N_CAUSES] = { 0 };
	const uint64_t n_each = 20000;
	pthread_t thread[N_CAUSES];
	bench_init(&t, N_CAUSES, 1 << 14);
	for (size_t k = 0; k < N_CAUSES; k++) {
		producers[k] = (struct producer){ &t, k, n_each, &clock, n_published };
		pthread_create(&thread[k], NULL, produce, &producers[k]);
	}
	uint64_t n = 0, n_rounds = 0, n_kept = 0, n_too_early = 0, n_lost = 0;
	while (n < N_CAUSES * n_each) {
		struct record r;
		size_t ring;
		bool any = false;
		for (; get(&t, &r, &ring); n++) {
			any = true;
			n_lost += r.sample.ip != n_delivered[ring]++;
			for (size_t k = 0; k < N_CAUSES; k++)
				n_too_early += n_delivered[k] < r.sample.callchain[k];
		}
		n_rounds++;
		for (size_t k = 0; k < N_CAUSES; k++)
			n_kept += t.ring[k].head != t.ring[k].tail;
		if (!any)
			sched_yield();
	}
	for (size_t k = 0; k < N_CAUSES; k++)
		pthread_join(thread[k], NULL);
	tap_int((long long)n_lost, 0, "4 producers: every record once, in its ring's order");
	tap_int((long long)n_too_early, 0, "4 producers: no effect before its cause");
	printf("# %llu rounds, %llu of them left records for the next\n",
	       (unsigned long long)n_rounds, (unsigned long long)n_kept);
	bench_done(&t);
}

/* One thread that moves from CPU to CPU: its records are in total order. */
static void *produce_everywhere(void *arg)
{
	struct producer *p = arg;
	uint64_t seed = 3;
	for (uint64_t i = 0; i < p->n_records; i++) {
		size_t k = random_next(&seed) % p->t->n;
		while (!put(p->t, k, i + 1, i, NULL, 0))
			sched_yield();
	}
	return NULL;
}

static void test_wanderer(void)
{
	static struct bench t;
	pthread_t thread;
	bench_init(&t, 16, 1 << 12);
	struct producer p = { .t = &t, .n_records = 50000 };
	pthread_create(&thread, NULL, produce_everywhere, &p);
	uint64_t n = 0, n_wrong = 0;
	while (n < p.n_records) {
		struct record r;
		size_t ring;
		for (; get(&t, &r, &ring); n++)
			n_wrong += r.sample.ip != n;
	}
	pthread_join(thread, NULL);
	tap_int((long long)n_wrong, 0, "one thread that writes to 16 rings: total order");
	tap_int((long long)t.round.n_out_of_order, 0, "and nothing out of order");
	bench_done(&t);
}

int main(void)
{
	test_two();
	test_surplus();
	test_future();
	test_no_rings();
	test_bounded_round();
	test_release_within_round();
	test_disorder();
	test_timeless();
	test_until();
	test_by_ring();
	test_other_clock();
	test_late_sample();
	test_broken_ring();
	test_against_sorting();
	test_causality();
	test_wanderer();
	return tap_done();
}
