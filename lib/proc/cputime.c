/*
 * Dynamic POSIX clocks: the clock id is the inverted pid, shifted, with two bits for the kind of
 * clock and one for "a thread, not a process" (include/linux/posix-timers_types.h).  The process
 * clock of any process may be read, but a thread's only from within its process (pid_for_clock in
 * kernel/time/posix-cpu-timers.c); for other threads there is schedstat.
 */

#include "proc/cputime.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CPUCLOCK_SCHED 2
#define CPUCLOCK_PERTHREAD 4

static int read_clock(pid_t id, int kind, uint64_t *ret_ns)
{
	/* Shifted as an unsigned number: it is negative as a pid. */
	clockid_t clock = (clockid_t)((~(unsigned)id << 3) | (unsigned)kind);
	int r = id > 0 ? clock_read_ns(clock, ret_ns) : -ESRCH;
	return r == -EINVAL ? -ESRCH : r;
}

static uint64_t ticks_to_ns(uint64_t ticks)
{
	return ticks * (CLOCK_SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* The sum of two neighbouring fields of a stat file (numbered as in proc_pid_stat(5)). */
static int parse_stat_ticks(const char *text, int field, uint64_t *ret_ns)
{
	/* The second field is the name in parentheses and may hold anything. */
	const char *p = strrchr(text, ')');
	for (int at = 2; p && at < field; at++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	long long a, b;
	if (!p || sscanf(p, "%lld %lld", &a, &b) != 2 || a < 0 || b < 0)
		return -EINVAL;
	*ret_ns = ticks_to_ns((uint64_t)a + (uint64_t)b);
	return 0;
}

int cputime_process_ns(pid_t pid, uint64_t *ret_ns)
{
	return read_clock(pid, CPUCLOCK_SCHED, ret_ns);
}

int cputime_thread_ns(const struct host *h, pid_t pid, pid_t tid, uint64_t *ret_ns)
{
	if (pid == getpid() && read_clock(tid, CPUCLOCK_SCHED | CPUCLOCK_PERTHREAD, ret_ns) == 0)
		return 0;
	CLEANUP_FREE char *text = NULL;
	unsigned long long ns;
	if (host_read_file(h, HOST_PROC, &text, NULL, "%d/task/%d/schedstat", pid, tid) == 0 &&
	    sscanf(text, "%llu", &ns) == 1) {
		*ret_ns = ns;
		return 0;
	}
	/* A kernel without CONFIG_SCHED_INFO: use utime and stime, in ticks. */
	CLEANUP_FREE char *stat = NULL;
	char name[40];
	snprintf(name, sizeof(name), "task/%d/stat", tid);
	int r = host_read_process_file(h, (uint32_t)pid, name, &stat, NULL);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	return parse_stat_ticks(stat, 14, ret_ns);
}

int cputime_children_ns(const struct host *h, pid_t pid, uint64_t *ret_ns)
{
	CLEANUP_FREE char *text = NULL;
	int r = host_read_process_file(h, (uint32_t)pid, "stat", &text, NULL);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	return parse_stat_ticks(text, 16, ret_ns);
}
