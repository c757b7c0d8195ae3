#ifndef CPROF_CMD_LAUNCH_H
#define CPROF_CMD_LAUNCH_H

/* A command that waits for permission to exec, so that events can be opened on it first. */

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct realtime;

struct launch {
	pid_t pid;        /* 0: none */
	int go_fd;        /* a byte makes it exec; closing makes it exit */
	int errno_fd;     /* delivers the errno of a failed exec */
	const char *name;
	bool ended;
	int status;       /* as wait4(2) gives it; valid when ended */
	/* CPU time of it and the children that it waited for, and its parts; valid when ended. */
	uint64_t cpu_ns, user_ns, system_ns;
};

/* Forks.  The command runs with the signal mask `mask`.  It starts in the cgroup whose folder is
 * cgroup_fd (-1: the present one), unless the kernel refuses that.  variables,
 * "NAME=value" and then NULL, are added to its environment; NULL: none.  -errno with e set. */
int launch_fork(struct launch *l, char **argv, const sigset_t *mask, int cgroup_fd,
		const char *const *variables, struct err *e);

/* Lets it exec.  When the exec fails, -ENOENT or another -errno with e set. */
int launch_exec(struct launch *l, struct err *e);

/* Reaps it if it has ended; with wait, waits for its end first.  Returns l->ended. */
bool launch_reap(struct launch *l, bool wait);

/* Reaps it if it has ended, for a thread with the priority of w: at normal priority, because the
 * kernel removes /proc/PID then, and spins while another task uses an entry of it
 * (shrink_dcache_parent()).  A normal task would not get the CPU on which it could go on. */
bool launch_poll(struct launch *l, struct realtime *w);

/* The exit status that a shell would show: 128 + signal when it was killed. */
int launch_status(const struct launch *l);

/* The signal that killed it; 0: none. */
int launch_signal(const struct launch *l);

/* Ends a command that has not exec'ed yet, and closes the pipes. */
void launch_done(struct launch *l);

#endif
