/*
 * Two pipes: the child waits on one for permission to exec, and reports on the other that the exec
 * failed.  A successful exec closes the second one.
 */
#include "cmd/launch.h"

#include "base/clock.h"
#include "base/err.h"
#include "cmd/caller.h"
#include "cmd/realtime.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Is there a file of that name in any searchable folder of PATH? */
static bool is_in_path(const char *name)
{
	const char *p = getenv("PATH");
	for (bool more = p != NULL; more; p++) {
		char path[PATH_MAX];
		size_t n = strcspn(p, ":");
		int len =
			snprintf(path, sizeof(path), "%.*s/%s", n ? (int)n : 1, n ? p : ".", name);
		if (len < (int)sizeof(path) && faccessat(AT_FDCWD, path, F_OK, AT_EACCESS) == 0)
			return true;
		p += n;
		more = *p;
	}
	return false;
}

static void run_child(int go_fd, int errno_fd, char **argv, const sigset_t *mask,
		      const char *const *variables)
{
	char byte;
	/* End of file without a byte: the parent gave up. */
	if (read(go_fd, &byte, 1) != 1)
		_exit(127);
	sigprocmask(SIG_SETMASK, mask, NULL);
	caller_leave();
	for (; variables && *variables; variables++)
		if (putenv((char *)*variables) != 0)
			_exit(126);
	execvp(argv[0], argv);
	int number = errno;
	/* execvp(3) also returns EACCES when merely a folder of PATH is not searchable. */
	if (number == EACCES && !strchr(argv[0], '/') && !is_in_path(argv[0]))
		number = ENOENT;
	if (write(errno_fd, &number, sizeof(number)) < 0)
		_exit(126);
	_exit(number == ENOENT ? 127 : 126);
}

/* Reports errno of a failed step of starting a process, with a remedy. */
static int report_start_error(const char *name, struct err *e)
{
	int number = errno, r = err_errno(e, number, "cannot start '%s'", name);
	err_hint_files(e, number);
	if (number == EAGAIN)
		err_hint(e,
			 "the limit on processes is reached: ulimit -u, or the cgroup's pids.max");
	return r;
}

/* Where clone3(2) is missing or forbidden (seccomp), the child starts in the present cgroup. */
static pid_t fork_into(int cgroup_fd)
{
	struct clone_args a = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD,
				.cgroup = (uint64_t)cgroup_fd };
	pid_t pid = cgroup_fd < 0 ? -1 : (pid_t)syscall(SYS_clone3, &a, sizeof(a));
	return pid < 0 ? fork() : pid;
}

int launch_fork(struct launch *l, char **argv, const sigset_t *mask, int cgroup_fd,
		const char *const *variables, struct err *e)
{
	int go[2], failed[2];
	*l = (struct launch){ .go_fd = -1, .errno_fd = -1, .name = argv[0] };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) < 0)
		return report_start_error(argv[0], e);
	if (pipe2(failed, O_CLOEXEC) < 0) {
		int r = report_start_error(argv[0], e);
		close(go[0]);
		close(go[1]);
		return r;
	}
	pid_t pid = fork_into(cgroup_fd);
	if (pid == 0) {
		close(go[1]);
		close(failed[0]);
		run_child(go[0], failed[1], argv, mask, variables);
	}
	int r = pid < 0 ? report_start_error(argv[0], e) : 0;
	close(go[0]);
	close(failed[1]);
	l->pid = pid < 0 ? 0 : pid;
	l->go_fd = go[1];
	l->errno_fd = failed[0];
	return r;
}

int launch_exec(struct launch *l, struct err *e)
{
	int number = 0;
	/* The child may have been killed: avoid SIGPIPE. */
	if (send(l->go_fd, "", 1, MSG_NOSIGNAL) != 1)
		return err_errno(e, errno, "cannot start '%s': its process has ended", l->name);
	close(l->go_fd);
	l->go_fd = -1;
	/* A successful exec closes the pipe without a byte. */
	ssize_t n;
	do
		n = read(l->errno_fd, &number, sizeof(number));
	while (n < 0 && errno == EINTR);
	close(l->errno_fd);
	l->errno_fd = -1;
	if (n != sizeof(number))
		return 0;
	launch_reap(l, true);
	err_errno(e, number, "cannot run '%s'", l->name);
	if (number == ENOENT)
		err_hint(e, strchr(l->name, '/') ? "there is no such file, or its interpreter is "
			    "missing" : "no such command in PATH, or its interpreter is missing");
	else if (number == EACCES)
		err_hint(e, "it is not an executable file, or this user may not execute it");
	return -number;
}

static uint64_t timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * CLOCK_SECOND_NS + (uint64_t)t->tv_usec * 1000u;
}

bool launch_reap(struct launch *l, bool wait)
{
	struct rusage use;
	if (!l->pid || l->ended)
		return l->ended;
	pid_t got;
	do
		got = wait4(l->pid, &l->status, wait ? 0 : WNOHANG, &use);
	while (got < 0 && errno == EINTR && wait);
	if (got != l->pid)
		return false;
	l->ended = true;
	l->user_ns = timeval_ns(&use.ru_utime);
	l->system_ns = timeval_ns(&use.ru_stime);
	l->cpu_ns = l->user_ns + l->system_ns;
	return true;
}

bool launch_poll(struct launch *l, struct realtime *w)
{
	siginfo_t info = { .si_pid = 0 };
	if (!l->pid || l->ended)
		return l->ended;
	if (waitid(P_PID, (id_t)l->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || !info.si_pid)
		return false;
	realtime_lower(w);
	launch_reap(l, false);
	realtime_raise(w);
	return l->ended;
}

int launch_status(const struct launch *l)
{
	return WIFSIGNALED(l->status) ? 128 + WTERMSIG(l->status) : WEXITSTATUS(l->status);
}

int launch_signal(const struct launch *l)
{
	return l->ended && WIFSIGNALED(l->status) ? WTERMSIG(l->status) : 0;
}

void launch_done(struct launch *l)
{
	bool waits = l->go_fd >= 0;
	if (waits)
		close(l->go_fd);
	if (l->errno_fd >= 0)
		close(l->errno_fd);
	if (waits && l->pid)
		launch_reap(l, true);
	l->go_fd = l->errno_fd = -1;
}
