/* Rings are replaced by larger ones while events write into them. */

#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "event/evparse.h"
#include "event/evspec.h"
#include "source/live/live-private.h"
#include "source/share.h"
#include "source/source-ring.h"
#include "tests/unit/faultpages.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGES 64u
#define BUDGET ((2u << 20) - 4096)  /* 512 KiB for each of two CPUs at first */
#define WAIT_NS UINT64_C(5000000000)

enum { CLOCK, FAULTS };

static struct err e;
static struct host host;
static bool is_over;

/* ---- the target: threads of this program -------------------------------------------- */

static void *touch_pages(void *ctx)
{
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
		faultpages_touch(PAGES);
	return ctx;
}

/* ---- the reader --------------------------------------------------------------------- */

struct seen {
	uint64_t n[2];
	uint64_t clock_ns[4];   /* by CPU: of the last sample of the clock */
	uint64_t n_backwards;
};

static void note(struct seen *seen, const struct record *r)
{
	if (r->type != PERF_RECORD_SAMPLE)
		return;
	seen->n[r->event]++;
	if (r->event != CLOCK || r->cpu >= 4)
		return;
	seen->n_backwards += r->time_ns < seen->clock_ns[r->cpu];
	seen->clock_ns[r->cpu] = r->time_ns;
}

static void drain(struct source *s, uint32_t n_readers, struct seen *seen)
{
	struct record r;
	if (n_readers == 1) {
		while (source_next(s, &r, &e) == SOURCE_RECORD)
			note(seen, &r);
		return;
	}
	share_begin(s);
	for (uint32_t i = 0; i < n_readers; i++)
		share_scan(s, i);
	share_plan(s);
	for (uint32_t i = 0; i < n_readers; i++) {
		share_read(s, i);
		while (share_next(s, i, &r, &e) == SOURCE_RECORD)
			if (i == 0 || r.type == PERF_RECORD_SAMPLE)
				note(seen, &r);
	}
	share_end(s);
}

static void step(struct source *s, uint32_t n_readers, struct seen *seen)
{
	source_wait(s, 5, NULL, 0, NULL);
	drain(s, n_readers, seen);
}

static uint64_t size_of(struct source *s, size_t ring)
{
	struct source_ring r;
	return source_ring(s, ring, &r) ? r.size_bytes : 0;
}

static struct live_options options(const struct evspec_list *events, bool is_task)
{
	static pid_t self;
	self = getpid();
	return (struct live_options){
		.event = events->v, .n_events = events->n,
		.scope = is_task ? LIVE_TASK : LIVE_CPU,
		.attr = { .callgraph = EVATTR_CALLGRAPH_NONE, .inherit = is_task,
			  .cpu_wide = !is_task, .rate_default_hz = 5000, .rate_max_hz = 10000 },
		.open = { .fn = evopen_syscall, .host = &host },
		.pid = &self, .n_pids = 1, .rings_bytes = BUDGET, .rings_grow = true,
	};
}

static struct source *open_events(const struct live_options *o, uint32_t n_readers)
{
	struct source *s = NULL;
	if (live_open(o, &s, &e) < 0)
		return NULL;
	if (n_readers > 1 && share_set(s, n_readers, &e) < 0) {
		source_close(s);
		return NULL;
	}
	return s;
}

/* Both of the first two rings double, one after the other; returns how many have. */
static int grow_all(struct source *s, uint32_t n_readers, struct seen *seen)
{
	int n = 0;
	for (size_t i = 0; i < 2 && size_of(s, i); i++) {
		uint64_t before = size_of(s, i), end_ns = clock_monotonic_ns() + WAIT_NS;
		int r;
		while ((r = source_grow_ring(s, i, 2 * before, &e)) == -EAGAIN &&
		       clock_monotonic_ns() < end_ns)
			step(s, n_readers, seen);
		tap_int(r, 0, "a ring begins to grow");
		tap_int(source_grow_ring(s, i, 2 * before, &e), -EAGAIN, "it does so once");
		while (size_of(s, i) == before && clock_monotonic_ns() < end_ns)
			step(s, n_readers, seen);
		n += size_of(s, i) == 2 * before;
		/* The old ring is closed when it is empty. */
		const struct live *l = (const struct live *)s;
		while (livegrow_is_busy(l, i) && clock_monotonic_ns() < end_ns)
			step(s, n_readers, seen);
		tap_ok(!livegrow_is_busy(l, i), "the old ring is closed");
	}
	return n;
}

