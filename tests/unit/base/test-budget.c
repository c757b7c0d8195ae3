#include "base/budget.h"

#include "tap.h"

#include <stdint.h>
#include <stdlib.h>

/* An array of 8-byte items, one more each time. */
static uint32_t fill(struct budget *b, uint64_t **v, uint32_t *cap, uint32_t n, bool always)
{
	while (n < 5000 && budget_grow_array(b, (void **)v, cap, n, 1, sizeof(**v), always)) {
		(*v)[n] = n;
		n++;
	}
	return n;
}

static void test_array(void)
{
	struct budget b;
	uint64_t *v = NULL;
	uint32_t cap = 0, n;
	budget_init(&b, 8 * 2500);
	n = fill(&b, &v, &cap, 0, false);
	tap_ok(n == cap && n >= 2500 - 2048 / 16 && n <= 2500 && b.used_bytes == 8 * n,
	       "an array doubles, then grows by less, until %u of 2500 items fit", n);
	tap_ok(!budget_grow_array(&b, (void **)&v, &cap, n, 1, 8, false) && cap == n &&
	       b.used_bytes == 8 * n, "a refusal changes nothing");
	tap_ok(budget_grow_array(&b, (void **)&v, &cap, n, 200, 8, true) && cap == n + 200 &&
	       b.used_bytes == 8 * cap && b.used_bytes > b.limit_bytes,
	       "'always' grows beyond the limit, but only as much as needed");
	uint64_t n_wrong = 0;
	for (uint32_t i = 0; i < n; i++)
		n_wrong += v[i] != i;
	tap_int((long long)n_wrong, 0, "the items are kept");
	tap_ok(!budget_grow_array(&b, (void **)&v, &cap, n, 1u << 30, 8, true),
	       "2^30 more items are refused");
	free(v);
	v = NULL;
	cap = 0;
	tap_int(fill(NULL, &v, &cap, 0, false), 5000, "without a budget there is no limit");
	free(v);
}

int main(void)
{
	test_array();
	struct budget b;
	budget_init(&b, 100);
	tap_ok(budget_charge(&b, 60) && b.used_bytes == 60, "charged");
	tap_ok(!budget_charge(&b, 41) && b.used_bytes == 60 && b.n_refused == 1,
	       "a charge beyond the limit is refused, with nothing charged");
	tap_ok(budget_charge(&b, 40) && b.used_bytes == 100, "up to the limit");
	tap_ok(!budget_charge(&b, 1), "not a byte more");
	tap_ok(budget_charge(&b, 0), "0 bytes are always allowed");
	tap_ok(!budget_charge(&b, SIZE_MAX) && b.used_bytes == 100, "sums do not overflow");
	budget_charge_always(&b, 50);
	tap_ok(b.used_bytes == 150 && b.peak_bytes == 150, "charged beyond the limit");
	tap_ok(!budget_charge(&b, 1) && b.n_refused == 4, "beyond the limit everything is refused");
	budget_release(&b, 120);
	tap_ok(b.used_bytes == 30 && b.peak_bytes == 150, "released; the peak stays");
	tap_ok(budget_charge(&b, 70), "and memory can be charged again");
	budget_init(&b, 0);
	tap_ok(budget_charge(&b, SIZE_MAX / 2) && budget_charge(&b, 1) && !b.n_refused,
	       "0 means no limit");
	return tap_done();
}
