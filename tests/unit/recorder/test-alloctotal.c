/* Threads that allocate, with the library's way of choosing blocks, and what the samples stand for.
 * The random numbers are the same in each run. */

#include "recorder/kinds/alloctotal.h"

#include "tests/unit/tap.h"

#include <math.h>
#include <string.h>

#define MEAN 524288u
#define SITES 4

static uint64_t state = 1;

static double random_distance(void)
{
	uint64_t x = state += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	x ^= x >> 31;
	return -log(((double)(x >> 11) + 1) / 9007199254740993.0) * MEAN;
}

/* What a thread counts: lib/preload/alloc-sampler.c. */
struct thread {
	double left;
	uint64_t passed, last;
	unsigned n_sampled;
	unsigned n_lost;           /* of three samples */
	bool is_inherited;
};

static struct alloctotal total;
static double bytes[SITES], blocks[SITES];

static void allocate(struct thread *t, unsigned site, uint64_t n_bytes)
{
	t->passed += n_bytes;
	t->left = t->left > 0 ? t->left : random_distance();
	if ((double)n_bytes < t->left) {
		t->left -= (double)n_bytes;
		return;
	}
	t->left = random_distance();
	if (t->n_sampled++ % 3 < t->n_lost)
		return;
	const struct allocformat_tail tail = {
		MEAN, t->is_inherited ? n_bytes : t->passed, t->is_inherited ? 0 : t->last,
	};
	double n = alloctotal_blocks(&total, n_bytes, &tail);
	t->passed = 0;
	t->last = t->is_inherited ? 0 : n_bytes;
	t->is_inherited = false;
	bytes[site] += n * (double)n_bytes;
	blocks[site] += n;
}

static void begin(void)
{
	memset(&total, 0, sizeof(total));
	memset(bytes, 0, sizeof(bytes));
	memset(blocks, 0, sizeof(blocks));
}

static double sum(void)
{
	return bytes[0] + bytes[1] + bytes[2] + bytes[3];
}

static void run_site(struct thread *t, unsigned site, uint64_t n_bytes, double n_total)
{
	for (double done = 0; done < n_total; done += (double)n_bytes)
		allocate(t, site, n_bytes);
}

/* 800 MB of four sizes; without the counted bytes the standard error is 2 %. */
static void test_total(void)
{
	double worst = 0, site[SITES] = { 0 };
	for (int run = 0; run < 50; run++) {
		struct thread t = { 0 };
		begin();
		run_site(&t, 0, 64, 80e6);
		run_site(&t, 1, 1000, 160e6);
		run_site(&t, 2, 40000, 240e6);
		run_site(&t, 3, 3000000, 320e6);
		worst = fmax(worst, fabs(sum() - 801e6));
		for (int i = 0; i < SITES; i++)
			site[i] += bytes[i];
	}
	tap_ok(worst < 10e6, "a total of 800 MB: off by less than 1.25 %% in 50 runs: %.2f MB",
	       worst / 1e6);
	tap_ok(fabs(site[0] / 50 / 80e6 - 1) < 0.05 && fabs(site[1] / 50 / 160e6 - 1) < 0.03 &&
	       fabs(site[2] / 50 / 240e6 - 1) < 0.02 && fabs(site[3] / 50 / 321e6 - 1) < 0.01,
	       "and each size is right on average");
}

/* Small blocks that come after large ones, in many short threads: nothing is shifted between the
 * two, or by what a thread allocates after its last sample. */
static void test_shares(void)
{
	const unsigned n_threads = 100000, n_rounds = 3;
	begin();
	for (unsigned i = 0; i < n_threads; i++) {
		struct thread t = { 0 };
		for (unsigned k = 0; k < n_rounds; k++) {
			allocate(&t, 0, 300000);
			allocate(&t, 1, 20000);
		}
	}
	double n = n_threads * n_rounds, p = -expm1(-300000.0 / MEAN), q = -expm1(-20000.0 / MEAN);
	tap_ok(fabs(blocks[0] - n) < 4 * sqrt(n * (1 - p) / p), "large blocks: %.0f of %.0f",
	       blocks[0], n);
	tap_ok(fabs(blocks[1] - n) < 4 * sqrt(n * (1 - q) / q), "small blocks: %.0f of %.0f",
	       blocks[1], n);
}

/* Children begin in the middle of what their parent counts. */
static void test_forks(void)
{
	const unsigned n_children = 20000;
	const double n_bytes = n_children * 2e6;
	struct thread parent = { 0 };
	begin();
	for (unsigned i = 0; i < n_children; i++) {
		run_site(&parent, 0, 1000, 1e6);
		struct thread child = parent;
		child.is_inherited = true;
		run_site(&child, 0, 1000, 1e6);
	}
	tap_ok(fabs(sum() - n_bytes) < 4 * sqrt(n_bytes * MEAN), "forked children: %.2f of %.2f GB",
	       sum() / 1e9, n_bytes / 1e9);
}

static void test_losses(void)
{
	struct thread t = { .n_lost = 2 };
	begin();
	run_site(&t, 0, 64, 40e6);
	tap_ok(sum() > 20e6 && sum() < 40e6, "two of three samples lost: a sample counts at most "
	       "twice");
	begin();
	t = (struct thread){ .n_lost = 1 };
	run_site(&t, 0, 1000, 2e9);
	tap_ok(fabs(sum() - 2e9) < 0.01e9, "one of three lost: the total is right: %.0f MB",
	       sum() / 1e6);
}

static void test_exact(void)
{
	const struct allocformat_tail tail = { 4096, 1 << 20, 1 << 20 };
	begin();
	total.missing_bytes = 1e6;
	double n = alloctotal_blocks(&total, 1 << 20, &tail);
	tap_ok(n == 1, "a block that is always sampled stands for itself");
}

/* A program may write any numbers. */
static void test_hostile(void)
{
	const uint64_t any[] = { 1, 8, MEAN, UINT64_C(1) << 40, UINT64_MAX };
	bool ok = true;
	begin();
	for (unsigned i = 0; i < 5 * 5 * 5 * 5; i++) {
		const struct allocformat_tail tail = { any[i / 5 % 4], any[i / 25 % 5],
						       any[i / 125] };
		uint64_t n_bytes = any[i % 4];
		double n = alloctotal_blocks(&total, n_bytes, &tail);
		double p = -expm1(-(double)n_bytes / (double)tail.mean);
		ok &= n * p >= 0.499 && n * p <= 2.001 && isfinite(total.missing_bytes);
	}
	tap_ok(ok, "any numbers: a block counts at least half, and at most twice");
}

int main(void)
{
	test_total();
	test_shares();
	test_forks();
	test_losses();
	test_exact();
	test_hostile();
	return tap_done();
}
