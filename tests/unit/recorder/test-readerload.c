/* How many readers, by how busy they are. */
#include "recorder/readerload.h"

#include "cprof.h"
#include "tests/unit/tap.h"

#define MS 1000000u

static uint64_t now_ns = 1;

/* Drains that are busy for a part of each 10 ms; returns the number of readers after n_ms. */
static uint32_t run(struct readerload *l, uint32_t n, unsigned percent, unsigned n_ms)
{
	for (unsigned i = 0; i < n_ms / 10; i++) {
		n = readerload_note(l, n, now_ns, now_ns + percent * MS / 10);
		now_ns += 10 * MS;
	}
	return n;
}

int main(void)
{
	struct readerload l = { .max = 3 };
	tap_int(run(&l, 1, 50, 10000), 1, "one reader, half of the time");
	tap_int(run(&l, 1, 70, 1200), 3, "one more for each half second in which they are busy");
	tap_int(run(&l, 3, 90, 5000), 3, "but not more than allowed");
	tap_int(run(&l, 3, 30, 20000), 3, "two would be too busy");
	tap_int(run(&l, 3, 10, 4000), 3, "two would suffice, but who knows");
	tap_int(run(&l, 3, 50, 1000), 3, "it was a pause");
	tap_int(run(&l, 3, 10, 6000), 2, "after five seconds one less");
	tap_int(run(&l, 2, 10, 6000), 1, "and another one");
	tap_int(run(&l, 1, 0, 6000), 1, "at least one");
	struct readerload fixed = { .max = 1 };
	tap_int(run(&fixed, 1, 100, 5000), 1, "one CPU, one reader");
	tap_int(readerload_max(1), 1, "one CPU: one reader");
	tap_int(readerload_max(7), 1, "7 CPUs: one reader");
	tap_int(readerload_max(64), 16, "64 CPUs: up to 16");
	tap_int(readerload_max(100000), CPROF_READERS_MAX, "no more than the library allows");
	return tap_done();
}
