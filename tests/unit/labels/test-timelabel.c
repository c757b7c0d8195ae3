/* Buckets of time: their number is bounded, and those of a profile do not overlap. */
#include "labels/timelabel.h"

#include "tap.h"

#define MS UINT64_C(1000000)

int main(void)
{
	const struct timelabel t = { .bucket_ns = 10 * MS, .since_ns = 7 };
	tap_int((long long)timelabel_bucket(&t, 7), 0, "the first moment");
	tap_int((long long)timelabel_bucket(&t, 7 + 10 * MS - 1), 0, "the first bucket");
	tap_int((long long)timelabel_bucket(&t, 7 + 10 * MS), 1, "the second");
	tap_int((long long)timelabel_bucket(&t, 7 + 5999 * MS), 599, "the last one of that width");
	tap_int((long long)timelabel_bucket(&t, 7 + 6010 * MS), 600, "then they are twice as wide");
	tap_int((long long)timelabel_bucket(&t, 7 + 6019 * MS), 600, "the same bucket");
	tap_int((long long)timelabel_bucket(&t, 7 + 12030 * MS), 1200, "and four times");
	tap_int((long long)timelabel_width_ns(&t, 7 + 5999 * MS), 10 * MS, "a short profile");
	tap_int((long long)timelabel_width_ns(&t, 7 + 12000 * MS), 40 * MS, "a longer one");
	tap_int((long long)timelabel_width_ns(&t, 3), 10 * MS, "one that ended too early");
	uint64_t width_ns = 40 * MS, before = 0, n = 1;
	bool grows = true, whole = true;
	for (uint64_t ms = 0; ms < 23000; ms += 3) {
		uint64_t bucket = timelabel_bucket(&t, 7 + ms * MS);
		uint64_t ns = timelabel_offset_ns(&t, bucket, width_ns, 7);
		whole &= ns % width_ns == 0 && ns <= ms * MS && ms * MS - ns < width_ns;
		grows &= ns >= before;
		n += ns > before;
		before = ns;
	}
	tap_ok(whole && grows, "each time is in the wide bucket that contains it");
	tap_int((long long)n, 575, "and none is missing");
	tap_ok(n <= TIMELABEL_BUCKETS_MAX, "which are not too many");
	tap_int((long long)timelabel_offset_ns(&t, 100, 10 * MS, 7 + 400 * MS), 600 * MS,
		"a profile that begins later");
	tap_int((long long)timelabel_offset_ns(&t, 100, 40 * MS, 7 + 1020 * MS), 0,
		"in the middle of a bucket");
	const struct timelabel fixed = { .bucket_ns = 10 * MS, .is_fixed = true };
	tap_int((long long)timelabel_bucket(&fixed, 600000 * MS), 60000, "fixed ones stay");
	tap_int((long long)timelabel_width_ns(&fixed, 600000 * MS), 10 * MS, "as wide as they are");
	return tap_done();
}
