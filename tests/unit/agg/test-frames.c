#include "agg/frames.h"

#include "base/budget.h"
#include "tap.h"

static void test_ids(void)
{
	struct budget b;
	struct frames f;
	budget_init(&b, 0);
	tap_int(frames_init(&f, &b), 0, "init");
	tap_int(frames_add(&f, 1, 0x1000, false), 0, "ids count from 0");
	tap_int(frames_add(&f, 1, 0x1001, false), 1, "another address");
	tap_int(frames_add(&f, 2, 0x1000, false), 2, "another file");
	tap_int(frames_add(&f, 0, 0, false), 3, "zeros");
	tap_int(frames_add(&f, UINT32_MAX, UINT64_MAX, false), 4, "all ones");
	tap_int(frames_add(&f, 1, 0x1000, false), 0, "found again");
	tap_int(frames_add(&f, UINT32_MAX, UINT64_MAX, false), 4, "the last frame, too");
	tap_ok(f.n == 5 && f.v[2].dso == 2 && f.v[2].vaddr == 0x1000, "frames by id");
	frames_done(&f);
	tap_int((long long)b.used_bytes, 0, "all memory is released");
}

static void test_many(void)
{
	struct budget b;
	struct frames f;
	budget_init(&b, 0);
	frames_init(&f, &b);
	int n_wrong = 0;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < 200000; i++)
			n_wrong += frames_add(&f, i % 7, (uint64_t)(i / 7) << 12, false) != i;
	tap_int(n_wrong, 0, "200000 frames keep their ids while the table grows");
	tap_ok(f.n == 200000 && f.index.n == f.n, "each has one entry in the index");
	tap_int((long long)b.used_bytes,
		(long long)(f.cap * sizeof(struct frame) + f.index.n_slots * sizeof(uint64_t)),
		"its memory is charged");
	frames_done(&f);
	tap_int((long long)b.used_bytes, 0, "all memory is released");
}

static void test_budget(void)
{
	struct budget b;
	struct frames f;
	budget_init(&b, 100000);
	frames_init(&f, &b);
	uint32_t n = 0;
	while (frames_add(&f, 1, n, false) != FRAMES_NONE)
		n++;
	tap_ok(n >= 1000 && b.peak_bytes <= 100000, "%u frames fit into 100000 bytes", n);
	tap_ok(b.n_refused > 0 && f.n == n, "the refusal is counted");
	int n_wrong = 0;
	for (uint32_t i = 0; i < n; i++)
		n_wrong += frames_add(&f, 1, i, false) != i;
	tap_int(n_wrong, 0, "existing entries are still found");
	tap_int(frames_add(&f, 1, n, false), FRAMES_NONE, "a new frame is refused again");
	tap_int(frames_add(&f, 1, n, true), n, "with 'always' it is added");
	tap_ok(b.used_bytes > 0 && frames_add(&f, 1, n, false) == n, "and is found afterwards");
	frames_done(&f);
	tap_int((long long)b.used_bytes, 0, "all memory is released");
	tap_int(frames_init(&f, NULL), 0, "no budget at all");
	tap_int(frames_add(&f, 1, 1, false), 0, "0 means no limit");
	frames_done(&f);
	frames_done(&f);
}

int main(void)
{
	test_ids();
	test_many();
	test_budget();
	return tap_done();
}
