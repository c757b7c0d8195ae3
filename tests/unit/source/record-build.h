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
#include <stdint.h>

#include "source/record.h"
#include "tests/unit/source/record-bytes.h"

#define RECORD_BUILD_SAMPLE_TYPE ((uint64_t)(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | \
	PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | \
	PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN))

static inline struct record_format record_build_format(void)
{
	return (struct record_format){
		.sample_type = RECORD_BUILD_SAMPLE_TYPE, .sample_id_all = true,
	};
}

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
