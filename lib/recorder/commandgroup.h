#ifndef CPROF_RECORDER_COMMANDGROUP_H
#define CPROF_RECORDER_COMMANDGROUP_H

/* The cgroup in which a command starts, if the caller has asked for one: struct cprof_cgroup of
 * cprof.h. */

#include "proc/cgroup.h"

struct cprof_cgroup {
	struct cgroup group;
	const char *why_not;   /* NULL: the group exists; static or of strerror(3) */
};

/* The group, if there is one and the command runs in it; otherwise NULL, and *ret_why_not is the
 * reason.  g may be NULL: then there is no reason (NULL). */
const struct cgroup *commandgroup_of(const struct cprof_cgroup *g, pid_t command_pid,
				     const char **ret_why_not);

#endif
