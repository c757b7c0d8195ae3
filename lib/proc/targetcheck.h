#ifndef CPROF_PROC_TARGETCHECK_H
#define CPROF_PROC_TARGETCHECK_H

/* Is there such a process or thread, and can it be recorded?  Checked before anything is opened,
 * because per-CPU events open with or without a target. */

#include <stdbool.h>
#include <sys/types.h>

struct err;
struct host;

enum targetcheck_kind {
	TARGETCHECK_USER,    /* an ordinary process or thread */
	TARGETCHECK_KERNEL,  /* a kernel thread: runs no user code */
};

/* id is a process (is_thread false) or any thread.  Returns an enum targetcheck_kind, -ESRCH if
 * there is none, -EINVAL for a zombie, and for a thread's id given as a process. */
int targetcheck(const struct host *h, pid_t id, bool is_thread, struct err *e);

/*
 * The kernel removes the per-task events of a process that executes a file which gives rights that
 * the user does not have, or which the user may not read.  Why it does so for this file: "is
 * set-user-ID"; NULL: it does not.
 */
const char *targetcheck_privilege(const char *path);

/* Is that process or thread stopped, by a signal or by a debugger? */
bool targetcheck_is_stopped(const struct host *h, pid_t id);

#endif
