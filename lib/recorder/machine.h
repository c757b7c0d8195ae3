#ifndef CPROF_RECORDER_MACHINE_H
#define CPROF_RECORDER_MACHINE_H

/* A simulated machine for a recorder under test.  NULL: the real one. */

#include <sys/types.h>

struct host;
struct perf_event_attr;

struct cprof_machine {
	const struct host *host;
	int (*perf_event_open)(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
			       unsigned long flags);
};

#endif
