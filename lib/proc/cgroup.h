#ifndef CPROF_PROC_CGROUP_H
#define CPROF_PROC_CGROUP_H

/*
 * A cgroup (v2) for one command, so that the kernel confines events to it (PERF_FLAG_PID_CGROUP).
 * It is created below the command's current cgroup, and only if no controller would begin to act on
 * it, so the command runs as it would without.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct host;

struct cgroup {
	int fd;             /* its folder; -1: no group */
	int parent_fd;
	char name[32];
};

/* Could one be made for pid?  0, -ENOENT (no cgroup v2), -EBUSY (controllers are enabled for
 * children), -EACCES or another errno (no permission).  Changes nothing. */
int cgroup_check(const struct host *h, pid_t pid);

/* Makes the group and moves pid into it.  -errno with e set: no cgroup v2, no permission,
 * controllers. */
int cgroup_make(struct cgroup *g, const struct host *h, pid_t pid, struct err *e);

/* CPU time of everything that ran in it, also of ended tasks, from cpu.stat (cgroup v2).  -errno */
int cgroup_cpu_ns(const struct cgroup *g, uint64_t *ret_ns);

/* Moves running processes back to where they came from, and removes the group. */
void cgroup_remove(struct cgroup *g);

#endif
