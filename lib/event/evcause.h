#ifndef CPROF_EVENT_EVCAUSE_H
#define CPROF_EVENT_EVCAUSE_H

/*
 * Why perf_event_open(2) refused: derived from the errno, the request, and what /proc and /sys say
 * about the machine and this process.
 */

#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/types.h>

struct evfield;
struct evspec;
struct host;

/* The arguments of the system call. */
struct evcause_request {
	const struct evspec *spec;           /* NULL: the side-band event */
	const struct perf_event_attr *attr;
	pid_t pid;                           /* -1: all tasks; with PERF_FLAG_PID_CGROUP a
					      * descriptor of a folder */
	int cpu;                             /* -1: any */
	unsigned long flags;                 /* PERF_FLAG_* */
	const struct evfield *field;         /* EINVAL, E2BIG: the refused field; NULL: unknown */
	bool counts;                         /* the user wants counts, not samples */
};

enum evcause {
	EVCAUSE_OTHER,            /* the errno's text says it all */
	EVCAUSE_NO_PMU,
	EVCAUSE_NO_SUCH_EVENT,    /* there is a PMU, without this event */
	EVCAUSE_NO_INTERRUPT,     /* the PMU counts, but cannot sample */
	EVCAUSE_ONLY_CPUS,        /* the PMU counts whole CPUs, not processes */
	EVCAUSE_NOT_PRECISE,
	EVCAUSE_NO_CALL_STACKS,   /* the event's PMU does not record calls (--call-graph lbr) */
	EVCAUSE_PARANOID_ALL,     /* kernel.perf_event_paranoid above 2: nothing is allowed */
	EVCAUSE_PARANOID_KERNEL,  /* 2: not the kernel's side */
	EVCAUSE_PARANOID_CPU,     /* 1 or 2: not whole CPUs or cgroups */
	EVCAUSE_PARANOID_TRACE,   /* above -1: no tracepoints with their data */
	EVCAUSE_PROBE,            /* probes need CAP_PERFMON, whatever the sysctl says */
	EVCAUSE_OTHER_USER,
	EVCAUSE_NOT_DUMPABLE,     /* own process that may not be inspected */
	EVCAUSE_SECCOMP,
	EVCAUSE_LOCKDOWN,
	EVCAUSE_SECURITY,         /* no other cause fits: some security module */
	EVCAUSE_BUSY,
	EVCAUSE_IN_USE,           /* as BUSY, for events that need no PMU */
	EVCAUSE_BREAKPOINTS,      /* all debug registers are in use */
	EVCAUSE_FILES_PROCESS,
	EVCAUSE_FILES_SYSTEM,
	EVCAUSE_RATE,
	EVCAUSE_RAW_CODE,
	EVCAUSE_FIELD,            /* one known field of the attr is refused */
	EVCAUSE_BITS,             /* this kernel does not know some part of the attr */
	EVCAUSE_MAX_STACK,
	EVCAUSE_NO_TASK,
	EVCAUSE_CPU_OFFLINE,
	EVCAUSE_NO_SYSCALL,
	EVCAUSE_MEMORY,
	EVCAUSE_SILENT,           /* the process does not let anybody attach now (remotemem.h) */
	EVCAUSE_INTERRUPTED,      /* signals arrived faster than the event could be opened */
	EVCAUSE_N_CAUSES,
};

/* The cause of errno errnum; reads only the files that it needs. */
enum evcause evcause_find(const struct host *h, const struct evcause_request *r, int errnum);

/* A PMU outside the cores that never samples, according to sysfs and its name: drivers of
 * uncore, power and cstate units, of machine-specific registers, and everything else with a file
 * "cpumask". */
struct evcause_unit {
	char name[64];         /* "": no such PMU */
	bool only_cpus;        /* it cannot count events of a thread */
};
void evcause_unit(const struct host *h, unsigned type, struct evcause_unit *ret);

/* The highest kernel.perf_event_paranoid with which CAP_PERFMON counts for all kernels. */
#define EVCAUSE_PARANOID_PERFMON 2

/* The rights of this process that concern perf events. */
struct evcause_rights {
	long paranoid;      /* kernel.perf_event_paranoid: -1 .. 4 */
	bool perfmon;       /* CAP_PERFMON or CAP_SYS_ADMIN, and it counts */
	bool admin;         /* CAP_SYS_ADMIN, likewise */
	bool ptrace;        /* CAP_SYS_PTRACE, and it counts */
	bool lost_in_ns;    /* has CAP_PERFMON, but only in its own user namespace */
	bool seccomp;       /* a filter is installed */
	long uid;           /* effective, -1 unknown */
};
void evcause_rights(const struct host *h, struct evcause_rights *ret);

/* The highest kernel.perf_event_paranoid that allows the request without capabilities. */
long evcause_paranoid_needed(const struct evcause_request *r);

/* Effective user of a process; -1 unknown. */
long evcause_user_of(const struct host *h, pid_t pid);

/* kernel.perf_event_max_sample_rate; -1 unknown. */
long evcause_max_rate_hz(const struct host *h);

#endif
