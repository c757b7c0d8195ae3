#ifndef CPROF_TESTS_UNIT_SOURCE_RECORD_BUILD_H
#define CPROF_TESTS_UNIT_SOURCE_RECORD_BUILD_H

/*
 * Writes raw kernel records into a growing buffer, for tests.  The functions for complete records
 * write the format of record_build_format(), which is that of cprof's own events; for another
 * format, put records together from begin, u64, u32s, text, trailer and end.
 *
 *	struct record_build b = { 0 };
 *	struct record_build_id at = { .pid = 7, .tid = 7, .time_ns = 100, .id = 1 };
 *	record_build_comm(&b, &at, "sh", true);
 *	... b.v, b.n_bytes ...
 *	record_build_done(&b);
 */

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "source/record.h"

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

#define RECORD_BUILD_SAMPLE_TYPE ((uint64_t)(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | \
	PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | \
	PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN))

static inline struct record_format record_build_format(void)
{
	return (struct record_format){
		.sample_type = RECORD_BUILD_SAMPLE_TYPE, .sample_id_all = true,
	};
}

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

/* ---- whole records in the format of record_build_format() ------------------- */

static inline void record_build_finish(struct record_build *b, const struct record_build_id *id)
{
	record_build_trailer(b, RECORD_BUILD_SAMPLE_TYPE, id);
	record_build_end(b);
}

static inline void record_build_comm(struct record_build *b, const struct record_build_id *id,
				     const char *comm, bool exec)
{
	record_build_begin(b, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
	record_build_u32s(b, id->pid, id->tid);
	record_build_text(b, comm);
	record_build_finish(b, id);
}

/* m->n_build_id decides whether the build id or device and inode are written. */
static inline void record_build_mmap2(struct record_build *b, const struct record_build_id *id,
				      const struct record_mmap *m)
{
	record_build_begin(b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER |
			   (m->n_build_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0));
	record_build_u32s(b, id->pid, id->tid);
	record_build_u64(b, m->start);
	record_build_u64(b, m->len);
	record_build_u64(b, m->pgoff);
	if (m->n_build_id) {
		uint8_t head[4] = { m->n_build_id };
		record_build_bytes(b, head, sizeof(head));
		record_build_bytes(b, m->build_id, sizeof(m->build_id));
	} else {
		record_build_u32s(b, m->maj, m->min);
		record_build_u64(b, m->ino);
		record_build_u64(b, m->ino_generation);
	}
	record_build_u32s(b, m->prot, m->flags);
	record_build_text(b, m->filename);
	record_build_finish(b, id);
}

/* FORK: id names the new thread; its trailer names the parent, as the kernel does. */
static inline void record_build_fork(struct record_build *b, const struct record_build_id *id,
				     uint32_t ppid, uint32_t ptid)
{
	struct record_build_id parent = *id;
	parent.pid = ppid;
	parent.tid = ptid;
	record_build_begin(b, PERF_RECORD_FORK, 0);
	record_build_u32s(b, id->pid, ppid);
	record_build_u32s(b, id->tid, ptid);
	record_build_u64(b, id->time_ns);
	record_build_finish(b, &parent);
}

static inline void record_build_exit(struct record_build *b, const struct record_build_id *id,
				     uint32_t ppid, uint32_t ptid)
{
	record_build_begin(b, PERF_RECORD_EXIT, 0);
	record_build_u32s(b, id->pid, ppid);
	record_build_u32s(b, id->tid, ptid);
	record_build_u64(b, id->time_ns);
	record_build_finish(b, id);
}

/* The chain is innermost first, with its PERF_CONTEXT_* marks; misc is the CPU mode of ip. */
static inline void record_build_sample(struct record_build *b, const struct record_build_id *id,
				       uint16_t misc, uint64_t ip, uint64_t period,
				       const uint64_t *callchain, uint64_t n_callchain)
{
	record_build_begin(b, PERF_RECORD_SAMPLE, misc);
	record_build_u64(b, id->id);
	record_build_u64(b, ip);
	record_build_u32s(b, id->pid, id->tid);
	record_build_u64(b, id->time_ns);
	record_build_u64(b, id->stream_id);
	record_build_u32s(b, id->cpu, 0);
	record_build_u64(b, period);
	record_build_u64(b, n_callchain);
	record_build_bytes(b, callchain, n_callchain * sizeof(*callchain));
	record_build_end(b);
}

static inline void record_build_lost(struct record_build *b, const struct record_build_id *id,
				     uint64_t n_lost)
{
	record_build_begin(b, PERF_RECORD_LOST, 0);
	record_build_u64(b, id->id);
	record_build_u64(b, n_lost);
	record_build_finish(b, id);
}

static inline void record_build_throttle(struct record_build *b, const struct record_build_id *id,
					 bool on)
{
	record_build_begin(b, on ? PERF_RECORD_THROTTLE : PERF_RECORD_UNTHROTTLE, 0);
	record_build_u64(b, id->time_ns);
	record_build_u64(b, id->id);
	record_build_u64(b, id->stream_id);
	record_build_finish(b, id);
}

#endif
