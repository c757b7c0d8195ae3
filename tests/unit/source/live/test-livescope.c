/* The scope changes while threads come and go: each event counts once. */

#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "event/evparse.h"
#include "event/evspec.h"
#include "source/live/live-private.h"
#include "tests/unit/faultpages.h"
#include "tests/unit/procself.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define PAGES 64u
#define RING_BYTES (4u << 20)
#define RATE_HZ 5000
#define CLOCK_PERIOD_NS (1e9 / RATE_HZ)

enum { CLOCK, FAULTS };

static struct err e;
static struct host host;
static struct evspec_list events;
static pid_t self;
static bool is_over;
static uint64_t threads_ns, n_touched;

static int list_self(void *ctx, pid_t **ret_pids)
{
	*ret_pids = malloc(sizeof(pid_t));
	if (!*ret_pids)
		return -ENOMEM;
	**ret_pids = self;
	return ctx ? -EIO : 1;
}

static struct live_options options(uint64_t ring_bytes)
{
	return (struct live_options){
		.event = events.v, .n_events = events.n, .scope = LIVE_TASK,
		.attr = { .callgraph = EVATTR_CALLGRAPH_NONE, .inherit = true,
			  .rate_default_hz = RATE_HZ, .rate_max_hz = 10000 },
		.open = { .fn = evopen_syscall, .host = &host },
		.pid = &self, .n_pids = 1, .processes = list_self, .ring_bytes = ring_bytes,
	};
}

static uint64_t thread_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the target ------------------------------------------------------------- */

static void touch_pages(void)
{
	__atomic_add_fetch(&n_touched, faultpages_touch(PAGES), __ATOMIC_RELAXED);
}

/* A short thread uses its CPU for a few periods. */
static void *short_thread(void *ctx)
{
	touch_pages();
	while (thread_ns() < 3000000)
		for (volatile int i = 0; i < 5000; i++)
			;
	__atomic_add_fetch(&threads_ns, thread_ns(), __ATOMIC_RELAXED);
	return ctx;
}

static void *create_threads(void *ctx)
{
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		pthread_t t;
		if (pthread_create(&t, NULL, short_thread, NULL) == 0)
			pthread_join(t, NULL);
	}
	return ctx;
}

/* ---- the reader ------------------------------------------------------------- */

struct seen {
	uint64_t n[2];         /* samples of all tasks, by event */
	uint64_t n_faults;     /* of this process */
	uint64_t clock_ns;     /* of its threads other than the first */
	uint64_t n_lost, n_of_target, n_wrong;
};

static void drain(struct source *s, struct seen *seen)
{
	struct record r;
	while (source_next(s, &r, &e) == SOURCE_RECORD) {
		if (r.type == PERF_RECORD_LOST)
			seen->n_lost += r.lost.n_lost;
		if (r.type != PERF_RECORD_SAMPLE)
			continue;
		seen->n[r.event]++;
		bool is_own = r.pid == (uint32_t)self;
		seen->n_faults += is_own && r.event == FAULTS;
		if (is_own && r.event == CLOCK && r.tid != (uint32_t)self)
			seen->clock_ns += r.sample.period;
		seen->n_of_target += r.of_target;
		seen->n_wrong += r.of_target && !is_own && r.pid != UINT32_MAX;
	}
}

static uint64_t minor_faults(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)u.ru_minflt;
}

static struct source *open_events(const struct live_options *o)
{
	struct source *s = NULL;
	return live_open(o, &s, &e) < 0 ? NULL : s;
}

/* Changes n times, every few milliseconds.  Returns how many changes failed. */
static int change_often(struct source *s, int n, struct seen *seen)
{
	int n_failed = 0, r = 0;
	for (int i = 0; i < n; i++) {
		/* Threads may appear faster than they are opened on. */
		for (int tries = 0; tries < 20; tries++) {
			r = livescope_set(s, i % 2 ? LIVE_TASK : LIVE_CPU, &e);
			for (int k = 0; k < 3 || livescope_is_changing(s); k++) {
				source_wait(s, 5, NULL, 0, NULL);
				drain(s, seen);
			}
			if (r == 0)
				break;
		}
		n_failed += r < 0;
	}
	return n_failed;
}

