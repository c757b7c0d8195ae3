#include "base/hashindex.h"

#include "base/budget.h"
#include "base/hash.h"
#include "tap.h"

#include <stdlib.h>

enum { N = 20000 };

static uint32_t find(const struct hashindex *x, const uint32_t *key, uint64_t hash, uint32_t want)
{
	return HASHINDEX_FIND(x, hash, i, key[i] == want);
}

static void test_find(void)
{
	struct hashindex x = { 0 };
	static uint32_t key[N];
	int n_wrong = 0;
	tap_int(find(&x, key, hash_u64(1), 1), HASHINDEX_NONE, "an empty index has no id");
	for (uint32_t i = 0; i < N; i++) {
		key[i] = i * 7;
		n_wrong += find(&x, key, hash_u64(key[i]), key[i]) != HASHINDEX_NONE ||
			   !hashindex_add(&x, hash_u64(key[i]), i);
	}
	tap_int(n_wrong, 0, "a new key is not found, and added");
	for (uint32_t i = 0; i < N; i++)
		n_wrong += find(&x, key, hash_u64(key[i]), key[i]) != i ||
			   find(&x, key, hash_u64(key[i] + 1), key[i] + 1) != HASHINDEX_NONE;
	tap_int(n_wrong, 0, "after growing every key is found, and no other");
	tap_ok(x.n == N && x.n <= x.n_slots / 2, "at most half of %u slots are used", x.n_slots);
	hashindex_done(&x);
	tap_ok(x.n == 0 && find(&x, key, hash_u64(7), 7) == HASHINDEX_NONE, "done leaves it empty");
}

/* With one hash for all, only the comparison distinguishes them. */
static void test_equal_hashes(void)
{
	struct hashindex x = { 0 };
	static uint32_t key[300];
	const uint64_t hash = UINT64_MAX;
	int n_wrong = 0;
	for (uint32_t i = 0; i < 300; i++) {
		key[i] = i + 1000;
		n_wrong += !hashindex_add(&x, hash, i);
	}
	for (uint32_t i = 0; i < 300; i++)
		n_wrong += find(&x, key, hash, i + 1000) != i;
	tap_int(n_wrong, 0, "equal hashes: the comparison decides");
	tap_int(HASHINDEX_FIND(&x, hash ^ UINT64_C(1) << 63, i, (n_wrong++, true)), HASHINDEX_NONE,
		"another hash is not found");
	tap_int(n_wrong, 0, "and its items are not compared");
	hashindex_done(&x);
	tap_ok(hashindex_add(&x, 0, HASHINDEX_NONE - 1) &&
	       HASHINDEX_FIND(&x, UINT64_C(0), i, true) == HASHINDEX_NONE - 1,
	       "the highest id, and a hash of 0");
	hashindex_done(&x);
}

/* Many keys share a first slot, so removing one must not end the probes of the others. */
static void test_remove(void)
{
	struct hashindex x = { 0 };
	static uint32_t key[512];
	static bool is_in[512];
	uint64_t random = 1;
	int n_wrong = 0;
	hashindex_remove(&x, 1, 1);
	for (uint32_t i = 0; i < 512; i++)
		key[i] = i;
	for (int step = 0; step < 100000; step++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		uint32_t i = (uint32_t)(random >> 33) % 512;
		uint64_t hash = (uint64_t)(i / 8) << 32;
		n_wrong += find(&x, key, hash, i) != (is_in[i] ? i : HASHINDEX_NONE);
		bool remove = is_in[i] || random >> 63;  /* also absent items */
		if (remove)
			hashindex_remove(&x, hash, i);
		else
			n_wrong += !hashindex_add(&x, hash, i);
		is_in[i] = !remove;
	}
	uint32_t n_in = 0;
	for (uint32_t i = 0; i < 512; i++)
		n_in += is_in[i];
	tap_int(n_wrong, 0, "100000 times added, removed and looked up");
	tap_int(x.n, n_in, "the count is right");
	hashindex_done(&x);
}