static void test_case(const struct evspec_list *events, bool is_task, uint32_t n_readers)
{
	const struct live_options o = options(events, is_task);
	struct source *s = open_events(&o, n_readers);
	struct seen seen = { { 0 } };
	struct source_count faults;
	pthread_t t[2];
	if (!s) {
		tap_skip("rings that grow", e.what);
		return;
	}
	source_count(s, FAULTS, &faults);
	if (!faults.has_lost) {
		tap_skip("rings that grow", "this kernel does not count lost samples (Linux 6.0)");
		source_close(s);
		return;
	}
	is_over = false;
	source_enable(s, &e);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, touch_pages, NULL);
	for (int i = 0; i < 5; i++)
		step(s, n_readers, &seen);
	int n = grow_all(s, n_readers, &seen);
	tap_ok(n > 0 && (n == 2 || !size_of(s, 1)), "%d rings have grown", n);
	tap_int(source_grow_ring(s, 0, 4 * size_of(s, 0), &e), -ENOSPC,
		"together they remain within their budget");
	for (int i = 0; i < 5; i++)
		step(s, n_readers, &seen);
	__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	source_disable(s);
	drain(s, n_readers, &seen);
	drain(s, n_readers, &seen);
	source_count(s, FAULTS, &faults);
	/* On a whole CPU, Linux counts a page fault in some ten thousands without a sample. */
	uint64_t n_seen = seen.n[FAULTS] + faults.n_lost;
	tap_ok(n_seen <= faults.value && n_seen + n_seen / 2000 + 8 >= faults.value &&
	       seen.n[FAULTS] > 1000, "%llu samples and %llu lost ones are the %llu of the kernel",
	       (unsigned long long)seen.n[FAULTS], (unsigned long long)faults.n_lost,
	       (unsigned long long)faults.value);
	tap_ok(seen.n[CLOCK] > 50 && (seen.n_backwards == 0 || n_readers > 1),
	       "the samples of a CPU are in order (%llu)", (unsigned long long)seen.n[CLOCK]);
	source_close(s);
}

/* The end comes while events are moved. */
static void test_closed(const struct evspec_list *events)
{
	const struct live_options o = options(events, true);
	struct source *s = open_events(&o, 1);
	if (!s || source_enable(s, &e) < 0) {
		tap_skip("the end during a change", e.what);
		return;
	}
	tap_int(source_grow_ring(s, 0, 2 * size_of(s, 0), &e), 0, "a ring begins to grow");
	source_close(s);
	tap_ok(true, "the recording may end meanwhile");
}

static void test_refused(const struct evspec_list *events)
{
	struct live_options o = options(events, false);
	o.ring_bytes = 1u << 18;
	struct source *s = open_events(&o, 1);
	if (!s) {
		tap_skip("rings of a fixed size", e.what);
		return;
	}
	tap_int(source_grow_ring(s, 0, 1u << 19, &e), -EOPNOTSUPP, "the user's size is fixed");
	source_close(s);
	o = options(events, false);
	s = open_events(&o, 1);
	if (s) {
		source_poll_fd(s, 0);
		tap_int(source_grow_ring(s, 0, 2 * size_of(s, 0), &e), -EOPNOTSUPP,
			"rings that the caller waits for are fixed");
		source_close(s);
	}
}

int main(void)
{
	struct evspec_list events = { 0 };
	if (host_open(&host, NULL, NULL, NULL, &e) < 0 ||
	    evparse_list(&events, NULL, "cpu-clock,page-faults/period=1/", &e) < 0) {
		printf("Bail out! %s\n", e.what);
		return 1;
	}
	test_case(&events, false, 1);
	test_case(&events, false, 3);
	test_case(&events, true, 1);
	test_case(&events, true, 2);
	test_closed(&events);
	test_refused(&events);
	evspec_list_done(&events);
	host_close(&host);
	return tap_done();
}
