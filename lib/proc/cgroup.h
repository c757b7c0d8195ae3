#ifndef CPROF_PROC_CGROUP_H
#define CPROF_PROC_CGROUP_H

/*
 * A cgroup (v2) for one command, so that the kernel confines events to it (PERF_FLAG_PID_CGROUP).
 * It is created below the cgroup of a process, and only if no controller would begin to act on it,
 * so the command runs as it would without.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct host;

struct cgroup {
	int fd;             /* its folder, with a lock while it is in use; -1: no group */
	int parent_fd;
	char name[64];      /* cprof-PID-START-N: its creator, and when that process began */
};

/*
 * Could one be created below pid's?  0, or
 *	-ENOENT           cgroup v2 is not mounted, or pid is not in it
 *	-EBUSY            controllers are enabled for children, and would act on the group
 *	-EOPNOTSUPP       the cgroup is threaded
 *	-EPROTONOSUPPORT  perf events belong to cgroup v1 here
 *	-ERANGE           the cgroup has limits, which programs look up by its path and would not
 *	                  find in a child; not with ignore_limits
 *	-EACCES, -EROFS and others: no permission.
 * Changes nothing.
 */
int cgroup_check(const struct host *h, pid_t pid, bool ignore_limits);

/* The reason for such a result in a few words; static. */
const char *cgroup_why_not(int r);

/* Creates an empty group below pid's, after removing groups there that killed runs have left.  0 or
 * -errno as above. */
int cgroup_create(struct cgroup *g, const struct host *h, pid_t pid, bool ignore_limits);

/* Creates a group in spite of limits, and moves pid into it.  -errno with e set. */
int cgroup_make(struct cgroup *g, const struct host *h, pid_t pid, struct err *e);

/* Is the process in the group? */
bool cgroup_has(const struct cgroup *g, pid_t pid);

/* CPU time of everything that ran in it, also of ended tasks, from cpu.stat (cgroup v2).  -errno */
int cgroup_cpu_ns(const struct cgroup *g, uint64_t *ret_ns);

/* Moves running processes back to where they came from, and removes the group. */
void cgroup_remove(struct cgroup *g, const struct host *h);

/* The length of a cgroup's path without the groups of cprof at its end. */
size_t cgroup_path_bytes(const char *path);

#endif
