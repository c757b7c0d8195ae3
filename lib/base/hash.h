#ifndef CPROF_BASE_HASH_H
#define CPROF_BASE_HASH_H

/*
 * Hashes for tables in memory.  They depend on random numbers that are different in each process:
 * programs choose their names and addresses, and files contain any ids.  Otherwise many of them
 * could be chosen to have the same hash, and each look-up would read all of them.
 *
 * The hashes called fixed are the same in all processes: for names and ids, not for tables.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The finalizer of splitmix64: every input bit changes every output bit. */
static inline uint64_t hash_u64_fixed(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static inline uint64_t hash_pair_fixed(uint64_t a, uint64_t b)
{
	return hash_u64_fixed(a + 0x9e3779b97f4a7c15u + hash_u64_fixed(b));
}

/* Chosen when the program starts, and never changed; a forked child has the same. */
extern uint64_t hash_seed, hash_factor;

/* The factor is odd, so different numbers have different hashes. */
static inline uint64_t hash_u64(uint64_t x)
{
	return hash_u64_fixed((x ^ hash_seed) * hash_factor);
}

static inline uint64_t hash_pair(uint64_t a, uint64_t b)
{
	return hash_u64(a + hash_u64(b));
}

static inline uint64_t hash_word(const unsigned char *p)
{
	uint64_t w;
	memcpy(&w, p, sizeof(w));
	return w;
}

/* At most eight bytes; all of them are in the result, some of them twice. */
static inline uint64_t hash_short(const unsigned char *p, size_t n_bytes)
{
	if (n_bytes < 4)
		return n_bytes ? (uint64_t)p[0] << 16 | (uint64_t)p[n_bytes / 2] << 8 |
				 p[n_bytes - 1]
			       : 0;
	uint32_t first, last;
	memcpy(&first, p, sizeof(first));
	memcpy(&last, p + n_bytes - 4, sizeof(last));
	return (uint64_t)first << 32 | last;
}

/* Two words for one product, as wyhash does. */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_seeded(uint64_t seed, const void *data, size_t n_bytes)
{
	const uint64_t k = 0xa0761d6478bd642fu + hash_u64_fixed(seed);
	const unsigned char *p = data;
	uint64_t h = (0x9e3779b97f4a7c15u + seed) ^ n_bytes;
	if (n_bytes <= 8)
		return hash_u64_fixed(h ^ hash_u64_fixed(hash_short(p, n_bytes)));
	for (; n_bytes > 16; n_bytes -= 16, p += 16)
		h = hash_mix(hash_word(p) ^ h, hash_word(p + 8) ^ k);
	if (n_bytes > 8)
		return hash_u64_fixed(hash_mix(hash_word(p) ^ h, hash_word(p + n_bytes - 8) ^ k));
	return hash_u64_fixed(h ^ hash_word(p + n_bytes - 8));
}

static inline uint64_t hash_bytes(const void *data, size_t n_bytes)
{
	return hash_seeded(hash_seed, data, n_bytes);
}

static inline uint64_t hash_bytes_fixed(const void *data, size_t n_bytes)
{
	return hash_seeded(0, data, n_bytes);
}

#endif
