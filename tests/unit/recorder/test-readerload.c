/* How many readers, by how busy they are and how full rings get. */
#include "recorder/readerload.h"

#include "cprof.h"
#include "tests/unit/tap.h"

#define MS UINT64_C(1000000)

static struct readerload l;
static uint64_t now_ns;

static void begin(uint32_t max)
{
	l = (struct readerload){ .max = max };
	now_ns = 1000 * MS;
}

/* A round that lasts busy_us, then the rest of period_us. */
static uint32_t round_of(uint32_t n, unsigned busy_us, unsigned period_us, unsigned percent)
{
	const struct readerload_round r = { now_ns, now_ns + busy_us * 1000, percent, 0 };
	now_ns += period_us * 1000;
	return readerload_note(&l, n, &r);
}

/* Rounds that are busy for a part of each 10 ms, in half-full rings; returns the number of readers
 * after n_ms. */
static uint32_t run(uint32_t n, unsigned percent, unsigned n_ms)
{
	for (unsigned i = 0; i < n_ms / 10; i++)
		n = round_of(n, percent * 100, 10000, 50);
	return n;
}

static void test_busy(void)
{
	begin(16);
	tap_int(run(1, 50, 10000), 1, "one reader, half of the time");
	tap_int(run(1, 70, 400), 1, "most of the time, but not for long");
	tap_int(run(1, 70, 200), 2, "for half a second: twice as many");
	tap_int(run(2, 95, 90), 2, "all the time, for 90 ms");
	tap_int(run(2, 95, 30), 4, "for 100 ms: twice as many");
	tap_int(run(4, 95, 110), 8, "and again");
	tap_int(run(8, 95, 1000), 16, "but not more than allowed");
	begin(6);
	tap_int(run(4, 95, 120), 6, "as many as allowed, if twice as many are not");

	/* What follows the rounds takes as long as these. */
	begin(16);
	uint32_t n = 1;
	for (int i = 0; i < 12; i++) {
		const struct readerload_round r = { now_ns, now_ns + 5 * MS, 10, 5 * MS };
		now_ns += 10 * MS;
		n = readerload_note(&l, n, &r);
	}
	tap_int(n, 2, "all work of the calling thread counts");
}

static void test_calm(void)
{
	begin(16);
	tap_int(run(4, 18, 20000), 4, "two would be busy for more than a third of the time");
	tap_int(run(4, 15, 4000), 4, "two would suffice, but who knows");
	tap_int(run(4, 50, 1000), 4, "it was a pause");
	tap_int(run(4, 15, 6000), 2, "after five seconds, half of them go");
	tap_int(run(2, 15, 6000), 1, "and so on");
	tap_int(run(1, 0, 6000), 1, "at least one");
	tap_int(run(1, 95, 200), 2, "that was wrong");
	tap_int(run(2, 10, 9000), 2, "next time they stay for longer");
	tap_int(run(2, 10, 2000), 1, "twice as long");
}

static void test_full(void)
{
	begin(256);
	tap_int(round_of(1, 20000, 20000, 20), 1, "a round of 20 ms");
	tap_int(round_of(1, 25000, 25000, 90), 2, "in which a ring filled, twice");
	tap_int(round_of(2, 25000, 25000, 100), 2, "it is full of what came before the change");
	tap_int(round_of(2, 20000, 20000, 100), 2, "and the new reader's caches are empty");
	tap_int(round_of(2, 15000, 15000, 100), 4, "after 40 ms it counts");

	begin(256);
	run(4, 30, 1000);
	tap_int(round_of(4, 13000, 13000, 40), 4, "one slow round");
	tap_int(round_of(4, 4000, 5000, 95), 4, "filled a ring, but that was soon read");

	begin(256);
	round_of(1, 100, 200000, 100);
	round_of(1, 100, 200000, 100);
	tap_int(round_of(1, 100, 200000, 100), 1, "full rings of a caller that reads seldom");
}

int main(void)
{
	test_busy();
	test_calm();
	test_full();
	begin(1);
	tap_int(run(1, 100, 5000), 1, "one CPU, one reader");
	tap_int(readerload_max(1), 1, "one CPU: one reader");
	tap_int(readerload_max(7), 1, "7 CPUs: one reader");
	tap_int(readerload_max(64), 16, "64 CPUs: up to 16");
	tap_int(readerload_max(100000), CPROF_READERS_MAX, "no more than the library allows");
	return tap_done();
}