/* With small rings samples are lost, which each event counts. */
static void test_counts(uint64_t ring_bytes)
{
	const struct live_options o = options(ring_bytes);
	struct source *s = open_events(&o);
	struct seen seen = { { 0 } };
	struct source_count faults, clock;
	pthread_t maker[2];
	if (!s || livescope_set(s, LIVE_CPU, &e) < 0) {
		tap_skip("changes of the scope", e.what);
		if (s)
			source_close(s);
		return;
	}
	tap_int(livescope_set(s, LIVE_TASK, &e), -EAGAIN, "one change at a time");
	while (livescope_is_changing(s))
		source_wait(s, 5, NULL, 0, NULL);
	int n_open = n_descriptors();
	n_touched = threads_ns = 0;
	__atomic_store_n(&is_over, false, __ATOMIC_RELAXED);
	source_enable(s, &e);
	uint64_t before = minor_faults();
	for (int i = 0; i < 2; i++)
		pthread_create(&maker[i], NULL, create_threads, NULL);
	int n_failed = change_often(s, 25, &seen);
	__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(maker[i], NULL);
	source_disable(s);
	uint64_t n_faults = minor_faults() - before;
	drain(s, &seen);
	source_count(s, FAULTS, &faults);
	source_count(s, CLOCK, &clock);
	tap_int(n_failed, 0, "the scope changes while threads come and go");
	/* On a whole CPU, Linux counts a page fault in some ten thousands without a sample (seen
	 * with 6.18 and perf_event_open(2) alone). */
	uint64_t n_lost = faults.has_lost ? faults.n_lost : seen.n_lost;
	uint64_t n_seen = seen.n[FAULTS] + n_lost;
	/* LOST records count those of all events. */
	tap_ok((n_seen <= faults.value || (!faults.has_lost && n_lost)) &&
	       n_seen + n_seen / 2000 + 8 >= faults.value,
	       "%llu samples, %llu of them lost, are the %llu that the kernel counted, none twice",
	       (unsigned long long)n_seen, (unsigned long long)n_lost,
	       (unsigned long long)faults.value);
	/* LeakSanitizer has faults of its own. */
	tap_ok(seen.n_faults + seen.n_lost >= n_touched &&
	       seen.n_faults <= n_faults + n_faults / 100 + 8,
	       "%llu page faults sampled; %llu pages touched, %llu faults by getrusage(2)",
	       (unsigned long long)seen.n_faults, (unsigned long long)n_touched,
	       (unsigned long long)n_faults);
	double part = (double)seen.clock_ns / (double)threads_ns;
	double lost = (double)clock.n_lost * CLOCK_PERIOD_NS / (double)threads_ns;
	/* Threads do not count what their creation and their end take, which is more while they
	 * have two sets of events. */
	tap_ok(part + lost > 0.85 && part < 1.15,
	       "%.1f %% of the time of short threads is sampled, up to %.1f %% is lost",
	       part * 100, lost * 100);
	tap_ok(seen.n_of_target > 0 && seen.n_wrong == 0, "events of threads say whose they are");
	tap_int(n_descriptors(), n_open, "old events are closed");
	source_close(s);
}

/* A child may run whose record waits in the rings. */
static void test_late_reader(void)
{
	const struct live_options o = options(RING_BYTES);
	struct source *s = open_events(&o);
	struct seen seen = { { 0 } };
	if (!s || source_enable(s, &e) < 0 || livescope_set(s, LIVE_CPU, &e) < 0) {
		tap_skip("a late reader during a change", e.what);
		if (s)
			source_close(s);
		return;
	}
	struct live *l = (struct live *)s;
	while (livescope_is_changing(s))
		source_wait(s, 5, NULL, 0, NULL);
	tap_int(livescope_set(s, LIVE_TASK, &e), 0, "a change");
	while (clock_monotonic_ns() < l->scope.settle_ns)
		usleep(1000);
	source_wait(s, 0, NULL, 0, NULL);
	tap_ok(l->scope.cut_ns == UINT64_MAX, "a late reader reads before the old events end");
	drain(s, &seen);
	source_wait(s, 0, NULL, 0, NULL);
	tap_ok(l->scope.cut_ns != UINT64_MAX, "then they do");
	source_close(s);
}

/* The end comes during a change. */
static void test_cancelled(void)
{
	const struct live_options o = options(RING_BYTES);
	struct source *s = open_events(&o);
	struct seen seen = { { 0 } };
	struct source_count faults;
	if (!s || source_enable(s, &e) < 0 || livescope_set(s, LIVE_CPU, &e) < 0) {
		tap_skip("the end during a change", e.what);
		if (s)
			source_close(s);
		return;
	}
	touch_pages();
	source_disable(s);
	drain(s, &seen);
	source_count(s, FAULTS, &faults);
	tap_int((long long)seen.n[FAULTS], (long long)faults.value,
		"the end during a change: the counts agree");
	source_close(s);
}

static void test_refused(void)
{
	struct live_options o = options(RING_BYTES);
	int ctx = 0;
	o.scope = LIVE_CPU;
	o.attr.inherit = false;
	o.attr.cpu_wide = true;
	struct source *s = open_events(&o);
	if (!s) {
		tap_skip("changes that fail", e.what);
		return;
	}
	int n_open = n_descriptors();
	struct live *l = (struct live *)s;
	tap_int(livescope_set(s, LIVE_CPU, &e), 0, "no change");
	l->options.processes_ctx = &ctx;
	tap_int(livescope_set(s, LIVE_TASK, &e), -EIO, "unknown processes: no change");
	l->options.processes = NULL;
	tap_int(livescope_set(s, LIVE_TASK, &e), -EOPNOTSUPP, "no list of processes: no change");
	tap_int(n_descriptors(), n_open, "nothing is left open");
	tap_ok(!l->event[0].attr.inherit, "the events are as they were");
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
	    evparse_list(&events, NULL, "cpu-clock,page-faults/period=1/", &e) < 0) {
		printf("Bail out! %s\n", e.what);
		return 1;
	}
	test_counts(RING_BYTES);
	test_counts(4096);
	test_late_reader();
	test_cancelled();
	test_refused();
	evspec_list_done(&events);
	host_close(&host);
	return tap_done();
}
