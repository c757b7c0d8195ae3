/* Stops of other users' threads, one of which belongs to a process that keeps ptrace(2) waiting. */
#include "snapshot/threadstop.h"

#include "base/host.h"
#include "base/remotemem.h"
#include "tests/unit/tap.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static void *stay(void *ctx)
{
	(void)ctx;
	for (;;)
		pause();
	return NULL;
}

/* With a second thread that waits; on SIGUSR1 it executes a program. */
static void run_target(int ready_fd)
{
	pthread_t id;
	sigset_t usr1;
	int signal;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	if (setresuid(NOBODY, NOBODY, NOBODY) < 0 || pthread_create(&id, NULL, stay, NULL) != 0 ||
	    write(ready_fd, "y", 1) != 1)
		_exit(1);
	sigwait(&usr1, &signal);
	execl("/bin/sleep", "sleep", "60", NULL);
	_exit(1);
}

static pid_t start_target(void)
{
	int ready[2];
	char byte;
	if (pipe(ready) < 0)
		exit(1);
	pid_t pid = fork();
	if (pid == 0)
		run_target(ready[1]);
	close(ready[1]);
	bool ok = read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	return ok ? pid : 0;
}

/* The second thread of a process. */
static pid_t second_of(pid_t pid)
{
	char path[64];
	for (pid_t tid = pid + 1; tid < pid + 1000; tid++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
		if (access(path, F_OK) == 0)
			return tid;
	}
	return 0;
}

/*
 * Its execve waits for the end of its second thread, which waits for its tracer, this process, at
 * PTRACE_EVENT_EXIT.  Meanwhile nobody else can attach.
 */
static bool make_stuck(pid_t pid)
{
	int status;
	pid_t second = second_of(pid);
	if (!second || ptrace(PTRACE_SEIZE, second, NULL, (void *)PTRACE_O_TRACEEXIT) < 0)
		return false;
	kill(pid, SIGUSR1);
	return waitpid(second, &status, __WALL) == second && WIFSTOPPED(status) &&
	       status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8);
}

static void test_stops(const struct host *h, pid_t answers, pid_t stuck)
{
	struct threadstop s;
	tap_ok(threadstop_init(&s, 2), "memory");
	s.thread[0].tid = (uint32_t)stuck;
	s.thread[1].tid = (uint32_t)answers;
	s.n = 2;
	tap_int((long long)threadstop_begin(&s, h), 1, "one of two processes answers");
	tap_ok(!s.thread[0].is_stopped && s.thread[1].is_stopped, "the other one is left out");
	tap_int(remotemem_stats(h->memory).n_stuck, 1, "and counts");
	bool has_regs = false;
	for (size_t i = 0; i < ARCH_REGS_MAX; i++)
		has_regs |= s.thread[1].reg[i] != 0;
	tap_ok(has_regs, "registers come from the helper");
	threadstop_end(&s);
	tap_int((long long)threadstop_begin(&s, h), 1, "again");
	threadstop_end(&s);
	threadstop_done(&s);
	tap_int(ptrace(PTRACE_SEIZE, answers, NULL, NULL), 0, "it was let go");
}

int main(void)
{
	struct host h;
	pid_t answers = 0, stuck = 0;
	if (geteuid() != 0) {
		tap_skip("stops of other users' threads", "needs root");
		return tap_done();
	}
	if (host_open(&h, NULL, NULL, NULL, NULL) < 0)
		return 1;
	answers = start_target();
	stuck = start_target();
	if (answers && stuck && make_stuck(stuck))
		test_stops(&h, answers, stuck);
	else
		tap_skip("stops of other users' threads", "ptrace(2) is not allowed");
	host_close(&h);
	/* The kernel ends them when their tracer ends. */
	if (answers)
		kill(answers, SIGKILL);
	if (stuck)
		kill(stuck, SIGKILL);
	return tap_done();
}
