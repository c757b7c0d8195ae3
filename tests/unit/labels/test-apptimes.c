/* Which thread had which set of labels when, and which threads are forgotten. */
#include "labels/apptimes.h"

#include "base/budget.h"
#include "tests/unit/tap.h"

static struct apptimes times;

/* -1: nothing is known about that thread; -2: not known at that time. */
static long at(uint32_t tid, uint64_t time_ns)
{
	uint32_t set = 0;
	if (!apptimes_at(&times, tid, time_ns, 99, &set))
		return -1;
	return set == APPTIMES_UNKNOWN ? -2 : (long)set;
}

static void add_hundred(void *ctx, uint32_t *set)
{
	++*(unsigned *)ctx;
	*set += 100;
}

int main(void)
{
	struct budget budget;
	budget_init(&budget, 0);
	apptimes_init(&times, &budget);
	tap_int(at(1, 5), -1, "an unknown thread");
	apptimes_begin(&times);
	apptimes_append(&times, 1, 10, 7, 1, 0);
	tap_int(apptimes_append(&times, 1, 20, 8, 1, 0), 2, "changes of one reading");
	tap_int(at(1, 9), 99, "before the first change");
	tap_int(at(1, 10), 7, "at the first");
	tap_int(at(1, 25), 8, "after the second");
	tap_int(at(1, 19), 7, "and back");
	apptimes_append_gap(&times, 1, 300, 0);
	tap_int(at(1, 25), -2, "a gap: unknown");
	apptimes_append(&times, 1, 30, 9, 1, 0);
	tap_int(at(1, 30), 9, "known again");

	for (uint64_t i = 0; i < 10000; i++)
		apptimes_append(&times, 2, 100 + i, (uint32_t)i, 1, 90 + i);
	tap_int(at(2, 100 + 9999), 9999, "ten thousand changes");
	tap_ok(budget.used_bytes < 10000, "old ones were dropped: %zu bytes", budget.used_bytes);

	for (uint32_t tid = 10; tid < 5010; tid++)
		apptimes_append(&times, tid, tid, tid, 1, 0);
	size_t most = budget.used_bytes;
	struct idmap alive = { 0 };
	idmap_put(&alive, 12, &alive);
	apptimes_forget(&times, &alive, 5000);
	tap_int(at(11, 20), -1, "a thread that is gone is forgotten");
	tap_int(at(12, 20), 12, "a living one is not");
	tap_int(at(5005, 6000), 5005, "a thread that has just ended is not forgotten");
	tap_int(at(2, 20000), 9999, "a thread that was looked up since is not forgotten");
	tap_ok(budget.used_bytes < most / 4, "the memory of forgotten threads is released");
	unsigned n = 0;
	apptimes_each_set(&times, add_hundred, &n);
	tap_int(at(12, 20), 112, "sets get new ids");
	apptimes_done(&times);
	idmap_done(&alive);
	tap_int((long long)budget.used_bytes, 0, "all memory is released");
	return tap_done();
}
