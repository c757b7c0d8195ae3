#include "base/search.h"

#include "tap.h"

#include <stddef.h>
#include <stdint.h>

/* Arrays of 0 .. n_max items with one border each: every result is known. */
static void test_all(size_t n_max)
{
	int n_wrong = 0, n_calls_max = 0;
	for (size_t n = 0; n <= n_max; n++) {
		for (size_t border = 0; border <= n; border++) {
			int n_calls = 0;
			n_wrong += SEARCH_COUNT(n, i, (n_calls++, i < border)) != border;
			n_calls_max = n_calls > n_calls_max ? n_calls : n_calls_max;
		}
	}
	tap_int(n_wrong, 0, "every border of 0 to 70 items");
	tap_int(n_calls_max, 7, "no more comparisons than needed");
}

int main(void)
{
	test_all(70);
	static const int v[] = { 1, 3, 3, 3, 8 };
	tap_int(SEARCH_COUNT(5u, i, v[i] < 3), 1, "the first of equal items");
	tap_int(SEARCH_COUNT(5u, i, v[i] <= 3), 4, "the first after equal items");
	tap_ok(sizeof(SEARCH_COUNT((uint32_t)5, i, v[i] <= 3)) == 4 &&
	       SEARCH_COUNT(UINT64_MAX, i, i < UINT64_C(1) << 63) == UINT64_C(1) << 63,
	       "the type of n is that of the result; no sum overflows");
	return tap_done();
}
