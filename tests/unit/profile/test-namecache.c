#include "profile/namecache.h"
#include "tests/unit/tap.h"

#include <errno.h>

static const struct namecache_line lines[] = {
	{ "inner", "inner", "a.c", 3, 1, 2 }, { "outer(int)", "_Z5outeri", "a.c", 10, 0, 9 },
};

static struct namecache_item item_at(const char *key, uint64_t vaddr)
{
	return (struct namecache_item){
		.key = key, .vaddr = vaddr, .address = vaddr, .source = SYMBOLIZER_DWARF,
		.has = NAMECACHE_FUNCTIONS | NAMECACHE_INLINE_FRAMES, .line = lines, .n_lines = 2,
	};
}

static const struct namecache_entry *find(const struct namecache *c, const char *key,
					  uint64_t vaddr, const struct namecache_generation **in)
{
	return namecache_find(c, namecache_file(c, key), vaddr, in);
}

static void test_round_trip(void)
{
	struct namecache c = { 0 };
	struct namecache_bytes b = { 0 };
	const struct namecache_generation *in;
	struct namecache_item a = item_at("id /a", 16), k = item_at("kernel 1", 4096);
	k.has_place = true;
	k.address = 96;
	k.start = 0;
	k.limit = 8192;
	k.shift = 4000;
	k.filename = "[kernel.kallsyms]";
	k.build_id = "abcd";
	k.n_lines = 1;
	tap_ok(namecache_put(&b, &a) && namecache_put(&b, &k) && namecache_put(&b, &a),
	       "three items are written");
	tap_int(namecache_add(&c, b.data.v, b.data.n, 1 << 20), (long)b.data.n, "and read");
	tap_int(c.now->n_entries, 2, "one was there twice");
	const struct namecache_entry *e = find(&c, "id /a", 16, &in);
	tap_ok(e && in == c.now && e->n_lines == 2 && e->source == SYMBOLIZER_DWARF &&
	       e->has == a.has && e->place == NAMECACHE_NO_PLACE, "the first is found");
	const struct symline *l = e ? &in->line[e->first_line + 1] : NULL;
	tap_str(l ? strtab_get(&in->strings, l->name) : "", "outer(int)", "with its name");
	tap_str(l ? strtab_get(&in->strings, l->linkage) : "", "_Z5outeri", "its linkage name");
	tap_ok(l && l->line == 10 && l->start_line == 9, "and its lines");
	e = find(&c, "kernel 1", 4096, &in);
	tap_ok(e && e->address == 96 && e->place != NAMECACHE_NO_PLACE &&
	       in->places.v[e->place].shift == 4000, "the kernel's has a place");
	tap_ok(!find(&c, "id /a", 17, &in) && !find(&c, "id /b", 16, &in) &&
	       !find(&c, "", 16, &in), "others are unknown");
	namecache_done(&c);
	tap_ok(!find(&c, "id /a", 16, &in) && namecache_bytes_used(&c) == 0,
	       "an empty cache knows nothing");
	VEC_FREE(&b.data);
}

static bool add_range(struct namecache *c, const char *key, uint64_t start, uint64_t end)
{
	struct namecache_bytes b = { 0 };
	struct namecache_item a = item_at(key, start);
	a.end = end;
	bool ok = namecache_put(&b, &a) &&
		  namecache_add(c, b.data.v, b.data.n, 1 << 20) == (long)b.data.n;
	VEC_FREE(&b.data);
	return ok;
}

static uint64_t start_of(const struct namecache *c, const char *key, uint64_t vaddr)
{
	const struct namecache_generation *in;
	const struct namecache_entry *e = find(c, key, vaddr, &in);
	return e ? e->vaddr : 0;
}

static void test_ranges(void)
{
	struct namecache c = { 0 };
	for (uint64_t i = 0; i < 1000; i++)  /* in no order */
		if (!add_range(&c, i % 2 ? "a" : "b", 16 + i * 7919 % 1000 * 16,
			       16 + i * 7919 % 1000 * 16 + 10))
			tap_ok(false, "a range is taken");
	uint64_t n_right = 0, n_known = 0;
	for (uint64_t at = 16; at < 16 + 16000; at++) {
		uint64_t a = start_of(&c, "a", at), b = start_of(&c, "b", at);
		n_known += (a != 0) + (b != 0);
		n_right += (a ? a : b) == at / 16 * 16;
	}
	tap_int((long long)n_known, 10000, "each address of a range is known, and no other");
	tap_int((long long)n_right, 10000, "and found in its own range");
	tap_ok(add_range(&c, "a", 20, 40) && add_range(&c, "c", 5, 0) && add_range(&c, "c", 1, 9),
	       "ranges beside others are taken");
	tap_int((long long)start_of(&c, "c", 5), 5, "an address is found before its range");
	tap_int((long long)start_of(&c, "c", 6), 1, "and beside it the range");
	tap_ok(!add_range(&c, "d", 9, 9) && !add_range(&c, "d", 9, 8), "no range ends early");
	namecache_done(&c);
}

static void test_limit(void)
{
	const size_t limit = 1 << 20;
	struct namecache c = { 0 };
	const struct namecache_generation *in;
	size_t most = 0;
	uint64_t n = 0;
	for (; n < 60000; n++) {
		struct namecache_bytes b = { 0 };
		/* One address is sent again whenever it is only in the older generation. */
		bool is_used = n % 100 == 0 && (!find(&c, "used", 1, &in) || in != c.now);
		struct namecache_item a = is_used ? item_at("used", 1) : item_at("id /a", n);
		if (!namecache_put(&b, &a) || namecache_add(&c, b.data.v, b.data.n, limit) < 0)
			break;
		most = namecache_bytes_used(&c) > most ? namecache_bytes_used(&c) : most;
		VEC_FREE(&b.data);
	}
	tap_int((long long)n, 60000, "60,000 entries are taken");
	tap_ok(most <= limit && most > limit / 3, "the limit holds, and is used");
	tap_ok(find(&c, "id /a", 59999, &in) != NULL, "the last one is known");
	tap_ok(!find(&c, "id /a", 1, &in), "the first one is not");
	tap_ok(find(&c, "used", 1, &in) != NULL, "what was used again is");
	namecache_done(&c);
}

static void test_damage(void)
{
	struct namecache c = { 0 };
	struct namecache_bytes b = { 0 };
	struct namecache_item a = item_at("id /a", 16);
	namecache_put(&b, &a);
	long n = (long)b.data.n;
	namecache_put(&b, &a);
	tap_int(namecache_add(&c, b.data.v, b.data.n - 1, 1 << 20), n, "half an item waits");
	b.data.v[n - 1] = 'x';
	tap_int(namecache_add(&c, b.data.v, b.data.n, 1 << 20), -EINVAL, "no NUL at the end");
	b.data.v[0] = 1;
	tap_int(namecache_add(&c, b.data.v, b.data.n, 1 << 20), -EINVAL, "a wrong length");
	a.n_lines = 0;
	b.data.n = 0;
	namecache_put(&b, &a);
	tap_int(namecache_add(&c, b.data.v, b.data.n, 1 << 20), -EINVAL, "an item without lines");
	namecache_done(&c);
	VEC_FREE(&b.data);
}

int main(void)
{
	test_round_trip();
	test_ranges();
	test_limit();
	test_damage();
	return tap_done();
}