static void test_budget(void)
{
	struct budget b;
	budget_init(&b, 4096);
	struct hashindex x = { .budget = &b };
	uint32_t n = 0;
	while (hashindex_add(&x, hash_u64(n), n))
		n++;
	tap_ok(n == 192 && x.n_slots == 256 && b.used_bytes == 2048,
	       "with a budget three quarters of the slots are used");
	while (x.n_slots == 256 && hashindex_reserve(&x, true))
		hashindex_put(&x, hash_u64(n), n), n++;
	tap_ok(n == 225 && b.used_bytes == 4096 && b.peak_bytes == 4096 + 2048,
	       "'always' fills seven eighths, then charges beyond it");
	int n_wrong = 0;
	for (uint32_t i = 0; i < n; i++)
		n_wrong += HASHINDEX_FIND(&x, hash_u64(i), k, k == i) != i;
	tap_int(n_wrong, 0, "all are found");
	hashindex_done(&x);
	tap_ok(b.used_bytes == 0 && x.budget == &b, "done releases what was charged");
}

/* The hash of bytes depends on each of them, and on their number. */
static void test_bytes(void)
{
	int n_equal = 0;
	for (size_t n = 0; n <= 70; n++) {
		uint8_t *bytes = calloc(n + 1, 1), *copy = malloc(n ? n : 1);
		uint64_t hash = hash_bytes(bytes, n);
		n_equal += hash == hash_bytes(bytes, n + 1);
		for (size_t i = 0; i < n; i++) {
			memcpy(copy, bytes, n);
			copy[i] = 1;
			n_equal += hash_bytes(copy, n) == hash;
		}
		free(bytes);
		free(copy);
	}
	tap_int(n_equal, 0, "a hash of bytes depends on each of them");
}

#define CHOSEN 1000

/* The second word makes the product of the fixed hash zero, whatever the first one is. */
static void test_chosen(void)
{
	const uint64_t k = 0xa0761d6478bd642fu;
	uint64_t name[2] = { 0, k };
	int n_same = 0, n_same_fixed = 0;
	for (name[0] = 1; name[0] <= CHOSEN; name[0]++) {
		uint64_t next[2] = { name[0] + 1, k };
		n_same += hash_bytes(name, 16) >> 32 == hash_bytes(next, 16) >> 32;
		n_same_fixed += hash_bytes_fixed(name, 16) == hash_bytes_fixed(next, 16);
	}
	tap_int(n_same_fixed, CHOSEN, "names can be chosen to have the same fixed hash");
	tap_int(n_same, 0, "but not the same hash of a table");
	tap_ok(hash_seed && hash_bytes("a", 1) != hash_bytes_fixed("a", 1),
	       "which is another one in each process");
}

static uint64_t undo_shift(uint64_t x, unsigned n_bits)
{
	uint64_t y = x;
	for (unsigned n = n_bits; n < 64; n += n_bits)
		y = x ^ y >> n_bits;
	return y;
}

/* The number with this fixed hash. */
static uint64_t number_of(uint64_t hash)
{
	uint64_t x = undo_shift(hash, 31) * 0x319642b2d24d8ec3u;
	return undo_shift(undo_shift(x, 27) * 0x96de1b173f119089u, 30);
}

/* Ids in a file and addresses of a program can be any numbers: with the fixed hash, those chosen
 * here would all begin at one slot. */
static void test_chosen_numbers(void)
{
	int n_same_fixed = 0, n_same = 0, n_same_pairs = 0;
	uint64_t first = number_of(0);
	for (uint64_t i = 1; i <= CHOSEN; i++) {
		uint64_t x = number_of(i);
		n_same_fixed += hash_u64_fixed(x) >> 32 == hash_u64_fixed(first) >> 32;
		n_same += hash_u64(x) >> 32 == hash_u64(first) >> 32;
		n_same_pairs += hash_pair(7, x) >> 32 == hash_pair(7, first) >> 32;
	}
	tap_int(n_same_fixed, CHOSEN, "numbers can be chosen to have the same fixed hash");
	tap_ok(n_same == 0 && n_same_pairs == 0, "but not the same hash of a table");
	int n_equal = 0;
	for (uint64_t i = 1; i <= CHOSEN; i++)
		n_equal += hash_u64(i) == hash_u64(i - 1);
	tap_ok(n_equal == 0 && hash_factor % 2 == 1 && hash_factor != 1,
	       "and different numbers have different ones");
}

int main(void)
{
	test_bytes();
	test_chosen();
	test_chosen_numbers();
	test_find();
	test_equal_hashes();
	test_remove();
	test_budget();
	return tap_done();
}
