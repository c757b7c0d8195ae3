#ifndef CPROF_EVENT_EVATTR_H
#define CPROF_EVENT_EVATTR_H

/* From a requested event to struct perf_event_attr (perf_event_open(2)); opens nothing. */

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "event/callregs.h"

struct err;
struct evspec;
struct record_format;

enum evattr_callgraph {
	EVATTR_CALLGRAPH_NONE, EVATTR_CALLGRAPH_FP, EVATTR_CALLGRAPH_DWARF,
	EVATTR_CALLGRAPH_LBR,        /* user calls as recorded by the CPU */
};

struct evattr_options {
	enum evattr_callgraph callgraph;
	uint32_t stack_bytes;        /* DWARF: size of the user stack copy, multiple of 8 */
	bool user_chain;             /* DWARF: plus the user's chain of frame pointers */
	bool inherit;                /* per-task events: follow threads and children */
	bool enable_on_exec;         /* per-task events of a command not yet exec'ed */
	bool start_paused;           /* overrides enable_on_exec: only the side band is enabled */
	bool cpu_wide;               /* one event per CPU for all tasks: exclude_idle, no inherit */
	bool want_count;             /* also sample the counter of events whose period changes;
				      * not with inherit */
	bool want_switches;          /* the side band has records of switches */
	bool want_cgroup;            /* sample cgroup ids, and record their paths (Linux 5.7) */
	bool only_user, only_kernel; /* for all events */
	uint64_t rate_default_hz;    /* for EVSPEC_RATE_DEFAULT; 0: use rate_default_period */
	uint64_t rate_default_period;
	bool rate_default_fastest;   /* freq=max; rate_default_hz is rate_max_hz */
	bool rate_given;             /* rate given by the user: overrides evspec_default_period */
	uint64_t rate_max_hz;        /* kernel.perf_event_max_sample_rate: what freq=max means,
				      * up to EVATTR_CLOCK_FASTEST_HZ for clocks */
	uint32_t wakeup_bytes;       /* watermark */
	uint16_t max_stack;          /* 0: the kernel's limit */
};

/* Clock events are high-resolution timers; the kernel never lets them tick faster than this. */
#define EVATTR_CLOCK_PERIOD_MIN_NS 10000u
/* The kernel throttles PMU events whose samples take too long, but not clocks: a copy of a stack
 * can take longer than 10 us, and the target would make no progress.  freq=max means this. */
#define EVATTR_CLOCK_FASTEST_HZ 20000u

/* Does the kernel accept this rate, and keep to it?  -EINVAL with e naming the limit: a frequency
 * above rate_max_hz, or a clock's period below EVATTR_CLOCK_PERIOD_MIN_NS. */
int evattr_check_rate(const struct evspec *s, const struct evattr_options *o, struct err *e);

/* Do the event's side (:u, :k) and the session's leave anything to sample?  -EINVAL with e set. */
int evattr_check_side(const struct evspec *s, const struct evattr_options *o, struct err *e);

/* Where stacks of the event come from: its own choice, otherwise the session's. */
enum evattr_callgraph evattr_callgraph_of(const struct evspec *s, const struct evattr_options *o);

/* The general registers of this architecture as a PERF_SAMPLE_REGS_USER mask (asm/perf_regs.h);
 * 0 where cprof cannot unwind. */
uint64_t evattr_user_regs(void);

/* Their numbers; false where cprof cannot unwind. */
bool evattr_place_regs(struct callregs_numbers *ret);

/* The attr of a sampling event: disabled, PERF_SAMPLE_IDENTIFIER|IP|TID|TIME|CPU|PERIOD|
 * STREAM_ID..., sample_id_all, clockid CLOCK_MONOTONIC.  All events of a session agree on what
 * determines the place of ids and times.  Guests of this machine are excluded.  With
 * PERF_SAMPLE_PERIOD the kernel samples every occurrence of a software event with a fixed period
 * (perf_swevent_event in kernel/events/core.c), so these events omit it.  The layout of samples
 * differs by event, but not where their id and time are. */
void evattr_sampling(const struct evspec *s, const struct evattr_options *o,
		     struct perf_event_attr *ret_attr);

/* The attr of an event that is counted and never sampled: disabled, and read(2) gives its count,
 * and for how long it was enabled and did run. */
void evattr_counting(const struct evspec *s, const struct evattr_options *o,
		     struct perf_event_attr *ret_attr);

/* An attr of this size carries its config3 (Linux 6.3) in sig_data until evopen_syscall. */
#define EVATTR_SIZE_CONFIG3 136u

/* The size of stack copies if only one event of a session wants them. */
#define EVATTR_STACK_BYTES_DEFAULT 8192u

/* Turns the attr into that of a group member, which is enabled with its leader.  `counts`: it does
 * not sample by itself (modifier S). */
void evattr_member(struct perf_event_attr *attr, bool counts);

/* The attr of the side-band event (PERF_COUNT_SW_DUMMY): mmap, mmap2, comm, comm_exec, task,
 * ksymbol (if cpu_wide), cgroup (if wanted), with the same sample_type, but without branches, which
 * software events cannot have.  Enabled from the start unless o->enable_on_exec.  It leaves out the
 * kernel side, which would need a privilege. */
void evattr_sideband(const struct evattr_options *o, struct perf_event_attr *ret_attr);

/* How to decode the records of such an attr. */
void evattr_format(const struct perf_event_attr *attr, struct record_format *ret_format);

/* Describes an attr on one line for -v, in buf: "type 1 config 0 freq 999 sample IP|TID|... ". */
void evattr_text(const struct perf_event_attr *attr, char *buf, unsigned buf_bytes);

#endif
