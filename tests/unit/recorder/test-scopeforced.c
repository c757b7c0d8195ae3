/*
 * The scope changes every fifth of a second, while the target creates threads and processes and
 * executes programs: each page fault counts once, with 1, 2 and 4 readers.  CPROF_TEST_SECONDS: how
 * long each case takes at least.
 */

#include "base/clock.h"
#include "recorder/kinds/kind-cpu.h"
#include "recorder/recorder-private.h"
#include "tests/unit/faultpages.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHANGE_NS 200000000u
#define MIN_CHANGES 3u
#define EXTRA_MS 20000u	/* the target works no longer than this beyond its time */
#define PAGES 16u
#define STEADY_THREADS 3

enum { CLOCK, FAULTS };

/* ---- the target: this program, executed again -------------------------------------- */

struct used {
	uint64_t n_faults, cpu_ns, n_execs;
};

static uint64_t end_ns, n_execs;
static atomic_bool is_over;

static void end_target(int number)
{
	(void)number;
	is_over = true;
}

static bool goes_on(void)
{
	return !is_over && clock_monotonic_ns() < end_ns;
}

static struct used used_so_far(void)
{
	struct rusage own, children;
	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	return (struct used){
		.n_faults = (uint64_t)(own.ru_minflt + children.ru_minflt),
		.cpu_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID), .n_execs = n_execs,
	};
}

static void *short_thread(void *ctx)
{
	faultpages_touch(PAGES);
	return ctx;
}

static void create_process(const char *program)
{
	pid_t pid = fork();
	if (pid == 0) {
		if (program)
			execl("/proc/self/exe", program, "short", (char *)NULL);
		faultpages_touch(PAGES);
		_exit(0);
	}
	n_execs += program != NULL;
	/* SIGTERM may come meanwhile; its page faults count when it has been waited for */
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void storm(void)
{
	for (unsigned i = 0; goes_on(); i++) {
		pthread_t t;
		if (i % 16 == 0)
			create_process("test");
		else if (i % 4 == 0)
			create_process(NULL);
		else if (pthread_create(&t, NULL, short_thread, NULL) == 0)
			pthread_join(t, NULL);
	}
}

static void *work(void *ctx)
{
	while (goes_on())
		for (volatile int i = 0; i < 20000; i++)
			;
	return ctx;
}

static void be_steady(void)
{
	pthread_t t[STEADY_THREADS];
	for (int i = 0; i < STEADY_THREADS; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < STEADY_THREADS; i++)
		pthread_join(t[i], NULL);
}

/* Stops at first; then works until SIGTERM, and writes what it has used to standard output. */
static _Noreturn void target_main(const char *what, uint64_t ms)
{
	signal(SIGTERM, end_target);
	raise(SIGSTOP);
	struct used before = used_so_far();
	end_ns = clock_monotonic_ns() + (ms + EXTRA_MS) * 1000000u;
	if (strcmp(what, "storm") == 0)
		storm();
	else
		be_steady();
	struct used now = used_so_far();
	now.n_faults -= before.n_faults;
	now.cpu_ns -= before.cpu_ns;
	/* LeakSanitizer would have page faults of its own at exit. */
	_exit(write(STDOUT_FILENO, &now, sizeof(now)) != (ssize_t)sizeof(now));
}

static pid_t start_target(const char *what, int *ret_fd)
{
	int fd[2], status;
	if (pipe(fd) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		dup2(fd[1], STDOUT_FILENO);
		execl("/proc/self/exe", "target", what, "", (char *)NULL);
		_exit(127);
	}
	close(fd[1]);
	*ret_fd = fd[0];
	return waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) ? pid : -1;
}

/* ---- the recording --------------------------------------------------------------------- */

/* Steps until the target has ended, which is after `ms` and some changes; returns the number of
 * changes. */
static int record(struct cprof_recorder *r, pid_t pid, uint64_t ms, struct cprof_error *e)
{
	struct kind_session *k = &r->session;
	uint64_t start_ns = clock_monotonic_ns(), due_ns = start_ns + CHANGE_NS;
	int n = 0;
	bool is_told = false;
	/* Only this function decides. */
	((struct kind_cpu *)k->state)->may_change = false;
	kill(pid, SIGCONT);
	for (;;) {
		int code = cprof_recorder_step(r, 20, NULL, 0, NULL, e);
		if (code < 0)
			return code;
		if (code == CPROF_TARGET_GONE)
			return n;
		uint64_t now_ns = clock_monotonic_ns();
		if (now_ns - start_ns > ms * 1000000u && n >= (int)MIN_CHANGES && !is_told)
			is_told = kill(pid, SIGTERM) == 0;
		enum cprof_scope to = k->scope == CPROF_SCOPE_CPU ? CPROF_SCOPE_TASK
								   : CPROF_SCOPE_CPU;
		if (now_ns < due_ns || kind_cpu_is_replacing(k))
			continue;
		/* Threads may be born too fast, at times. */
		if (kind_cpu_scope_change(k, to, now_ns, "forced", e) < 0)
			continue;
		due_ns = now_ns + CHANGE_NS;
		n++;
	}
}

