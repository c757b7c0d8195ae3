#ifndef CPROF_CMD_LAUNCH_H
#define CPROF_CMD_LAUNCH_H

/* A command that waits for the word before it execs, so that events can be opened on it first. */

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

struct launch {
	pid_t pid;        /* 0: none */
	int go_fd;        /* a byte here lets it exec; closing it makes it end */
	int errno_fd;     /* the errno of an exec that failed comes from here */
	const char *name;
	bool ended;
	int status;       /* as wait4(2) gives it; valid when ended */
	uint64_t cpu_ns;  /* it and the children that it waited for; valid when ended */
};

/* Forks; the child gets the signal mask `mask` back.  -errno with e set. */
int launch_fork(struct launch *l, char **argv, const sigset_t *mask, struct err *e);

/* Lets it exec.  -errno with e set when the exec failed: -ENOENT or another. */
int launch_exec(struct launch *l, struct err *e);

/* Takes note of its end, if it has ended (or, with wait, when it does).  Returns l->ended. */
bool launch_reap(struct launch *l, bool wait);

/* The exit status that a shell would show: 128 + signal when it was killed. */
int launch_status(const struct launch *l);

/* The signal that has killed it; 0: none has. */
int launch_signal(const struct launch *l);

/* Ends a command that has not exec'ed yet; closes what is open. */
void launch_done(struct launch *l);

#endif
