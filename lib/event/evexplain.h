#ifndef CPROF_EVENT_EVEXPLAIN_H
#define CPROF_EVENT_EVEXPLAIN_H

/*
 * Why perf_event_open(2) refused, and what the user can do: from the errno, what was asked
 * for, and what /proc and /sys say about the machine and this process.
 */

#include <linux/perf_event.h>
#include <sys/types.h>

struct err;
struct evspec;
struct host;

/* What was asked of the system call. */
struct evexplain_request {
	const struct evspec *spec;           /* NULL: the side-band event */
	const struct perf_event_attr *attr;
	pid_t pid;                           /* -1: all tasks; with PERF_FLAG_PID_CGROUP a folder */
	int cpu;                             /* -1: any */
	unsigned long flags;                 /* PERF_FLAG_* */
};

enum evexplain_cause {
	EVEXPLAIN_OTHER,            /* the errno's text says all there is to say */
	EVEXPLAIN_NO_PMU,
	EVEXPLAIN_NO_SUCH_EVENT,    /* there is a PMU, without this event */
	EVEXPLAIN_NO_INTERRUPT,     /* the PMU counts, but cannot sample */
	EVEXPLAIN_NOT_PRECISE,
	EVEXPLAIN_PARANOID_ALL,     /* kernel.perf_event_paranoid above 2: nothing is allowed */
	EVEXPLAIN_PARANOID_KERNEL,  /* 2: not the kernel's side */
	EVEXPLAIN_PARANOID_CPU,     /* 1 or 2: not whole CPUs or cgroups */
	EVEXPLAIN_OTHER_USER,
	EVEXPLAIN_NOT_DUMPABLE,     /* own process that must not be looked into */
	EVEXPLAIN_SECCOMP,
	EVEXPLAIN_LOCKDOWN,
	EVEXPLAIN_SECURITY,         /* none of the above: some security module */
	EVEXPLAIN_BUSY,
	EVEXPLAIN_FILES_PROCESS,
	EVEXPLAIN_FILES_SYSTEM,
	EVEXPLAIN_RATE,
	EVEXPLAIN_RAW_CODE,
	EVEXPLAIN_BITS,             /* this kernel does not know a part of the attr */
	EVEXPLAIN_MAX_STACK,
	EVEXPLAIN_NO_TASK,
	EVEXPLAIN_CPU_OFFLINE,
	EVEXPLAIN_NO_SYSCALL,
	EVEXPLAIN_MEMORY,
	EVEXPLAIN_N_CAUSES,
};

/* The cause of errno errnum; reads only what it needs to tell. */
enum evexplain_cause evexplain_cause(const struct host *h, const struct evexplain_request *r,
				     int errnum);

/* A cause in few words ("no PMU"), for a table; static. */
const char *evexplain_short(enum evexplain_cause cause);

/* Fills e with "cannot open event 'NAME' on cpu N: <errno text>", and as its hint the cause,
 * and what to do about it, the least far-reaching remedy first.  Returns -errnum. */
int evexplain_set(const struct host *h, const struct evexplain_request *r, int errnum,
		  struct err *e);

#endif
