#include "base/err.h"
#include "base/host.h"
#include "event/evparse.h"
#include "event/evspec.h"
#include "source/live/live-private.h"
#include "source/source-ring.h"
#include "tests/unit/procself.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct err e;
static struct host host;
static struct evspec_list events;
static pid_t self;

static size_t n_threads(void)
{
	return (size_t)procself_count("/proc/self/task") - 2;
}

static struct live_options options(void)
{
	return (struct live_options){
		.event = events.v, .n_events = events.n, .scope = LIVE_TASK,
		.attr = { .callgraph = EVATTR_CALLGRAPH_DWARF, .stack_bytes = 4096, .inherit = true,
			  .only_user = true, .rate_default_hz = 5000, .rate_max_hz = 10000 },
		.open = { .fn = evopen_syscall, .host = &host, .allow_user_only = true },
		.pid = &self, .n_pids = 1,
	};
}

static uint64_t thread_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void burn_ms(unsigned ms)
{
	uint64_t end_ns = thread_ns() + ms * UINT64_C(1000000);
	while (thread_ns() < end_ns)
		for (volatile int i = 0; i < 20000; i++)
			;
}

/* Short threads, one after the other; counts their CPU time. */
static bool threads_end;
static uint64_t threads_ns;

static void *burn_short(void *ctx)
{
	burn_ms(*(unsigned *)ctx);
	__atomic_add_fetch(&threads_ns, thread_ns(), __ATOMIC_RELAXED);
	return NULL;
}

static void *make_threads(void *ctx)
{
	unsigned ms = 4;
	while (!__atomic_load_n(&threads_end, __ATOMIC_RELAXED)) {
		pthread_t t;
		if (pthread_create(&t, NULL, burn_short, &ms) == 0)
			pthread_join(t, NULL);
	}
	return ctx;
}

static int list_self(void *ctx, pid_t **ret_pids)
{
	(void)ctx;
	*ret_pids = malloc(sizeof(pid_t));
	if (!*ret_pids)
		return -ENOMEM;
	**ret_pids = self;
	return 1;
}

/* The amount of the samples of other threads than the first one. */
static uint64_t drain_threads(struct source *s)
{
	struct record r;
	uint64_t sum = 0;
	while (source_next(s, &r, &e) == SOURCE_RECORD)
		if (r.type == PERF_RECORD_SAMPLE && r.event == 0 && r.tid != (uint32_t)self)
			sum += r.sample.period;
	return sum;
}

/* Stack copies of inherited events change while threads come and go: nothing is lost, and nothing
 * counted twice. */
