/*
 * PTRACE_SEIZE with PTRACE_INTERRUPT, because PTRACE_ATTACH would send a signal that other tracers
 * and parents see.  A thread may be on its way to a stop of its own, for a signal: then it gets
 * that signal when it goes on.
 */

#include "snapshot/threadstop.h"

#include "base/clock.h"
#include "event/evattr.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#define POLL_NS 20000

/* asm/perf_regs.h and asm/ptrace.h of the running architecture: where register number i of perf is
 * among the words of struct user_regs_struct. */
#if defined(__x86_64__)
static const int8_t word_of[] = {
	10, 5, 11, 12, 13, 14, 4, 19, 16, 18, 17, 20, 23, 24, 25, 26, 9, 8, 7, 6, 3, 2, 1, 0,
};
#else
static const int8_t word_of[] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
	25, 26, 27, 28, 29, 30, 31, 32,
};
#endif

static bool read_regs(struct threadstop_thread *t)
{
	uint64_t word[64];
	struct iovec v = { word, sizeof(word) }, *p = &v;
	if (ptrace(PTRACE_GETREGSET, (pid_t)t->tid, (void *)NT_PRSTATUS, p) < 0)
		return false;
	uint64_t mask = evattr_user_regs();
	size_t n = 0;
	for (unsigned i = 0; i < sizeof(word_of) && n < ARCH_REGS_MAX; i++)
		if (mask >> i & 1)
			t->reg[n++] = (size_t)word_of[i] < v.iov_len / 8 ? word[word_of[i]] : 0;
	return true;
}

static void seize(struct threadstop_thread *t)
{
	t->is_stopped = false;
	t->signal = 0;
	t->is_seized = ptrace(PTRACE_SEIZE, (pid_t)t->tid, NULL, NULL) == 0;
	/* Fails if it has just ended, which waiting reports. */
	if (t->is_seized)
		ptrace(PTRACE_INTERRUPT, (pid_t)t->tid, NULL, NULL);
}

/* False: it has not stopped yet. */
static bool has_answered(struct threadstop_thread *t)
{
	int status;
	pid_t r = waitpid((pid_t)t->tid, &status, __WALL | WNOHANG);
	if (r == 0)
		return false;
	if (r < 0 || !WIFSTOPPED(status)) {
		t->is_seized = false;
		return true;
	}
	t->is_stopped = true;
	if (status >> 16 != PTRACE_EVENT_STOP)
		t->signal = WSTOPSIG(status);
	return true;
}

size_t threadstop_begin(struct threadstop_thread *t, size_t n)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	uint64_t end_ns = clock_monotonic_ns() + THREADSTOP_WAIT_NS;
	size_t n_stopped = 0, n_waiting;
	for (size_t i = 0; i < n; i++)
		seize(&t[i]);
	for (;;) {
		n_waiting = 0;
		for (size_t i = 0; i < n; i++)
			if (t[i].is_seized && !t[i].is_stopped)
				n_waiting += !has_answered(&t[i]);
		if (!n_waiting || clock_monotonic_ns() > end_ns)
			break;
		nanosleep(&pause, NULL);
	}
	for (size_t i = 0; i < n; i++)
		n_stopped += t[i].is_stopped && read_regs(&t[i]);
	return n_stopped;
}

void threadstop_end(struct threadstop_thread *t, size_t n)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	uint64_t end_ns = clock_monotonic_ns() + THREADSTOP_WAIT_NS;
	for (size_t i = 0; i < n; i++) {
		if (!t[i].is_seized)
			continue;
		/* Only a stopped thread can be released. */
		while (!t[i].is_stopped && !has_answered(&t[i]) && clock_monotonic_ns() < end_ns)
			nanosleep(&pause, NULL);
		if (t[i].is_stopped)
			ptrace(PTRACE_DETACH, (pid_t)t[i].tid, NULL,
			       (void *)(intptr_t)t[i].signal);
		t[i].is_seized = false;
	}
}
