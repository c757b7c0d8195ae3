#include "base/radix.h"

#include "tap.h"

#include <stdlib.h>

enum { N_MAX = 5000 };

static uint64_t next_random(uint64_t *x)
{
	*x = *x * 6364136223846793005u + 1442695040888963407u;
	return *x ^ *x >> 29;
}

/* Sorts random keys of that many bits, most of them with several items.  Checks that all items are
 * there, sorted, and in their original order within a key. */
static bool is_sorted(size_t n, unsigned bits)
{
	static struct radix_item item[N_MAX];
	uint64_t x = n + bits, sum = 0, left = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t key = next_random(&x) >> (64 - bits);
		item[i] = (struct radix_item){ key - (bits > 8 ? key % 4 : 0), (uint32_t)i };
		sum += item[i].key * (i + 1);
	}
	if (!radix_sort(item, n))
		return false;
	for (size_t i = 0; i < n; i++) {
		left += item[i].key * (item[i].value + 1u);
		const struct radix_item *a = &item[i ? i - 1 : 0], *b = &item[i];
		if (a != b && (a->key > b->key || (a->key == b->key && a->value >= b->value)))
			return false;
	}
	return left == sum;
}

int main(void)
{
	static const size_t n[] = { 0, 1, 2, 3, 100, 2048, N_MAX };
	for (size_t i = 0; i < sizeof(n) / sizeof(*n); i++) {
		bool ok = true;
		for (unsigned bits = 1; bits <= 64; bits++)
			ok &= is_sorted(n[i], bits);
		tap_ok(ok, "%zu items, keys of 1 to 64 bits", n[i]);
	}
	struct radix_item ends[] = { { UINT64_MAX, 0 }, { 0, 1 }, { 1ull << 63, 2 }, { 1, 3 } };
	tap_ok(radix_sort(ends, 4) && ends[0].value == 1 && ends[1].value == 3 &&
	       ends[2].value == 2 && ends[3].value == 0, "the lowest and the highest key");
	return tap_done();
}
