/* Threads among readers. */
#include "source/divide.h"

#include "tap.h"

#define READERS 4

static void test_even(void)
{
	struct divide d;
	uint32_t n_of[READERS] = { 0 };
	tap_int(divide_init(&d, READERS), 0, "four readers");
	tap_ok(divide_find(&d, 7) == DIVIDE_NONE && divide_reader(&d, 7) < READERS,
	       "a thread without samples has one, too");
	for (uint32_t tid = 100; tid < 108; tid++)
		divide_add(&d, tid, 10);
	for (uint32_t tid = 100; tid < 108; tid++)
		n_of[divide_reader(&d, tid)]++;
	bool even = true;
	for (int i = 0; i < READERS; i++)
		even &= n_of[i] == 2;
	tap_ok(even, "eight threads: two for each");
	divide_done(&d);
}

static void test_load(void)
{
	struct divide d;
	divide_init(&d, 2);
	divide_add(&d, 1, 1000);
	uint32_t busy = divide_reader(&d, 1);
	for (uint32_t tid = 2; tid < 12; tid++)
		divide_add(&d, tid, 10);
	bool ok = true;
	for (uint32_t tid = 2; tid < 12; tid++)
		ok &= divide_reader(&d, tid) != busy;
	tap_ok(ok, "ten threads that do little share the other reader");
	divide_add(&d, 1, 5);
	tap_ok(divide_reader(&d, 1) == busy, "a thread keeps its reader");
	for (int round = 0; round < 20; round++) {
		divide_note(&d, busy, 10);
		divide_note(&d, !busy, 500);
	}
	divide_add(&d, 50, 1);
	tap_ok(divide_reader(&d, 50) == busy, "what counts is the work of the last rounds");
	divide_done(&d);
}

static void test_forget(void)
{
	struct divide d;
	divide_init(&d, 3);
	for (uint32_t tid = 0; tid < 65535; tid++)
		divide_add(&d, tid, 1);
	divide_forget(&d);
	tap_ok(divide_find(&d, 1) != DIVIDE_NONE, "65535 threads are remembered");
	divide_add(&d, 70000, 1);
	divide_forget(&d);
	tap_ok(divide_find(&d, 1) == DIVIDE_NONE && divide_reader(&d, 1) < 3,
	       "with more, all begin anew");
	divide_add(&d, 1, 1);
	tap_ok(divide_find(&d, 1) != DIVIDE_NONE, "and are added again");
	divide_done(&d);
}

/* More readers: each thread stays with its reader or goes to a new one. */
static void test_grow(void)
{
	struct divide d;
	uint32_t before[4000], n_of[5] = { 0 };
	bool ok = true;
	divide_init(&d, 2);
	for (uint32_t tid = 0; tid < 4000; tid++) {
		divide_add(&d, tid, 1);
		before[tid] = divide_reader(&d, tid);
	}
	tap_int(divide_grow(&d, 5), 0, "five readers instead of two");
	for (uint32_t tid = 0; tid < 4000; tid++) {
		uint32_t now = divide_reader(&d, tid);
		ok &= now == before[tid] || (now >= 2 && now < 5);
		n_of[now < 5 ? now : 0]++;
	}
	tap_ok(ok, "no thread goes from an old reader to another old one");
	for (int i = 0; i < 5; i++)
		ok &= n_of[i] > 700 && n_of[i] < 900;
	tap_ok(ok, "all have about the same number");
	divide_add(&d, 9000, 1);
	tap_ok(divide_find(&d, 9000) < 5, "a thread that comes later has one of them");
	divide_done(&d);
}

int main(void)
{
	test_grow();
	test_even();
	test_load();
	test_forget();
	return tap_done();
}
