#ifndef CPROF_PROC_CPUTIME_H
#define CPROF_PROC_CPUTIME_H

/*
 * The CPU time that tasks have really used, to compare with their samples.  All values are
 * nanoseconds since the task began, user and kernel time together.  Each function returns 0 or
 * -errno; -ESRCH if there is no such task (any more).
 */

#include <stdint.h>
#include <sys/types.h>

struct host;

/* All threads of a process, running and ended, exact to the nanosecond; also of a zombie, until it
 * is reaped.  Asks the running kernel. */
int cputime_process_ns(pid_t pid, uint64_t *ret_ns);

/*
 * One thread of any process.  Exact for threads of the caller; for others the scheduler's account,
 * which misses the current time slice (at most a tick) of a running thread.
 */
int cputime_thread_ns(const struct host *h, pid_t pid, pid_t tid, uint64_t *ret_ns);

/* The children (and theirs) that the process has waited for, in clock ticks (10 ms); also of a
 * zombie. */
int cputime_children_ns(const struct host *h, pid_t pid, uint64_t *ret_ns);

#endif
