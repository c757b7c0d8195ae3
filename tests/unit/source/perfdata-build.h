#ifndef CPROF_TESTS_UNIT_PERFDATA_BUILD_H
#define CPROF_TESTS_UNIT_PERFDATA_BUILD_H

/*
 * Builds perf.data files in either byte order.  `begin` and `end` enclose a record or section;
 * numbers are written by `u16`, `u32`, `u64`.
 */

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/unit/source/perfdata-bytes.h"

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
