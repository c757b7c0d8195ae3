/*
 * tracer PID [MS]: traces all threads of a process and their system calls, as strace -f does, until
 * it is killed or for MS milliseconds.  Prints "attached" when it has begun.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int attach_all(const char *pid)
{
	char path[64];
	int n = 0;
	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	DIR *d = opendir(path);
	for (const struct dirent *e; d && (e = readdir(d));) {
		pid_t tid = (pid_t)atoi(e->d_name);
		long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE;
		if (tid <= 0)
			continue;
		if (ptrace(PTRACE_SEIZE, tid, NULL, options) < 0) {
			perror("tracer: PTRACE_SEIZE");
			continue;
		}
		ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
		n++;
	}
	if (d)
		closedir(d);
	return n;
}

/* Lets a thread go on from its stop: at a system call, by a signal, or by a group stop. */
static void go_on(pid_t tid, int status)
{
	int event = status >> 16, signal = WSTOPSIG(status);
	if (event == PTRACE_EVENT_STOP && signal != SIGTRAP)
		ptrace(PTRACE_LISTEN, tid, NULL, NULL);
	else if (event || signal == (SIGTRAP | 0x80))
		ptrace(PTRACE_SYSCALL, tid, NULL, NULL);
	else
		ptrace(PTRACE_SYSCALL, tid, NULL, (long)signal);
}

int main(int argc, char **argv)
{
	int status;
	if (argc < 2)
		return 64;
	if (!attach_all(argv[1]))
		return 1;
	puts("attached");
	fflush(stdout);
	/* at the end of the tracer, the kernel lets all threads go on */
	long ms = argc > 2 ? atol(argv[2]) : 0;
	const struct itimerval end = { .it_value = { ms / 1000, ms % 1000 * 1000 } };
	setitimer(ITIMER_REAL, &end, NULL);
	for (pid_t tid; (tid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR;)
		if (tid > 0 && WIFSTOPPED(status))
			go_on(tid, status);
	return 0;
}