static void test_set_stack_of_threads(void)
{
	struct source *s = NULL;
	struct live_options o = options();
	if (evattr_user_regs() == 0 || live_open(&o, &s, &e) < 0) {
		tap_skip("stack copies of threads", e.what);
		return;
	}
	tap_int(source_set_stack(s, 0, 8192, &e), -EOPNOTSUPP,
		"unknown processes: stack copies are fixed");
	source_close(s);
	o.processes = list_self;
	if (live_open(&o, &s, &e) < 0)
		return;
	const struct live *l = (struct live *)s;
	size_t n_fds = l->fds.n;
	int n_open = n_descriptors(), n_failed = 0;
	uint64_t sum = 0;
	pthread_t maker[2];
	source_enable(s, &e);
	for (int i = 0; i < 2; i++)
		pthread_create(&maker[i], NULL, make_threads, NULL);
	for (size_t i = 0; i < 20; i++) {
		usleep(20000);
		sum += drain_threads(s);
		uint32_t bytes = i / l->n_rings % 2 ? 4096 : 8192;
		n_failed += source_set_stack(s, i % l->n_rings, bytes, &e) < 0;
	}
	__atomic_store_n(&threads_end, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(maker[i], NULL);
	source_disable(s);
	sum += drain_threads(s);
	tap_int(n_failed, 0, "stack copies of threads change");
	double part = (double)sum / (double)threads_ns;
	/* Each change costs a thread half a period, and so does its birth. */
	tap_ok(part > 0.75 && part < 1.08, "%.1f %% of the time of short threads is sampled",
	       part * 100);
	bool changed = true;
	for (size_t i = 0; i < l->n_rings; i++)
		changed &= source_set_stack(s, i, 16384, &e) == 0;
	tap_ok(changed && l->fds.n == n_fds && n_descriptors() == n_open,
	       "with the descriptors of the threads that live");
	source_close(s);
}

/* A child that existed before is a process of its own, and stays one. */
static void test_older_child(void)
{
	struct source *s = NULL;
	struct live_options o = options();
	bool has_old = false, has_new = false;
	o.processes = list_self;
	pid_t old = fork();
	if (old == 0)
		for (;;)
			pause();
	usleep(30000);  /* start times have a resolution of 10 ms */
	if (evattr_user_regs() == 0 || live_open(&o, &s, &e) < 0) {
		tap_skip("children and a change of stack copies", e.what);
		kill(old, SIGKILL);
		waitpid(old, NULL, 0);
		return;
	}
	pid_t new = fork();
	if (new == 0)
		for (;;)
			pause();
	const struct live *l = (struct live *)s;
	tap_int(source_set_stack(s, 0, 8192, &e), 0, "stack copies change beside children");
	for (size_t i = 0; i < l->fds.n; i++) {
		has_old |= l->fds.v[i].tid == (uint32_t)old;
		has_new |= l->fds.v[i].tid == (uint32_t)new;
	}
	tap_ok(!has_old, "a child that existed before is not recorded");
	tap_ok(has_new, "a new child is, although its FORK was not read");
	source_close(s);
	kill(old, SIGKILL);
	kill(new, SIGKILL);
	waitpid(old, NULL, 0);
	waitpid(new, NULL, 0);
}

/* Without inheritance the threads that had events get the new ones; ended ones get none. */
static void *sleep_until(void *ctx)
{
	while (!__atomic_load_n((bool *)ctx, __ATOMIC_RELAXED))
		usleep(1000);
	return NULL;
}

static void test_without_inheritance(void)
{
	struct source *s = NULL;
	struct live_options o = options();
	bool over = false;
	pthread_t t;
	o.attr.inherit = false;
	if (pthread_create(&t, NULL, sleep_until, &over) != 0)
		return;
	if (evattr_user_regs() == 0 || live_open(&o, &s, &e) < 0) {
		tap_skip("stack copies without inheritance", e.what);
		__atomic_store_n(&over, true, __ATOMIC_RELAXED);
		pthread_join(t, NULL);
		return;
	}
	const struct live *l = (struct live *)s;
	size_t n_fds = l->fds.n, n_first = n_threads();
	source_enable(s, &e);
	tap_int(source_set_stack(s, SOURCE_ALL_RINGS, 8192, &e), 0,
		"stack copies without inheritance");
	tap_int((long long)l->fds.n, (long long)n_fds, "on all threads");
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	tap_int(source_set_stack(s, SOURCE_ALL_RINGS, 16384, &e), 0, "and again");
	tap_int((long long)l->fds.n, (long long)(n_fds / n_first * n_threads()),
		"on those that are left");
	source_close(s);
}

/* A thread that a repeated scan found has two sets: those of the changed events tell. */
static void test_late(void)
{
	struct source *s = NULL;
	struct live_options o = options();
	o.processes = list_self;
	if (evattr_user_regs() == 0 || live_open(&o, &s, &e) < 0) {
		tap_skip("late threads after a change", e.what);
		return;
	}
	struct live *l = (struct live *)s;
	tap_ok(!l->ring[0].has_late, "at first all rings have the same late threads");
	source_set_stack(s, 0, 8192, &e);
	tap_ok(l->ring[0].has_late, "a changed ring has its own");
	const struct live_id *old = live_find_id(l, l->ring[0].closed.v[0]);
	tap_ok(old && old->until_ns, "samples of the old events count up to now");
	source_set_stack(s, 0, 4096, &e);
	const struct live_fd *f = &l->fds.v[l->fds.n - 1];
	tap_ok(live_find_id(l, f->id)->since_ns, "those of the new ones from now on");
	source_close(s);
}

static void *end_at_once(void *ctx)
{
	return ctx;
}

int main(void)
{
	pthread_t t;
	self = getpid();
	/* ThreadSanitizer starts a thread of its own beside the first one */
	if (pthread_create(&t, NULL, end_at_once, NULL) == 0)
		pthread_join(t, NULL);
	if (host_open(&host, NULL, NULL, NULL, &e) < 0 ||
	    evparse_list(&events, NULL, "cpu-clock,page-faults", &e) < 0) {
		printf("Bail out! %s\n", e.what);
		return 1;
	}
	test_set_stack_of_threads();
	test_older_child();
	test_without_inheritance();
	test_late();
	evspec_list_done(&events);
	host_close(&host);
	return tap_done();
}
