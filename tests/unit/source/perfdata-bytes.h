#ifndef CPROF_TESTS_UNIT_SOURCE_PERFDATA_BYTES_H
#define CPROF_TESTS_UNIT_SOURCE_PERFDATA_BYTES_H

/* Numbers, names and records of a perf.data file in either byte order: see perfdata-build.h. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct build {
	uint8_t v[1 << 16] __attribute__((aligned(8)));
	size_t n;
	bool swap;
};

static inline void put(struct build *b, const void *data, size_t n_bytes)
{
	memcpy(b->v + b->n, data, n_bytes);
	b->n += n_bytes;
}

static inline void u16(struct build *b, uint16_t x)
{
	x = b->swap ? __builtin_bswap16(x) : x;
	put(b, &x, sizeof(x));
}

static inline void u32(struct build *b, uint32_t x)
{
	x = b->swap ? __builtin_bswap32(x) : x;
	put(b, &x, sizeof(x));
}

static inline void u64(struct build *b, uint64_t x)
{
	x = b->swap ? __builtin_bswap64(x) : x;
	put(b, &x, sizeof(x));
}

static inline void zeros(struct build *b, size_t n_bytes)
{
	memset(b->v + b->n, 0, n_bytes);
	b->n += n_bytes;
}

static inline void align(struct build *b)
{
	zeros(b, -b->n & 7);
}

/* A name in a record: padded to whole words. */
static inline void name(struct build *b, const char *s)
{
	put(b, s, strlen(s) + 1);
	align(b);
}

/* A string in a header section: with its length. */
static inline void string(struct build *b, const char *s)
{
	u32(b, 64);
	put(b, s, strlen(s));
	zeros(b, 64 - strlen(s));
}

static inline size_t begin(struct build *b, uint32_t type, uint16_t misc)
{
	size_t at = b->n;
	u32(b, type);
	u16(b, misc);
	u16(b, 0);
	return at;
}

static inline void end(struct build *b, size_t at)
{
	size_t n = b->n;
	b->n = at + 6;
	u16(b, (uint16_t)(n - at));
	b->n = n;
}

/* Overwrites a number that was unknown when it was written. */
static inline void patch(struct build *b, size_t at, uint64_t x)
{
	size_t n = b->n;
	b->n = at;
	u64(b, x);
	b->n = n;
}

#endif
