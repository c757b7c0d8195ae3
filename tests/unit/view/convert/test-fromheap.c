/* What samples of blocks stand for, and stacks of addresses with their mappings. */

#include "base/err.h"
#include "tap.h"
#include "view/convert/fromheap.h"

#include <errno.h>
#include <string.h>

static struct fromtext of(const char *text)
{
	return fromtext_of(text, strlen(text));
}

static void test_numbers(void)
{
	struct fromtext t = of(" 12 0x1f ff 99999999999999999999");
	uint64_t n = 0;
	tap_ok(fromtext_number(&t, 10, &n) && n == 12, "a decimal number");
	tap_ok(fromtext_number(&t, 16, &n) && n == 31, "a hexadecimal one");
	tap_ok(fromtext_number(&t, 16, &n) && n == 255, "without 0x");
	tap_ok(!fromtext_number(&t, 10, &n) && n == 255, "one that is too large");
}

static void is_scaled(uint64_t n, uint64_t n_bytes, uint64_t period, uint64_t want_n,
		      uint64_t want_bytes)
{
	struct fromheap_pair p = fromheap_unbias((struct fromheap_pair){ n, n_bytes }, period);
	tap_ok(p.n == want_n && p.n_bytes == want_bytes,
	       "%llu blocks of %llu bytes, one sample in %llu: %llu of %llu", (unsigned long long)n,
	       (unsigned long long)n_bytes, (unsigned long long)period, (unsigned long long)p.n,
	       (unsigned long long)p.n_bytes);
}

/* Ids of locations count from 1. */
static void test_stacks(void)
{
	static const char text[] = "stacks\nMAPPED_LIBRARIES:\n"
		"1000-2000 r-xp 00000000 08:01 5 /opt/prog\n"
		"2000-3000 rw-p 00001000 08:01 5 /opt/prog\n"
		"8000-9000 r-xp 00000000 08:01 6 /opt/libjemalloc.so.2\n";
	struct err e = { 0 };
	struct fromheap x;
	struct fromtext rest;
	struct model *m = NULL;
	const struct fromheap_pair pair[3] = { { 0 }, { 3, 300 } };
	fromheap_begin(&x, FROMHEAP_INUSE, 1, &e);
	tap_ok(fromheap_maps(&x, fromtext_of(text, strlen(text)), &rest, &e) == 0 &&
	       fromtext_left(&rest) == 7 && x.map.n == 2, "two mappings have code");
	tap_ok(fromheap_addresses(&x, of("0x8010 0x1011 0x8020 0x1011 0x7000")) == 0 &&
	       x.ids.n == 4 && x.ids.v[0] == x.ids.v[2], "the allocator's functions are left out");
	fromheap_sample(&x, pair, 100);
	tap_int(fromheap_addresses(&x, of("0x1011 main")), -EINVAL, "a name is no address");
	tap_int(fromheap_finish(&x, &m, &e), 0, "the profile is valid");
	tap_ok(m && m->n_samples == 1 && m->n_types == 2 && model_value(m, 0, 1) == 300 &&
	       m->n_mappings == 2 &&
	       strcmp(model_string(m, m->mapping[0].filename), "/opt/prog") == 0,
	       "it has the values, and the program first");
	tap_ok(m && m->location[0].address == 0x1010, "return addresses become those of calls");
	model_free(m);
	fromheap_done(&x);
}

int main(void)
{
	test_numbers();
	is_scaled(10, 10240, 1, 10, 10240);
	is_scaled(0, 0, 524288, 0, 0);
	is_scaled(1, 524288, 524288, 1, 829411);
	is_scaled(10, 160, 524288, 327685, 5242960);
	test_stacks();
	return tap_done();
}
