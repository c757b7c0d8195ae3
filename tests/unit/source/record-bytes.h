#ifndef CPROF_TESTS_UNIT_SOURCE_RECORD_BYTES_H
#define CPROF_TESTS_UNIT_SOURCE_RECORD_BYTES_H

/* The pieces of raw kernel records, written into a growing buffer: see record-build.h. */

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct record_build {
	uint8_t *v;         /* aligned for any type */
	size_t n_bytes, cap;
	size_t at;          /* start of the record that is being written */
};

/* The sample id fields: who and when. */
struct record_build_id {
	uint32_t pid, tid;
	uint64_t time_ns;
	uint64_t id;        /* the event's */
	uint64_t stream_id;
	uint32_t cpu;
};

static inline void record_build_done(struct record_build *b)
{
	free(b->v);
	*b = (struct record_build){ 0 };
}

/* ---- pieces ---------------------------------------------------------------- */

static inline void record_build_bytes(struct record_build *b, const void *data, size_t n_bytes)
{
	if (b->n_bytes + n_bytes > b->cap) {
		b->cap = 2 * (b->n_bytes + n_bytes) + 4096;
		b->v = realloc(b->v, b->cap);
		if (!b->v)
			abort();
	}
	if (n_bytes)
		memcpy(b->v + b->n_bytes, data, n_bytes);
	b->n_bytes += n_bytes;
}

static inline void record_build_u64(struct record_build *b, uint64_t x)
{
	record_build_bytes(b, &x, sizeof(x));
}

static inline void record_build_u32s(struct record_build *b, uint32_t first, uint32_t second)
{
	record_build_bytes(b, &first, sizeof(first));
	record_build_bytes(b, &second, sizeof(second));
}

/* A string as the kernel writes it: its NUL, then zeros up to 8 bytes. */
static inline void record_build_text(struct record_build *b, const char *text)
{
	size_t n = strlen(text) + 1;
	record_build_bytes(b, text, n);
	record_build_bytes(b, "\0\0\0\0\0\0\0", -n & 7);
}

static inline void record_build_begin(struct record_build *b, uint32_t type, uint16_t misc)
{
	struct perf_event_header h = { .type = type, .misc = misc };
	b->at = b->n_bytes;
	record_build_bytes(b, &h, sizeof(h));
}

static inline void record_build_end(struct record_build *b)
{
	struct perf_event_header *h = (struct perf_event_header *)(b->v + b->at);
	h->size = (uint16_t)(b->n_bytes - b->at);
}

/* The sample id fields at the end of a record, with sample_id_all. */
static inline void record_build_trailer(struct record_build *b, uint64_t sample_type,
					const struct record_build_id *id)
{
	if (sample_type & PERF_SAMPLE_TID)
		record_build_u32s(b, id->pid, id->tid);
	if (sample_type & PERF_SAMPLE_TIME)
		record_build_u64(b, id->time_ns);
	if (sample_type & PERF_SAMPLE_ID)
		record_build_u64(b, id->id);
	if (sample_type & PERF_SAMPLE_STREAM_ID)
		record_build_u64(b, id->stream_id);
	if (sample_type & PERF_SAMPLE_CPU)
		record_build_u32s(b, id->cpu, 0);
	if (sample_type & PERF_SAMPLE_IDENTIFIER)
		record_build_u64(b, id->id);
}

#endif
