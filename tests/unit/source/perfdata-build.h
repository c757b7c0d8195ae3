#ifndef CPROF_TESTS_UNIT_PERFDATA_BUILD_H
#define CPROF_TESTS_UNIT_PERFDATA_BUILD_H

/*
 * Builds perf.data files in either byte order.  `begin` and `end` enclose a record or section;
 * numbers are written by `u16`, `u32`, `u64`.
 */

#include <linux/perf_event.h>
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

/* PERF_ATTR_SIZE_VER7; the flags in the layout of a compiler for that byte order. */
#define ATTR_BYTES 128

static inline void put_attr(struct build *b, const struct perf_event_attr *a)
{
	size_t at = b->n;
	u32(b, a->type);
	u32(b, ATTR_BYTES);
	u64(b, a->config);
	u64(b, a->sample_period);
	u64(b, a->sample_type);
	u64(b, a->read_format);
	uint8_t flags[8];
	memcpy(flags, (const char *)a + offsetof(struct perf_event_attr, read_format) + 8, 8);
	for (size_t i = 0; i < 8 && b->swap; i++) {
		uint8_t r = 0;
		for (unsigned k = 0; k < 8; k++)
			r |= (uint8_t)((flags[i] >> k & 1) << (7 - k));
		flags[i] = r;
	}
	put(b, flags, 8);
	zeros(b, 8);                   /* wakeup_events, bp_type */
	u64(b, a->config1);
	u64(b, a->config2);
	u64(b, a->branch_sample_type);
	u64(b, a->sample_regs_user);
	u32(b, a->sample_stack_user);
	u32(b, (uint32_t)a->clockid);
	u64(b, a->sample_regs_intr);
	zeros(b, ATTR_BYTES - (b->n - at));
}

#define HEADER_BYTES 104
#define DATA_SECTION_AT 40             /* in the header: offset, size */
#define FEATURES_AT 72

static inline void put_magic(struct build *b)
{
	u64(b, 0x32454c4946524550);    /* "PERFILE2" where the order is little-endian */
}

/*
 * The beginning of a file with n events; event i has the ids 100 + 10 i and 101 + 10 i.  The data
 * follow; finish_data ends them.
 */
static inline void begin_file(struct build *b, const struct perf_event_attr *attr, size_t n)
{
	size_t ids_at = HEADER_BYTES, attrs_at = ids_at + n * 16;
	put_magic(b);
	u64(b, HEADER_BYTES);
	u64(b, ATTR_BYTES + 16);
	u64(b, attrs_at);
	u64(b, n * (ATTR_BYTES + 16));
	u64(b, attrs_at + n * (ATTR_BYTES + 16));
	u64(b, 0);
	zeros(b, 16 + 32);
	for (size_t i = 0; i < n; i++) {
		u64(b, 100 + 10 * i);
		u64(b, 101 + 10 * i);
	}
	for (size_t i = 0; i < n; i++) {
		put_attr(b, &attr[i]);
		u64(b, ids_at + i * 16);
		u64(b, 16);
	}
}

static inline void finish_data(struct build *b, size_t n_events, uint64_t features)
{
	patch(b, DATA_SECTION_AT + 8, b->n - HEADER_BYTES - n_events * (ATTR_BYTES + 32));
	patch(b, FEATURES_AT, features);
}

#endif
