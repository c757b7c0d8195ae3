#ifndef CPROF_EVENT_EVATTR_H
#define CPROF_EVENT_EVATTR_H

/* From what was asked to struct perf_event_attr (perf_event_open(2)); opens nothing. */

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

struct evspec;
struct record_format;

enum evattr_callgraph { EVATTR_CALLGRAPH_NONE, EVATTR_CALLGRAPH_FP, EVATTR_CALLGRAPH_DWARF };

struct evattr_options {
	enum evattr_callgraph callgraph;
	uint32_t stack_bytes;        /* DWARF: size of the user stack copy, multiple of 8 */
	bool inherit;                /* per-task events: follow threads and children */
	bool enable_on_exec;         /* per-task events of a command not yet exec'ed */
	bool cpu_wide;               /* one event per CPU for all tasks: exclude_idle, no inherit */
	bool want_cgroup, want_cpu;  /* sample those ids */
	bool only_user, only_kernel; /* for all events */
	uint64_t rate_default_hz;    /* for EVSPEC_RATE_DEFAULT; 0: use rate_default_period */
	uint64_t rate_default_period;
	uint64_t rate_max_hz;        /* kernel.perf_event_max_sample_rate */
	uint32_t wakeup_bytes;       /* watermark */
	uint16_t max_stack;          /* 0: the kernel's limit */
};

/* The attr of a sampling event: disabled, PERF_SAMPLE_IDENTIFIER|IP|TID|TIME|CPU|PERIOD|
 * STREAM_ID..., sample_id_all, clockid CLOCK_MONOTONIC.  All events of a session get the same
 * sample_type, so that one record_format decodes all. */
void evattr_sampling(const struct evspec *s, const struct evattr_options *o,
		     struct perf_event_attr *ret_attr);

/* The attr of the side-band event (PERF_COUNT_SW_DUMMY): mmap, mmap2, comm, comm_exec, task,
 * ksymbol, with the same sample_type; enabled from the start unless o->enable_on_exec. */
void evattr_sideband(const struct evattr_options *o, struct perf_event_attr *ret_attr);

/* How to decode the records of such an attr. */
void evattr_format(const struct perf_event_attr *attr, struct record_format *ret_format);

/* One line that shows an attr for -v: "type 1 config 0 freq 999 sample IP|TID|... " into buf. */
void evattr_text(const struct perf_event_attr *attr, char *buf, unsigned buf_bytes);

#endif
