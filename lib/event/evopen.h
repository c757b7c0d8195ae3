#ifndef CPROF_EVENT_EVOPEN_H
#define CPROF_EVENT_EVOPEN_H

/*
 * perf_event_open(2) with the ladder of fallbacks, and the explanation of its errors for the user.
 */

#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/types.h>

struct err;
struct evspec;
struct host;
struct log;

/* The system call, or a test's stand-in: a descriptor or -1 with errno. */
typedef int evopen_fn(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		      unsigned long flags);
int evopen_syscall(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		   unsigned long flags);

struct evopen_place {
	pid_t pid;                /* 0: this process, -1: all tasks; with _PID_CGROUP a
				   * descriptor of a folder */
	int cpu;                  /* -1: any */
	int group_fd;             /* the group's leader; -1: none */
	unsigned long flags;      /* PERF_FLAG_* */
};

/*
 * Calls fn.  A process of another user may keep the system call waiting as long as it likes
 * (base/remotemem.h): a helper opens its events, and the result is -1 with ETIMEDOUT if it does not
 * answer.  at->flags are the system call's.
 */
int evopen_call(evopen_fn *fn, const struct host *h, struct perf_event_attr *attr,
		const struct evopen_place *at);

struct evopen {
	evopen_fn *fn;
	const struct host *host;  /* for /proc/sys/kernel/perf_event_*: causes and remedies */
	const struct log *log;
	bool allow_user_only;     /* may add exclude_kernel if the kernel may not be sampled */
	bool counts;              /* what is opened counts, without samples: for messages */
};
/* Where a function takes a struct evspec, NULL means the side-band event. */

enum evopen_given_up {            /* bits: what the ladder had to leave out */
	EVOPEN_NO_KERNEL = 1,     /* user code only: perf_event_paranoid and no CAP_PERFMON */
	EVOPEN_NO_PRECISE = 2,    /* precise_ip lowered */
	EVOPEN_NO_NEW_BITS = 4,   /* attr bits that this kernel does not know */
	EVOPEN_WITH_GUESTS = 8,   /* this PMU cannot exclude virtual machines */
	EVOPEN_CLOCK = 16,        /* cpu-clock instead of an event that the user did not name */
};

/*
 * Finds an attr that opens for this event: tries *attr, then goes down the ladder (evladder.h).  On
 * success *attr is what was opened, *ret_given_up says what was left out, and the descriptor
 * (O_CLOEXEC) is returned.  On failure returns the negative errno of the last attempt (the one that
 * no rung could mend), with e set to "cannot open event 'NAME' on cpu N: <errno text>" and the
 * cause and remedies as its hint.  Events that happen only in the kernel (evspec_in_kernel) are
 * never made user only.
 */
int evopen_first(const struct evopen *o, const struct evspec *s, struct perf_event_attr *attr,
		 const struct evopen_place *at, unsigned *ret_given_up, struct err *e);

/* Opens an attr that evopen_first found, at another place, without fallbacks.  A descriptor, or
 * -errno with e set (e may be NULL). */
int evopen_again(const struct evopen *o, const struct evspec *s, const struct perf_event_attr *attr,
		 const struct evopen_place *at, struct err *e);

/* Sets e for errno errnum of opening s: cause and remedies by errno, kind of event, sysctls and
 * capabilities.  Returns -errnum. */
int evopen_explain(const struct evopen *o, const struct evspec *s,
		   const struct perf_event_attr *attr, pid_t pid, int cpu, int errnum,
		   struct err *e);

/* Sets e for an event that opens alone, but not in its group, which errnum refused.  Returns
 * -errnum. */
int evopen_explain_group(const struct evspec *s, int errnum, struct err *e);

/* May this process sample all tasks of a CPU (paranoid <= 0 or CAP_PERFMON)?  Tries it. */
bool evopen_may_sample_cpus(const struct evopen *o);

/* NULL if it may, otherwise the reason in a few words; static. */
const char *evopen_why_not_cpus(const struct evopen *o);

/*
 * Does the machine have a PMU that really interrupts?  Opens `cycles` on this process and spins up
 * to 5 ms; true if a sample arrived.  If false, *ret_why is set to a static string.
 */
bool evopen_pmu_interrupts(const struct evopen *o, const char **ret_why);

/* kernel.perf_event_max_sample_rate, or 100000 if it cannot be read. */
unsigned long evopen_max_rate_hz(const struct host *h);

#endif
