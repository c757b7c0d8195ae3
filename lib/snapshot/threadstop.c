/*
 * PTRACE_SEIZE with PTRACE_INTERRUPT, because PTRACE_ATTACH would send a signal that other tracers
 * and parents see.  A thread may be on its way to a stop of its own, for a signal: then it gets
 * that signal when it goes on.
 *
 * If the helper ends, the kernel lets its threads go on.
 */

#include "snapshot/threadstop.h"

#include "base/clock.h"
#include "base/helper.h"
#include "base/host.h"
#include "base/remotemem.h"
#include "base/rights.h"
#include "event/evattr.h"

#include <elf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_NS 20000
#define STEP_MS 20
#define ANSWER_NS (2ull * THREADSTOP_WAIT_NS)  /* of the helper */

struct threadstop_shared {
	size_t at;                      /* the thread that is being seized */
	size_t n_stopped;
	struct threadstop_thread thread[];
};

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

static size_t stop(struct threadstop_shared *x, size_t n)
{
	struct threadstop_thread *t = x->thread;
	const struct timespec pause = { .tv_nsec = POLL_NS };
	uint64_t end_ns = clock_monotonic_ns() + THREADSTOP_WAIT_NS;
	size_t n_stopped = 0, n_waiting;
	for (x->at = 0; x->at < n; x->at++)
		if (!t[x->at].is_left_out)
			seize(&t[x->at]);
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

static void resume(struct threadstop_thread *t, size_t n)
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

/* ---- the helper ----------------------------------------------------------------------------- */

/* Only system calls: helper.h.  Each side says with one byte that it is ready. */
static void serve(void *ctx, int socket_fd)
{
	const struct threadstop *s = ctx;
	struct pollfd p = { .fd = socket_fd, .events = POLLIN };
	s->shared->n_stopped = stop(s->shared, s->n);
	helper_send(socket_fd, "", 1, -1);
	while (syscall(SYS_ppoll, &p, 1ul, NULL, NULL, 0ul) < 0 && errno == EINTR)
		continue;
	resume(s->shared->thread, s->n);
	helper_send(socket_fd, "", 1, -1);
}

/* False: no answer in time, or the helper has ended. */
static bool await(int socket_fd)
{
	uint64_t end_ns = clock_monotonic_ns() + ANSWER_NS;
	struct pollfd p = { .fd = socket_fd, .events = POLLIN };
	char byte;
	int fd = -1;
	while (poll(&p, 1, STEP_MS) <= 0)
		if (clock_monotonic_ns() > end_ns || helper_is_asked_to_end())
			return false;
	return helper_receive(socket_fd, &byte, 1, &fd);
}

static void end_helper(struct threadstop *s)
{
	struct helper_cost cost = { 0 };
	close(s->socket_fd);
	helper_end(&cost, s->helper);
	helper_reap(&cost);
	s->helper = 0;
}

static bool start_helper(struct threadstop *s)
{
	CLEANUP_RIGHTS bool raised = rights_raise();
	const struct helper_server server = { serve, s, -1 };
	pid_t pid = helper_start(&server, &s->socket_fd);
	s->helper = pid > 0 ? pid : 0;
	return pid > 0;
}

static size_t stop_by_helper(struct threadstop *s, const struct host *h)
{
	for (unsigned i = 0; i <= HELPER_STUCK_MAX && start_helper(s); i++) {
		if (await(s->socket_fd))
			return s->shared->n_stopped;
		size_t at = s->shared->at;
		end_helper(s);
		for (size_t k = 0; k < s->n; k++)
			s->thread[k].is_seized = s->thread[k].is_stopped = false;
		if (at >= s->n)
			break;
		remotemem_give_up(h->memory, s->thread[at].tid);
		for (size_t k = 0; k < s->n; k++)
			s->thread[k].is_left_out |= remotemem_is_given_up(h->memory,
									  s->thread[k].tid);
	}
	return 0;
}

/* ---- all together --------------------------------------------------------------------------- */

bool threadstop_init(struct threadstop *s, size_t n_max)
{
	size_t n_bytes = sizeof(*s->shared) + n_max * sizeof(*s->thread);
	void *p = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*s = (struct threadstop){ .n_max = n_max };
	if (p == MAP_FAILED)
		return false;
	s->shared = p;
	s->thread = s->shared->thread;
	return true;
}

void threadstop_done(struct threadstop *s)
{
	if (s->shared)
		munmap(s->shared, sizeof(*s->shared) + s->n_max * sizeof(*s->thread));
	*s = (struct threadstop){ .n = 0 };
}

size_t threadstop_begin(struct threadstop *s, const struct host *h)
{
	for (size_t i = 0; i < s->n; i++)
		if (!remotemem_is_direct(h->memory, s->thread[i].tid))
			return stop_by_helper(s, h);
	return stop(s->shared, s->n);
}

void threadstop_end(struct threadstop *s)
{
	if (!s->helper) {
		resume(s->thread, s->n);
		return;
	}
	helper_send(s->socket_fd, "", 1, -1);
	await(s->socket_fd);
	end_helper(s);
}
