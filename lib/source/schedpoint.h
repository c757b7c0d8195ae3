#ifndef CPROF_SOURCE_SCHEDPOINT_H
#define CPROF_SOURCE_SCHEDPOINT_H

/* The tracepoints of the scheduler that say when and why threads wait, in the layout that their
 * description gives: include/trace/events/sched.h. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/tracepoint.h"

enum schedpoint_kind {
	SCHEDPOINT_OTHER,
	SCHEDPOINT_SWITCH,     /* sched_switch: a thread leaves its CPU to another one */
	SCHEDPOINT_WAKING,     /* sched_waking, in the context of the waker */
	SCHEDPOINT_WAKEUP,     /* sched_wakeup: maybe on the CPU of the woken thread */
};

/* Flags: include/linux/trace_events.h, enum trace_flag_type: in an interrupt, a softirq, an NMI. */
#define SCHEDPOINT_INTERRUPT (0x08u | 0x10u | 0x40u)

/* Where live samples of sched_waking have these two: after the 8 bytes of all tracepoints come
 * comm[16] and pid.  Unchanged since Linux 4.3, where sched_waking came. */
enum { SCHEDPOINT_WAKE_FLAGS_AT = 2, SCHEDPOINT_WAKE_TID_AT = 24, SCHEDPOINT_WAKE_BYTES = 28 };

struct schedpoint {
	enum schedpoint_kind kind;
	struct tracepoint_field flags, tid, next_tid, state;
	/* Bits of the state, as the description names them: "S", "D" and so on; "+"; and the
	 * letters of a thread that has ended. */
	uint64_t states, preempted, disk, dead;
};

/* What one sample says.  Ids are those of the first pid namespace. */
struct schedpoint_seen {
	bool is_interrupt;     /* an interrupt, and not the current thread, did it */
	uint32_t tid;          /* who leaves its CPU, or is woken */
	uint32_t next_tid;     /* who gets the CPU; 0: the idle task */
	bool is_preempted;     /* it could have gone on */
	bool is_disk;          /* it is in uninterruptible sleep */
	bool is_dead;          /* it never runs again */
};

/* False: it is another tracepoint, or its description lacks a field; then kind is OTHER. */
bool schedpoint_init(struct schedpoint *p, const char *text);

/* False: the data are too short. */
bool schedpoint_read(const struct schedpoint *p, const void *raw, size_t n_bytes, bool is_swapped,
		     struct schedpoint_seen *ret);

#endif
