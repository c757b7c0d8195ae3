#ifndef CPROF_SOURCE_RECORD_H
#define CPROF_SOURCE_RECORD_H

/*
 * One kernel event (PERF_RECORD_*, <linux/perf_event.h>), decoded and bounds-checked.  This is the
 * only place that relies on the layout of raw bytes.  All pointers borrow the raw bytes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/recformat.h"

#define RECORD_NO_EVENT UINT32_MAX

struct record_sample {
	uint64_t ip;
	uint64_t addr;
	uint64_t period;
	uint64_t weight;
	uint64_t count;               /* PERF_SAMPLE_READ: the counter's value; 0: not requested */
	const uint64_t *group;        /* PERF_FORMAT_GROUP: n_group times value[, id][, lost] */
	uint64_t n_group;
	const uint64_t *callchain;    /* ips and PERF_CONTEXT_* marks, innermost first */
	uint64_t n_callchain;
	const void *raw;              /* PERF_SAMPLE_RAW: tracepoint data */
	uint32_t n_raw_bytes;
	uint64_t user_abi;            /* PERF_SAMPLE_REGS_ABI_*; 0: no user registers */
	uint64_t user_regs_mask;      /* the format's mask: one value per set bit follows */
	const uint64_t *user_regs;    /* NULL if user_abi is 0 */
	const uint8_t *user_stack;    /* bytes from the user's sp upwards; NULL: none */
	uint64_t n_user_stack_bytes;  /* what the kernel could copy (dyn_size) */
	uint64_t user_stack_size;     /* what was requested */
	uint64_t n_branches;          /* struct perf_branch_entry each */
	const void *branches;
	bool branches_are_calls;      /* PERF_SAMPLE_BRANCH_CALL_STACK: calls without return */
	uint64_t phys_addr, cgroup, data_page_size, code_page_size, transaction, data_src;
};

struct record_mmap {                  /* PERF_RECORD_MMAP and MMAP2 */
	uint64_t start, len, pgoff;   /* bytes */
	uint32_t maj, min;
	uint64_t ino, ino_generation; /* 0: unknown (MMAP, or a build id instead) */
	uint8_t n_build_id;           /* 0, or bytes in build_id (MMAP2 with MISC_MMAP_BUILD_ID) */
	uint8_t build_id[20];
	uint32_t prot, flags;         /* PROT_EXEC is assumed for MMAP without MISC_MMAP_DATA */
	const char *filename;
};

struct record_comm { const char *comm; bool exec; };

struct record_fork { uint32_t ppid, ptid; uint64_t time_ns; };  /* FORK and EXIT */

struct record_lost { uint64_t id, n_lost; };                    /* LOST, LOST_SAMPLES (id 0) */

struct record_throttle { uint64_t time_ns, id, stream_id; };

struct record_ksymbol {
	uint64_t vaddr;
	uint32_t n_bytes;
	uint16_t ksym_type, flags;    /* flags bit 0: unregistered */
	const char *name;
};

struct record_cgroup { uint64_t id; const char *path; };

/* disk: into uninterruptible sleep, which only the importer knows. */
struct record_switch { bool out, preempt, disk; uint32_t other_pid, other_tid; };

struct record_aux { uint64_t offset, n_bytes, flags; };

struct record_read {                  /* for a group: its first counter */
	uint32_t pid, tid;
	uint64_t value, time_enabled_ns, time_running_ns, id, lost;
	const uint64_t *group;        /* as in struct record_sample */
	uint64_t n_group;
};

struct record {
	uint32_t type;      /* PERF_RECORD_* */
	uint16_t misc;      /* PERF_RECORD_MISC_* */
	uint32_t event;     /* index of the event, set by the source from id; RECORD_NO_EVENT */
	bool of_target;     /* a sample of an event that only a target has; set by the source */
	bool has_time;      /* false: time_ns is 0; its place in the stream implies its time */
	uint64_t time_ns;   /* attr.clockid's clock (CLOCK_MONOTONIC when live) */
	uint64_t id;        /* PERF_SAMPLE_ID or IDENTIFIER; 0: unknown */
	uint64_t stream_id; /* PERF_SAMPLE_STREAM_ID; 0: unknown */
	uint32_t pid, tid;  /* process and thread as the recording kernel's namespace sees them */
	uint32_t cpu;       /* UINT32_MAX: unknown */
	union {
		struct record_sample sample;
		struct record_mmap mmap;
		struct record_comm comm;
		struct record_fork fork;
		struct record_lost lost;
		struct record_throttle throttle;
		struct record_ksymbol ksymbol;
		struct record_cgroup cgroup;
		struct record_switch context_switch;
		struct record_aux aux;
		struct record_read read;
	};
};

enum record_outcome {
	RECORD_OK,
	RECORD_UNKNOWN,  /* a type that is not decoded: skip and count it */
	RECORD_BAD,      /* contradicts itself or its format: skip and count it */
};

/* Smallest and largest legal value of perf_event_header.size. */
#define RECORD_BYTES_MIN 8u
#define RECORD_BYTES_MAX 65535u

/*
 * Decodes the record of n_bytes at raw (8-byte aligned; n_bytes is at least the
 * header's size field).  *ret is fully initialised on RECORD_OK, undefined otherwise.
 */
enum record_outcome record_decode(const struct record_format *f, const void *raw,
				  size_t n_bytes, struct record *ret);

/* Reads only the time (for merging); false if the record has none. */
bool record_peek_time(const struct record_format *f, const void *raw, size_t n_bytes,
		      uint64_t *ret_time_ns);

/* Reads only the thread of a SAMPLE; false for other records, and if it has none. */
bool record_peek_tid(const struct record_format *f, const void *raw, size_t n_bytes,
		     uint32_t *ret_tid);

/* The name of a PERF_RECORD_* type ("SAMPLE"), or "?" */
const char *record_type_name(uint32_t type);

#endif
