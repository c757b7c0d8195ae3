#include "engine/allocs.h"

#include "agg/counts.h"
#include "base/budget.h"
#include "tests/unit/tap.h"

#include <string.h>

#define HELD 1u
#define GONE 2u
#define CAME 3u
#define WENT 4u

static struct counts counts;
static struct allocs allocs;

static const struct allocs_block block = { .addr = 0x1000, .n = 256, .value = 100, .pid = 5,
					   .stack = 7, .labels = 3 };

static struct allocs_block at(uint32_t pid, uint64_t addr)
{
	struct allocs_block b = block;
	b.pid = pid;
	b.addr = addr;
	return b;
}

static void add(uint32_t pid, uint64_t addr)
{
	const struct allocs_block b = at(pid, addr);
	allocs_add(&allocs, &b);
}

/* The bytes counted for an event. */
static long long sum(uint32_t event)
{
	long long value = 0;
	for (uint32_t i = 0; i < counts.n; i++)
		value += counts.v[i].event == event ? (long long)counts.v[i].value : 0;
	return value;
}

static void test_life(void)
{
	struct allocs_block was;
	add(5, 0x1000);
	add(5, 0x2000);
	tap_int(sum(HELD), 200, "two blocks are in use");
	tap_ok(allocs_remove(&allocs, 5, 0x1000, &was) && was.value == 100 && was.stack == 7,
	       "a freed block is known");
	tap_int(sum(HELD), 100, "and is not in use any more");
	tap_ok(!allocs_remove(&allocs, 5, 0x1000, NULL), "it is freed once");
	tap_ok(!allocs_remove(&allocs, 6, 0x2000, NULL), "other processes have other blocks");
	add(5, 0x2000);
	tap_int(sum(HELD), 100, "a new block at an address replaces the old one");
	tap_int(sum(GONE), 0, "nothing is gone that was there before");
	allocs_forget(&allocs, 5);
	tap_int(sum(HELD), 0, "an ended process holds nothing");
}

static void test_fork(void)
{
	add(5, 0x1000);
	add(5, 0x2000);
	allocs_fork(&allocs, 5, 6);
	tap_int(sum(HELD), 400, "a child has copies");
	allocs_fork(&allocs, 5, 6);
	tap_int(sum(HELD), 400, "only once");
	tap_ok(allocs_remove(&allocs, 6, 0x1000, NULL) && sum(HELD) == 300, "which it frees alone");
	allocs_forget(&allocs, 6);
	tap_int(sum(HELD), 200, "its end leaves those of its parent");
	allocs_forget(&allocs, 5);
}

static void restart(struct budget *budget, bool is_delta)
{
	counts_done(&counts);
	counts_init(&counts, budget);
	allocs.is_delta = is_delta;
	allocs_restart(&allocs);
}

static void test_profiles(struct budget *budget)
{
	add(5, 0x1000);
	add(5, 0x2000);
	restart(budget, false);
	tap_int(sum(HELD), 200, "the next profile begins with what is in use");
	restart(budget, true);
	tap_int(sum(HELD), 0, "a profile of changes begins with nothing");
	add(5, 0x3000);
	allocs_remove(&allocs, 5, 0x1000, NULL);
	tap_ok(sum(HELD) == 100 && sum(GONE) == 100, "then what is new and what is gone count");
	allocs_forget(&allocs, 5);
	tap_ok(sum(HELD) == 0 && sum(GONE) == 200, "a process that ends frees old and new ones");
	restart(budget, false);
}

/* Within five standard errors: each halving keeps a block with probability one half. */
static void test_full(void)
{
	enum { N = 64000 };
	allocs.n_max = 16000;
	for (uint64_t i = 1; i <= N; i++)
		add(5, i << 12);
	tap_ok(allocs.n_halvings >= 2 && allocs.n <= allocs.n_max, "a full table is halved");
	long long error = sum(HELD) - N * 100;
	tap_ok(error > -8 * 100 * 600 && error < 8 * 100 * 600, "the sum stays right: %lld", error);
	for (uint64_t i = 1; i <= N; i++)
		allocs_remove(&allocs, 5, i << 12, NULL);
	tap_ok(sum(HELD) == 0 && allocs.n == 0, "and is zero when all is freed");
}

static long long peak(void)
{
	return sum(HELD) - sum(CAME) + sum(WENT);
}

/* What is in use goes up and down by blocks of 100 bytes, at ten places. */
static void test_peak(void)
{
	uint32_t seed = 1;
	long long highest = 0;
	bool ok = true;
	uint64_t in_use[10] = { 0 }, at_peak[10] = { 0 };
	allocs.has_peak = true;
	allocs.n_halvings = 0;
	allocs_restart_peak(&allocs);
	for (unsigned i = 0; i < 20000; i++) {
		struct allocs_block b = at(5, (uint64_t)(seed >> 8) % 300 << 12);
		seed = seed * 1664525 + 1013904223;
		b.stack = (uint32_t)(b.addr >> 12) % 10;
		if ((seed >> 28) < (i < 9000 ? 9 : 6)) {
			in_use[b.stack] += !allocs_remove(&allocs, 5, b.addr, NULL);
			allocs_add(&allocs, &b);
		} else {
			in_use[b.stack] -= allocs_remove(&allocs, 5, b.addr, NULL);
		}
		if (sum(HELD) > highest) {
			highest = sum(HELD);
			memcpy(at_peak, in_use, sizeof(in_use));
		}
		ok &= peak() == highest;
		if (i % 1000 == 0)
			allocs_counts_moved(&allocs);
	}
	tap_ok(ok && highest > 100 * 100, "the peak is right after each change: %lld", highest);
	for (uint32_t k = 0; k < 10; k++) {
		long long n = 0;
		for (uint32_t i = 0; i < counts.n; i++) {
			const struct count *c = &counts.v[i];
			if (c->stack == k && c->event != GONE)
				n += c->event == CAME ? -(long long)c->value : (long long)c->value;
		}
		ok &= n == (long long)at_peak[k] * 100;
	}
	tap_ok(ok, "so is the peak's part of each place");
	allocs_forget(&allocs, 5);
	tap_ok(sum(HELD) == 0 && peak() == highest, "it stays when all is freed");
	allocs_restart_peak(&allocs);
	tap_int(peak(), 0, "a new profile has another peak");
	allocs.has_peak = false;
}

int main(void)
{
	struct budget budget;
	budget_init(&budget, (size_t)1 << 26);
	counts_init(&counts, &budget);
	allocs_init(&allocs, &budget, &counts, HELD);
	test_life();
	test_fork();
	test_profiles(&budget);
	test_full();
	test_peak();
	allocs_done(&allocs);
	counts_done(&counts);
	tap_int((long long)budget.used_bytes, 0, "all memory is given back");
	return tap_done();
}