static int open_recorder(pid_t pid, uint32_t n_readers, struct cprof_recorder **ret,
			 struct cprof_error *e)
{
	static const char *const events[] = { "cpu-clock", "page-faults/period=1/" };
	const struct cprof_config config = {
		.event = events, .n_events = 2, .pid = &pid, .n_pids = 1, .freq = "1999",
		.callgraph = CPROF_CALLGRAPH_NONE, .no_bpf = true, .n_readers = n_readers,
		.ring_bytes = 8u << 20,
	};
	int code = cprof_recorder_new(&config, ret, e);
	if (code == 0 && !((struct kind_cpu *)(*ret)->session.state)->may_change) {
		snprintf(e->what, sizeof(e->what), "%s", (*ret)->session.scope_reason);
		code = -EPERM;
	}
	return code < 0 ? code : cprof_recorder_start(*ret, e);
}

static void check_storm(const char *name, const struct cprof_recorder *r, struct used used,
			const struct cprof_event_stats *ev)
{
	/* On its way out, a process has a few faults that getrusage(2) of others misses.  An exec
	 * has one or two that the kernel counts for getrusage only (mm_account_fault). */
	uint64_t least = used.n_faults - 2 * used.n_execs - 8;
	tap_ok(ev->n_samples + ev->n_lost_all >= least &&
	       ev->n_samples <= used.n_faults + used.n_faults / 500 + 32,
	       "%s: %llu page faults of %llu by getrusage(2), %llu lost, %llu threads", name,
	       (unsigned long long)ev->n_samples, (unsigned long long)used.n_faults,
	       (unsigned long long)ev->n_lost_all, (unsigned long long)r->engine.n_born);
}

static void check_steady(const char *name, struct used used, const struct cprof_event_stats *ev)
{
	double percent = 100.0 * (double)ev->value / (double)used.cpu_ns;
	tap_ok(percent > 94 && percent < 104, "%s: %.1f %% of the CPU time is sampled", name,
	       percent);
}

static void test_case(const char *what, uint64_t ms, uint32_t n_readers)
{
	struct cprof_recorder *r = NULL;
	struct cprof_event_stats ev;
	struct cprof_error e;
	struct used used;
	char name[64];
	int fd = -1;
	bool is_storm = strcmp(what, "storm") == 0;
	snprintf(name, sizeof(name), "%s, %u readers", what, n_readers);
	pid_t pid = start_target(what, &fd);
	if (pid < 0) {
		tap_ok(false, "%s: the target starts", name);
		return;
	}
	if (open_recorder(pid, n_readers, &r, &e) < 0) {
		tap_skip(name, e.what);
		kill(pid, SIGKILL);
	} else {
		int n = record(r, pid, ms, &e);
		tap_ok(n >= (int)MIN_CHANGES, "%s: %d changes of the scope", name, n);
		bool has_used = read(fd, &used, sizeof(used)) == (ssize_t)sizeof(used);
		tap_ok(has_used && cprof_recorder_stop(r, &e) == 0, "%s: recorded", name);
		cprof_recorder_event_stats(r, is_storm ? FAULTS : CLOCK, &ev);
		if (is_storm)
			check_storm(name, r, used, &ev);
		else
			check_steady(name, used, &ev);
		tap_ok(cprof_recorder_scope_change(r, (size_t)n - 1, &(struct cprof_scope_change){
			       0 }) && !cprof_recorder_scope_change(r, (size_t)n,
				       &(struct cprof_scope_change){ 0 }),
		       "%s: each change is noted", name);
	}
	cprof_recorder_free(r);
	waitpid(pid, NULL, 0);
	close(fd);
}

int main(int argc, char **argv)
{
	const char *seconds = getenv("CPROF_TEST_SECONDS");
	uint64_t ms = seconds ? strtoull(seconds, NULL, 10) * 1000 : 1000;
	if (argc == 2)
		return faultpages_touch(PAGES) != PAGES;
	if (argc == 3)
		target_main(argv[1], ms);
	for (uint32_t n = 1; n <= 4; n *= 2) {
		test_case("storm", ms, n);
		test_case("steady", ms, n);
	}
	return tap_done();
}
