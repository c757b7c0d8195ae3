#include "agg/counts.h"

#include "base/budget.h"
#include "tap.h"

static void test_sums(void)
{
	struct budget b;
	struct counts c;
	budget_init(&b, 0);
	tap_int(counts_init(&c, &b), 0, "init");
	tap_int(c.n, 0, "nothing is counted");
	tap_ok(counts_add(&c, 0, 0, 0, 1, 10, false) && counts_add(&c, 1, 0, 0, 1, 20, false) &&
	       counts_add(&c, 0, 1, 0, 1, 30, false) && counts_add(&c, 0, 0, 1, 1, 40, false) &&
	       counts_add(&c, 1, 0, 0, 2, 5, false) && counts_add(&c, 0, 0, 0, 0, 0, false), "add");
	tap_int(c.n, 4, "entries differ by event, stack and labels");
	tap_ok(c.v[0].value == 10 && c.v[0].n_samples == 1 && c.v[1].event == 1 &&
	       c.v[1].value == 25 && c.v[1].n_samples == 3 && c.v[2].stack == 1 &&
	       c.v[2].value == 30 && c.v[3].labels == 1 && c.v[3].value == 40, "values are sums");
	tap_ok(counts_take(&c, 1, 0, 0, 2, 5) && c.v[1].value == 20 && c.v[1].n_samples == 1 &&
	       counts_take(&c, 0, 1, 0, 1, 30) && c.v[2].n_samples == 0 && c.v[2].value == 0,
	       "an entry can be subtracted again");
	tap_ok(!counts_take(&c, 1, 0, 0, 2, 5) && !counts_take(&c, 1, 0, 0, 1, 21) &&
	       !counts_take(&c, 7, 0, 0, 1, 1) && c.v[1].value == 20, "no other stack has changed");
	counts_add(&c, 0, 0, 0, UINT64_MAX, UINT64_MAX - 5, false);
	tap_ok(c.v[0].value == UINT64_MAX && c.v[0].n_samples == UINT64_MAX, "sums saturate");
	counts_done(&c);
	tap_int((long long)b.used_bytes, 0, "all memory is released");
}

static void test_many(void)
{
	struct counts c;
	counts_init(&c, NULL);
	for (int pass = 0; pass < 3; pass++)
		for (uint32_t i = 0; i < 100000; i++)
			counts_add(&c, i % 3, i / 3, i % 5, 1, i, false);
	int n_wrong = c.n != 100000;
	for (uint32_t i = 0; i < c.n; i++)
		n_wrong += c.v[i].event != i % 3 || c.v[i].stack != i / 3 ||
			   c.v[i].labels != i % 5 || c.v[i].n_samples != 3 ||
			   c.v[i].value != (uint64_t)i * 3;
	tap_int(n_wrong, 0, "100000 entries keep their place while the table grows");
	counts_done(&c);
}

/* A place is only a hint. */
static void test_near(void)
{
	struct counts c;
	uint32_t place = UINT32_MAX;
	counts_init(&c, NULL);
	counts_add_near(&c, 0, 1, 0, 1, 10, false, &place);
	tap_int(place, 0, "the place of a new entry");
	counts_add_near(&c, 0, 2, 0, 1, 20, false, &place);
	tap_int(place, 1, "that of another one, with the first one's place");
	counts_prefetch_place(&c, place);
	counts_add_near(&c, 0, 2, 0, 1, 5, false, &place);
	place = 77;
	counts_prefetch(&c, 0, 1, 0);
	counts_prefetch_place(&c, place);
	counts_add_near(&c, 0, 1, 0, 1, 1, false, &place);
	tap_int(place, 0, "that of an entry, with a place that does not exist");
	tap_ok(c.n == 2 && c.v[0].value == 11 && c.v[0].n_samples == 2 && c.v[1].value == 25 &&
	       c.v[1].n_samples == 2, "each count is in its own entry");
	counts_done(&c);
}

/* Totals are right even with a budget: a refused count is added to another entry. */
static void test_budget(void)
{
	struct budget b;
	struct counts c;
	budget_init(&b, 100000);
	counts_init(&c, &b);
	uint64_t n_given = 0, n_refused = 0;
	for (uint32_t i = 0; i < 10000; i++) {
		if (!counts_add(&c, 0, i + 1, 0, 1, 1, false)) {
			n_refused++;
			if (!counts_add(&c, 0, 0, 0, 1, 1, true))
				break;
		}
		n_given++;
	}
	uint64_t sum = 0;
	for (uint32_t i = 0; i < c.n; i++)
		sum += c.v[i].value;
	tap_int((long long)n_given, 10000, "'always' is never refused");
	tap_int((long long)sum, 10000, "the sum of all entries is right");
	tap_ok(n_refused > 5000 && c.n < 5000, "%d were refused", (int)n_refused);
	tap_ok(counts_add(&c, 0, 1, 0, 1, 1, false), "existing entries are still found");
	counts_done(&c);
	tap_int((long long)b.used_bytes, 0, "all memory is released");
}

int main(void)
{
	test_sums();
	test_many();
	test_near();
	test_budget();
	return tap_done();
}
