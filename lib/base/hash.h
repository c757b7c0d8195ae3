#ifndef CPROF_BASE_HASH_H
#define CPROF_BASE_HASH_H

/* Hashes for tables in memory.  No file contains them, so they may change. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The finalizer of splitmix64: every input bit changes every output bit. */
static inline uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static inline uint64_t hash_pair(uint64_t a, uint64_t b)
{
	return hash_u64(a + 0x9e3779b97f4a7c15u + hash_u64(b));
}

static inline uint64_t hash_bytes(const void *data, size_t n_bytes)
{
	const unsigned char *p = data;
	uint64_t h = 0x9e3779b97f4a7c15u ^ n_bytes;
	for (; n_bytes >= 8; n_bytes -= 8, p += 8) {
		uint64_t w;
		memcpy(&w, p, 8);
		h = hash_u64(h ^ w);
	}
	uint64_t w = 0;
	memcpy(&w, p, n_bytes);
	return hash_u64(h ^ w);
}

#endif
