/*
 * The merge against producers that write at the worst moments.  round.c is compiled in with its two
 * accesses to the rings replaced: before each of them, the producers may write, like the kernel on
 * other CPUs.  So random interleavings are reached, but the same ones in each run.
 */

#include "source/ring.h"

static uint64_t interleaved_fetch(struct ring *r);
static const void *interleaved_next(struct ring *r, size_t *ret_n_bytes);
#define ring_fetch interleaved_fetch
#define ring_next interleaved_next
#include "source/round.c" /* not the headers: the test's own copies */
#include "source/merge.c"
#undef ring_fetch
#undef ring_next

#include "source/record-build.h"
#include "source/sim-ring.h"
#include "tap.h"

#include <stdio.h>

#define N_RINGS 5
#define DATA_BYTES 1024u

static struct {
	struct sim_ring sim[N_RINGS];
	struct ring ring[N_RINGS];
	uint64_t seed;
	uint64_t clock;          /* one event at a time: all earlier ones caused it */
	unsigned one_in;         /* how rarely producers get a turn */
	uint64_t n_written;
} w;

static uint64_t random_next(void)
{
	w.seed = w.seed * 6364136223846793005u + 1442695040888963407u;
	return w.seed >> 33;
}

static void produce_some(void)
{
	if (random_next() % w.one_in)
		return;
	static struct record_build b;
	for (uint64_t n = random_next() % 6; n; n--) {
		struct sim_ring *s = &w.sim[random_next() % N_RINGS];
		struct record_build_id id = { .time_ns = w.clock + 1 };
		static const uint64_t words[8];
		b.n_bytes = 0;
		record_build_sample(&b, &id, 0, w.n_written, 1, words, random_next() % 8);
		if (!sim_ring_write(s, b.v, b.n_bytes))
			continue;
		sim_ring_publish(s);
		w.clock++;
		w.n_written++;
	}
}

static uint64_t interleaved_fetch(struct ring *r)
{
	produce_some();
	return ring_fetch(r);
}

static const void *interleaved_next(struct ring *r, size_t *ret_n_bytes)
{
	produce_some();
	return ring_next(r, ret_n_bytes);
}

/* Every written record is delivered once, in the order of writing. */
static bool run(uint64_t seed, unsigned one_in, uint64_t n_rounds, uint64_t *n_kept)
{
	struct record_format format = record_build_format();
	struct ring *rings[N_RINGS];
	struct round in;
	struct merge m;
	w.seed = seed;
	w.one_in = one_in;
	w.clock = w.n_written = 0;
	for (int i = 0; i < N_RINGS; i++) {
		sim_ring_init(&w.sim[i], DATA_BYTES);
		if (ring_open_memory(&w.ring[i], w.sim[i].control, DATA_BYTES) < 0)
			return false;
		rings[i] = &w.ring[i];
	}
	if (round_init(&in, &format, rings, N_RINGS) < 0 || merge_init(&m, &in) < 0)
		return false;
	uint64_t n = 0, n_wrong = 0;
	for (uint64_t round = 0; round < n_rounds + 2; round++) {
		if (round == n_rounds)
			w.one_in = UINT32_MAX; /* no more: what is left must come */
		size_t n_bytes, ring;
		const void *raw;
		while ((raw = merge_next(&m, &n_bytes, &ring))) {
			struct record r;
			n_wrong += record_decode(&format, raw, n_bytes, &r) != RECORD_OK ||
				   r.sample.ip != n++;
		}
		for (int i = 0; i < N_RINGS; i++)
			*n_kept += w.ring[i].head != w.ring[i].tail;
	}
	bool ok = !n_wrong && n == w.n_written && n > n_rounds / 100 && !in.n_out_of_order;
	if (!ok)
		printf("# seed %llu: %llu written, %llu delivered, %llu wrong, %llu late\n",
		       (unsigned long long)seed, (unsigned long long)w.n_written,
		       (unsigned long long)n, (unsigned long long)n_wrong,
		       (unsigned long long)in.n_out_of_order);
	for (int i = 0; i < N_RINGS; i++) {
		ok &= w.sim[i].control->data_tail == w.sim[i].head;
		ring_close(&w.ring[i]);
		sim_ring_done(&w.sim[i]);
	}
	merge_done(&m);
	round_done(&in);
	return ok;
}

int main(void)
{
	static const unsigned one_in[] = { 1, 2, 5, 30 };
	uint64_t n_kept = 0;
	for (size_t i = 0; i < 4; i++) {
		int n_wrong = 0;
		for (uint64_t seed = 1; seed <= 20; seed++)
			n_wrong += !run(seed, one_in[i], 1000, &n_kept);
		tap_ok(n_wrong == 0, "producers at one look in %u: total order, nothing lost",
		       one_in[i]);
	}
	tap_ok(n_kept > 1000, "%llu rounds left records for the next", (unsigned long long)n_kept);
	return tap_done();
}
