#include "preload/alloc-live.h"

#include "tests/unit/tap.h"

static const void *block(uint64_t i)
{
	return (const void *)(uintptr_t)(i * 48 + 0x7f0000000000);
}

int main(void)
{
	enum { N = 100000 };
	uint32_t n_added = 0, n_taken = 0;
	tap_ok(!alloc_live_may_have(block(1)) && !alloc_live_take(block(1)), "an empty table");
	tap_ok(alloc_live_add(block(1)) && alloc_live_may_have(block(1)), "a block is found");
	tap_ok(alloc_live_add(block(1)) && alloc_live_take(block(1)) && !alloc_live_take(block(1)),
	       "and is there only once");
	tap_ok(!alloc_live_may_have(block(1)), "its place is free again");
	for (uint64_t i = 0; i < N; i++)
		n_added += alloc_live_add(block(i));
	tap_ok(n_added > N * 999 / 1000, "%u of %d blocks find room", n_added, N);
	bool right = true;
	for (uint64_t i = 0; i < N; i++)
		right &= alloc_live_may_have(block(i)) || i >= n_added;
	for (uint64_t i = N; i < 2 * N; i++)
		right &= !alloc_live_take(block(i));
	for (uint64_t i = 0; i < N; i++)
		n_taken += alloc_live_take(block(i));
	tap_ok(right && n_taken == n_added, "each is taken once, and no other");
	alloc_live_add(block(7));
	alloc_live_clear();
	tap_ok(!alloc_live_may_have(block(7)) && !alloc_live_take(block(7)), "a cleared table");
	return tap_done();
}
