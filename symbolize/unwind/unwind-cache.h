#ifndef CPROF_SYMBOLIZE_UNWIND_UNWIND_CACHE_H
#define CPROF_SYMBOLIZE_UNWIND_UNWIND_CACHE_H

/*
 * Rules by 64-bit keys, which are hashes of a place and are not compared any further: see
 * unwind_cache_key.  Only the unwinder uses this.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "symbolize/cfi/cfi.h"

/* Entries of a cache line: a key may be in any of its line's. */
#define UNWIND_CACHE_WAYS 4u

struct unwind_cache_entry {
	uint64_t key;
	struct cfi_rule rule;           /* kind CFI_EMPTY: no entry */
};

struct unwind_cache {
	struct unwind_cache_entry *v;   /* mask + 1, a power of two */
	uint64_t mask;
};

/* id: of an address space or of a file. */
static inline uint64_t unwind_cache_salt(uint64_t id)
{
	return hash_u64(id + 0x9e3779b97f4a7c15u);
}

/* Two keys are equal when pcs (47 bits of freedom) differ exactly as two salts do in all 64
 * bits: one chance in 2^64 per pair, and its price is one wrong frame.  Where a key's entry is say
 * its low bits: each operation more is waited for in every step, and rules of different functions
 * meet in a line as rarely as by a better hash (measured with 6800 rules of clang). */
static inline uint64_t unwind_cache_key(uint64_t salt, uint64_t pc)
{
	return pc + salt;
}

/* The key's entry; NULL when it has none. */
static inline const struct unwind_cache_entry *unwind_cache_get(const struct unwind_cache *c,
								uint64_t key)
{
	uint64_t at = key & c->mask;
	for (uint64_t i = 0; i < UNWIND_CACHE_WAYS; i++)
		if (__builtin_expect(c->v[at ^ i].key == key, i == 0))
			return c->v[at ^ i].rule.kind == CFI_EMPTY ? NULL : &c->v[at ^ i];
	return NULL;
}

/* The entry to be used for a key that has none. */
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
