#ifndef CPROF_SYMBOLIZE_UNWIND_UNWIND_CACHE_H
#define CPROF_SYMBOLIZE_UNWIND_UNWIND_CACHE_H

/*
 * A cache of rules.  Keys are 64-bit hashes of an address, and equal keys are treated as equal
 * addresses: see unwind_cache_key.  Only the unwinder uses this.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "symbolize/cfi/cfi.h"

/* Entries of a cache line; a key may be in any of them. */
#define UNWIND_CACHE_WAYS 4u

struct unwind_cache_entry {
	uint64_t key;
	struct cfi_rule rule;           /* kind CFI_EMPTY: no entry */
};

struct unwind_cache {
	struct unwind_cache_entry *v;   /* mask + 1, a power of two */
	uint64_t mask;
};

/* id is that of an address space or of a file. */
static inline uint64_t unwind_cache_salt(uint64_t id)
{
	return hash_u64(id + 0x9e3779b97f4a7c15u);
}

/* Keys collide if two pcs (47 bits) differ by exactly the same 64-bit number as two salts.  The
 * chance is 1 in 2^64 per pair, and the result is one wrong frame.  The low bits select the entry
 * without further hashing, for which every step would wait: rules of different functions share a
 * line as rarely as with a better hash (measured with 6800 rules of clang). */
static inline uint64_t unwind_cache_key(uint64_t salt, uint64_t pc)
{
	return pc + salt;
}

/* The key's entry, or NULL. */
static inline const struct unwind_cache_entry *unwind_cache_get(const struct unwind_cache *c,
								uint64_t key)
{
	uint64_t at = key & c->mask;
	for (uint64_t i = 0; i < UNWIND_CACHE_WAYS; i++)
		if (__builtin_expect(c->v[at ^ i].key == key, i == 0))
			return c->v[at ^ i].rule.kind == CFI_EMPTY ? NULL : &c->v[at ^ i];
	return NULL;
}

/* The entry to use for a key that is not in the cache. */
static inline struct unwind_cache_entry *unwind_cache_free(const struct unwind_cache *c,
							   uint64_t key)
{
	uint64_t at = key & c->mask;
	for (uint64_t i = 0; i < UNWIND_CACHE_WAYS; i++)
		if (c->v[at ^ i].rule.kind == CFI_EMPTY)
			return &c->v[at ^ i];
	return &c->v[at];
}

static inline void unwind_cache_put(struct unwind_cache *c, uint64_t key, struct cfi_rule rule)
{
	struct unwind_cache_entry *e = (struct unwind_cache_entry *)unwind_cache_get(c, key);
	if (!e)
		e = unwind_cache_free(c, key);
	*e = (struct unwind_cache_entry){ .key = key, .rule = rule };
}

#endif
