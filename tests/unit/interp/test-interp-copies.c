#include "interp/interp-copies.h"
#include "interp/interp-ops.h"
#include "stack/stack-regs.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static struct runtime_pages pages;
static uint64_t wanted[RUNTIME_COPY_PARTS];
static size_t n_wanted;
static uint32_t wanted_tid;
static int n_asked;
static bool is_refused;

static bool want(void *ctx, uint32_t tid, const uint64_t *at, size_t n)
{
	(void)ctx;
	memcpy(wanted, at, n * sizeof(*at));
	n_wanted = n;
	wanted_tid = tid;
	n_asked++;
	return !is_refused;
}

static bool find(void *ctx, uint32_t cpu, uint32_t tid, uint64_t time_ns, struct runtime_copy *ret)
{
	(void)ctx;
	ret->n = cpu + tid + (uint32_t)time_ns;
	return tid == 7;
}

static void use(uint64_t n, uint64_t first)
{
	pages.pages.n = 0;
	for (uint64_t at = first * RUNTIME_PART_BYTES; n-- > 0; at += RUNTIME_PART_BYTES) {
		uint64_t off = at % RUNTIME_PAGE_BYTES;
		struct runtime_page page = { .at = at - off, .is_read = true };
		page.used = (uint8_t)(1u << off / RUNTIME_PART_BYTES);
		if (!VEC_PUSH(&pages.pages, page))
			exit(1);
	}
}

int main(void)
{
	const struct interp_runtime r = { .frame_pages = &pages };
	static const uint8_t stack[2 * RUNTIME_PART_BYTES];
	struct stack_regs_walk w = { .stack = stack };
	struct interp_copies none = { .ctx = NULL }, c = { .find = find, .want = want };
	use(3, 10);
	interp_copies_want(&none, &r, 7, &w);
	tap_ok(!interp_copies_find(&none, 1, 7, 100, &w) && n_asked == 0, "nothing is copied");
	interp_copies_want(&c, &r, 7, &w);
	tap_ok(n_asked == 1 && wanted_tid == 7 && n_wanted == 3, "what was used is wanted");
	use(2, 11);
	interp_copies_want(&c, &r, 7, &w);
	tap_int(n_asked, 1, "nothing changes while all of it is");
	use(2, 12);
	interp_copies_want(&c, &r, 7, &w);
	tap_ok(n_asked == 2 && n_wanted == 4 && wanted[0] == 12 * RUNTIME_PART_BYTES &&
	       wanted[3] == 11 * RUNTIME_PART_BYTES, "what is new, and what was used before");
	use(15, 100);
	interp_copies_want(&c, &r, 7, &w);
	tap_ok(n_wanted == RUNTIME_COPY_PARTS && wanted[14] == 114 * RUNTIME_PART_BYTES &&
	       wanted[15] == 12 * RUNTIME_PART_BYTES, "as far as there is room");
	use(1, 10);
	interp_copies_want(&c, &r, 7 + INTERP_COPIES_THREADS, &w);
	tap_ok(wanted_tid == 7 + INTERP_COPIES_THREADS && n_wanted == 1, "another thread");
	is_refused = true;
	use(1, 20);
	interp_copies_want(&c, &r, 7, &w);
	is_refused = false;
	n_asked = 0;
	interp_copies_want(&c, &r, 7, &w);
	tap_int(n_asked, 1, "what was refused is tried again");
	const struct runtime_copy *copy = interp_copies_find(&c, 1, 7, 100, &w);
	tap_ok(copy && copy->n == 108 && copy->n_stack_bytes == 0, "the copy at a sample");
	w.stack_at = 1000 * RUNTIME_PART_BYTES + 16;
	w.n_stack_bytes = sizeof(stack);
	copy = interp_copies_find(&c, 1, 7, 100, &w);
	tap_ok(copy && copy->stack == stack && copy->stack_at == w.stack_at &&
	       copy->n_stack_bytes == sizeof(stack), "with the copy of its stack");
	use(6, 998);
	interp_copies_want(&c, &r, 9, &w);
	tap_ok(wanted_tid == 9 && n_wanted == 1 && wanted[0] == 1003 * RUNTIME_PART_BYTES,
	       "what is on the stack, or may come there, is not wanted");
	tap_ok(!interp_copies_find(&c, 1, 8, 100, &w), "a sample without one");
	VEC_FREE(&pages.pages);
	return tap_done();
}
