#include "agg/labels.h"

#include "base/budget.h"
#include "tap.h"

#define ADD(l, always, ...) add((l), (always), (struct label[]){ __VA_ARGS__ }, \
	sizeof((struct label[]){ __VA_ARGS__ }) / sizeof(struct label))

static uint32_t add(struct labels *l, bool always, struct label *v, size_t n)
{
	return labels_add(l, v, n, always);
}

static void test_sets(void)
{
	struct budget b;
	struct labels l;
	uint32_t n;
	budget_init(&b, 0);
	tap_int(labels_init(&l, &b), 0, "init");
	tap_int(labels_add(&l, NULL, 0, false), 0, "the empty set is 0");
	labels_get(&l, 0, &n);
	tap_int(n, 0, "and is empty");
	tap_int(ADD(&l, false, { 1, 10 }, { 2, 20 }), 1, "ids count up");
	tap_int(ADD(&l, false, { 2, 20 }, { 1, 10 }), 1, "the order does not matter");
	tap_int(ADD(&l, false, { 1, 10 }, { 2, 21 }), 2, "another value");
	tap_int(ADD(&l, false, { 1, 10 }), 3, "a subset is a different set");
	tap_int(ADD(&l, false, { 0, 0 }), 4, "a label of zeros is not the empty set");
	tap_int(ADD(&l, false, { 1, 99 }, { 2, 20 }, { 1, 10 }), 1, "the last of a key wins");
	tap_int(ADD(&l, false, { 1, 98 }, { 1, 99 }, { 1, 10 }), 3, "the same with three labels");
	const struct label *v = labels_get(&l, 1, &n);
	tap_ok(n == 2 && v[0].key == 1 && v[0].value == 10 && v[1].key == 2 && v[1].value == 20,
	       "get returns them sorted by key");
	tap_int(ADD(&l, false, { 9, 1 }, { 7, 2 }, { 8, 3 }, { 7, 4 }, { 1, 5 }), 5, "a mixed set");
	v = labels_get(&l, 5, &n);
	tap_ok(n == 4 && v[0].key == 1 && v[0].value == 5 && v[1].key == 7 && v[1].value == 4 &&
	       v[2].key == 8 && v[2].value == 3 && v[3].key == 9 && v[3].value == 1,
	       "is sorted and unique");
	labels_done(&l);
	tap_int((long long)b.used_bytes, 0, "all memory is released");
}

static void test_sizes(void)
{
	struct labels l;
	struct label many[LABELS_PER_SET_MAX + 1];
	uint32_t n;
	labels_init(&l, NULL);
	for (uint32_t i = 0; i < LABELS_PER_SET_MAX + 1; i++)
		many[i] = (struct label){ .key = 1000 - i, .value = i };
	tap_int(labels_add(&l, many, LABELS_PER_SET_MAX + 1, true), LABELS_NONE, "65 are too many");
	tap_int(labels_add(&l, many, LABELS_PER_SET_MAX, false), 1, "64 are not");
	const struct label *v = labels_get(&l, 1, &n);
	bool sorted = n == LABELS_PER_SET_MAX;
	for (uint32_t i = 1; i < n; i++)
		sorted &= v[i - 1].key < v[i].key;
	tap_ok(sorted, "they are sorted");
	int n_wrong = 0;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < 50000; i++)
			n_wrong += ADD(&l, false, { 3, i }, { 2, i / 2 }) != i + 2;
	tap_int(n_wrong, 0, "50000 sets keep their ids while the table grows");
	labels_done(&l);
}

static void test_budget(void)
{
	struct budget b;
	struct labels l;
	budget_init(&b, 40000);
	labels_init(&l, &b);
	uint32_t n = 0;
	while (ADD(&l, false, { 1, n }, { 2, n }) != LABELS_NONE)
		n++;
	tap_ok(n >= 200 && b.peak_bytes <= 40000, "%u sets fit into 40000 bytes", n);
	int n_wrong = 0;
	for (uint32_t i = 0; i < n; i++)
		n_wrong += ADD(&l, false, { 1, i }, { 2, i }) != i + 1;
	tap_int(n_wrong, 0, "existing entries are still found");
	tap_int(labels_add(&l, NULL, 0, false), 0, "and the empty set");
	tap_int(ADD(&l, true, { 1, n }, { 2, n }), n + 1, "'always' adds a new set");
	labels_done(&l);
	tap_int((long long)b.used_bytes, 0, "all memory is released");
}

int main(void)
{
	test_sets();
	test_sizes();
	test_budget();
	return tap_done();
}
