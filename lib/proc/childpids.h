#ifndef CPROF_PROC_CHILDPIDS_H
#define CPROF_PROC_CHILDPIDS_H

/* The processes that a process has started, as its first thread: /proc/PID/task/PID/children.
 * Children of other threads are not listed, because there may be thousands of threads. */

#include "base/vec.h"

#include <sys/types.h>

struct host;

struct childpids {
	VEC(pid_t) pids;
};

/* Appends the children that live or that nobody has waited for.  Adds nothing if the process does
 * not exist, or if the kernel has no such file. */
void childpids_read(const struct host *h, pid_t pid, struct childpids *ret);
void childpids_done(struct childpids *c);

#endif
