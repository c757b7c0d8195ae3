/* Pauses, snapshots and clearing while this process records itself. */
#include "base/err.h"
#include "cprof.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static struct err e;

/* of CPU time, so that other programs do not matter */
static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void work_ms(unsigned ms)
{
	uint64_t end = now_ns() + ms * 1000000ull;
	/* Reading the clock is a system call, and only user code is sampled: do it rarely. */
	while (now_ns() < end)
		for (volatile unsigned i = 0; i < 5000; i++)
			;
}

static uint64_t n_samples(struct cprof_recorder *r, size_t event)
{
	struct cprof_event_stats s;
	cprof_recorder_event_stats(r, event, &s);
	return s.n_samples;
}

static int swallow(void *ctx, const void *data, size_t n_bytes)
{
	(void)data;
	*(size_t *)ctx += n_bytes;
	return 0;
}

static struct cprof_recorder *make(struct cprof_config *config)
{
	static const char *const events[] = { "cpu-clock:u", "task-clock:u" };
	static pid_t pid;
	struct cprof_recorder *r = NULL;
	pid = getpid();
	config->event = events;
	config->n_events = 2;
	config->freq = "1999";
	config->pid = &pid;
	config->n_pids = 1;
	if (config->scope == CPROF_SCOPE_AUTO)
		config->scope = CPROF_SCOPE_TASK;
	else
		config->callgraph = CPROF_CALLGRAPH_NONE;  /* rings hold the samples of all tasks */
	config->max_memory_bytes = 64 << 20;
	return cprof_recorder_new(config, &r, &e) < 0 ? NULL : r;
}

static void test_pauses(struct cprof_recorder *r)
{
	tap_int(cprof_recorder_pause(r, CPROF_ALL_EVENTS, &e), -EINVAL,
		"no pause before the start");
	tap_int(cprof_recorder_start(r, &e), 0, "start");
	work_ms(60);
	tap_int(cprof_recorder_snapshot(r, &e), 0, "a snapshot");
	tap_int((long long)(n_samples(r, 0) + n_samples(r, 1)), 0, "started paused: no sample");
	tap_int(cprof_recorder_resume(r, CPROF_ALL_EVENTS, &e), 0, "resume");
	work_ms(100);
	tap_int(cprof_recorder_pause(r, 0, &e), 0, "one event is paused");
	cprof_recorder_snapshot(r, &e);
	uint64_t first = n_samples(r, 0), second = n_samples(r, 1);
	tap_ok(first > 5 && second > 5, "both were recorded (%llu, %llu)",
	       (unsigned long long)first, (unsigned long long)second);
	work_ms(100);
	cprof_recorder_snapshot(r, &e);
	tap_int((long long)n_samples(r, 0), (long long)first, "it has no more samples");
	tap_ok(n_samples(r, 1) > second, "the other one has");
	tap_int(cprof_recorder_pause(r, 7, &e), -EINVAL, "there is no event 7");
	tap_int(cprof_recorder_pause(r, CPROF_ALL_EVENTS, &e), 0, "pause");
	struct cprof_stats a, b;
	cprof_recorder_stats(r, &a);
	work_ms(50);
	cprof_recorder_stats(r, &b);
	tap_ok(a.duration_ns == b.duration_ns && a.duration_ns > 190000000,
	       "a pause does not count as time (%llu ms)",
	       (unsigned long long)a.duration_ns / 1000000);
	tap_ok(!b.cpu_used_known, "and kernel CPU accounts also cover paused time");
}

static void test_clear(struct cprof_recorder *r)
{
	size_t n_bytes = 0;
	cprof_recorder_resume(r, CPROF_ALL_EVENTS, &e);
	work_ms(60);
	cprof_recorder_snapshot(r, &e);
	uint64_t before = n_samples(r, 0);
	tap_int(cprof_recorder_write(r, 0, swallow, &n_bytes, &e), 0, "a snapshot is written");
	tap_ok(n_bytes > 100, "and is not empty");
	work_ms(60);
	tap_int(cprof_recorder_clear(r, &e), 0, "cleared");
	tap_int((long long)n_samples(r, 0), 0, "no sample is left");
	cprof_recorder_snapshot(r, &e);
	uint64_t between = n_samples(r, 0);
	tap_ok(before > 0 && between >= 5, "the next one has those since the snapshot (%llu)",
	       (unsigned long long)between);
	tap_int(cprof_recorder_stop(r, &e), 0, "stop");
	tap_int(cprof_recorder_snapshot(r, &e), -EINVAL, "no snapshot after the end");
	tap_int(cprof_recorder_resume(r, CPROF_ALL_EVENTS, &e), -EINVAL, "and no resume");
	n_bytes = 0;
	tap_int(cprof_recorder_write(r, 1, swallow, &n_bytes, &e), 0, "the rest is written");
}

/* The last tenth of a second has some samples, but not too many. */
static void test_last(void)
{
	struct cprof_config config = { .keep_last_ns = 100000000 };
	struct cprof_recorder *r = make(&config);
	struct cprof_stats s;
	size_t n_bytes = 0;
	cprof_recorder_start(r, &e);
	for (int i = 0; i < 40; i++) {
		work_ms(10);
		cprof_recorder_step(r, 0, NULL, 0, NULL, &e);
	}
	tap_int(cprof_recorder_snapshot(r, &e), 0, "a snapshot of the last 100 ms");
	uint64_t n = n_samples(r, 0);
	cprof_recorder_stats(r, &s);
	/* A step may come late, but no slice is older than necessary. */
	tap_ok(n > 0 && n < 600, "%llu samples", (unsigned long long)n);
	tap_ok(s.duration_ns >= 100000000, "in %llu ms",
	       (unsigned long long)s.duration_ns / 1000000);
	tap_int(cprof_recorder_write(r, 0, swallow, &n_bytes, &e), 0, "it is written");
	cprof_recorder_step(r, 0, NULL, 0, NULL, &e);
	tap_int(cprof_recorder_snapshot(r, &e), 0, "another one");
	tap_ok(n_samples(r, 0) < 2 * n + 100, "no sample counts twice");
	work_ms(20);
	tap_int(cprof_recorder_clear(r, &e), 0, "cleared");
	cprof_recorder_snapshot(r, &e);
	tap_ok(n_samples(r, 0) >= 1 && n_samples(r, 0) < 300, "only samples since then are left");
	tap_int(cprof_recorder_stop(r, &e), 0, "stop");
	tap_int(cprof_recorder_write(r, 0, swallow, &n_bytes, &e), 0,
		"the last profile is written");
	cprof_recorder_free(r);
}

static uint64_t wall_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* During short pauses events of whole CPUs stay on: times are exact nevertheless. */
static void test_short(void)
{
	struct cprof_config config = { .pausable = true, .scope = CPROF_SCOPE_CPU };
	struct cprof_recorder *r = make(&config);
	struct cprof_stats s;
	struct cprof_event_stats ev;
	if (!r) {
		tap_skip("short pauses", "may not sample whole CPUs");
		return;
	}
	/* time that is certainly within windows, and the most that can be */
	uint64_t inner_ns = 0, outer_ns = 0, before, after = wall_ns(), now;
	bool ok = cprof_recorder_start(r, &e) == 0;
	before = wall_ns();
	for (int i = 0; i < 200; i++) {
		work_ms(1);
		now = wall_ns();
		inner_ns += now - before;
		ok &= cprof_recorder_pause(r, CPROF_ALL_EVENTS, &e) == 0;
		outer_ns += wall_ns() - after;
		work_ms(1);
		after = wall_ns();
		ok &= cprof_recorder_resume(r, CPROF_ALL_EVENTS, &e) == 0;
		before = wall_ns();
		if (i == 100)
			ok &= cprof_recorder_snapshot(r, &e) == 0;
	}
	/* Pausing one of the events during a pause of both makes it a real one. */
	ok &= cprof_recorder_pause(r, CPROF_ALL_EVENTS, &e) == 0;
	ok &= cprof_recorder_pause(r, 0, &e) == 0;
	outer_ns += wall_ns() - after;
	work_ms(5);
	after = wall_ns();
	tap_ok(ok, "200 pauses");
	tap_int(cprof_recorder_stop(r, &e), 0, "stop in a pause");
	outer_ns += wall_ns() - after;
	cprof_recorder_stats(r, &s);
	cprof_recorder_event_stats(r, 0, &ev);
	uint64_t n = s.n_cpus - s.n_cpus_failed;
	tap_ok(s.duration_ns >= inner_ns && s.duration_ns <= outer_ns, "duration: %llu, %llu, %llu",
	       (unsigned long long)inner_ns, (unsigned long long)s.duration_ns,
	       (unsigned long long)outer_ns);
	/* adjtimex(2) steers the other clock by up to 500 ppm, but not that of perf events. */
	const uint64_t min_ns = n * (inner_ns - inner_ns / 1000);
	const uint64_t max_ns = n * (outer_ns + outer_ns / 1000);
	tap_ok(ev.time_enabled_ns >= min_ns && ev.time_enabled_ns <= max_ns,
	       "time enabled, of all CPUs: %llu, %llu, %llu", (unsigned long long)min_ns,
	       (unsigned long long)ev.time_enabled_ns, (unsigned long long)max_ns);
	tap_ok(ev.time_running_ns <= ev.time_enabled_ns && ev.counted <= max_ns &&
	       ev.counted >= min_ns, "what the clock counted: %llu",
	       (unsigned long long)ev.counted);
	tap_ok(ev.n_samples > 20 && ev.n_samples <= outer_ns * n / 500250 + 2 * n + 200,
	       "%llu samples", (unsigned long long)ev.n_samples);
	cprof_recorder_free(r);
}

/* Pauses of one event and of all, mixed. */
static void test_mixed(void)
{
	struct cprof_config config = { .pausable = true, .scope = CPROF_SCOPE_CPU };
	struct cprof_recorder *r = make(&config);
	if (!r) {
		tap_skip("short pauses of single events", "may not sample whole CPUs");
		return;
	}
	cprof_recorder_start(r, &e);
	for (int i = 0; i < 3; i++) {
		cprof_recorder_pause(r, CPROF_ALL_EVENTS, &e);
		cprof_recorder_resume(r, CPROF_ALL_EVENTS, &e);
	}
	cprof_recorder_pause(r, CPROF_ALL_EVENTS, &e);
	cprof_recorder_resume(r, 1, &e);
	cprof_recorder_snapshot(r, &e);
	uint64_t first = n_samples(r, 0), second = n_samples(r, 1);
	work_ms(50);
	cprof_recorder_snapshot(r, &e);
	tap_ok(n_samples(r, 0) == first && n_samples(r, 1) > second + 5,
	       "after a pause of both, one resumes");
	second = n_samples(r, 1);
	cprof_recorder_pause(r, CPROF_ALL_EVENTS, &e);
	cprof_recorder_resume(r, CPROF_ALL_EVENTS, &e);
	work_ms(50);
	cprof_recorder_snapshot(r, &e);
	tap_ok(n_samples(r, 0) > first + 5 && n_samples(r, 1) > second + 5, "then both: %llu, %llu",
	       (unsigned long long)(n_samples(r, 0) - first),
	       (unsigned long long)(n_samples(r, 1) - second));
	cprof_recorder_pause(r, CPROF_ALL_EVENTS, &e);
	cprof_recorder_snapshot(r, &e);
	cprof_recorder_clear(r, &e);
	work_ms(50);
	cprof_recorder_snapshot(r, &e);
	tap_ok(n_samples(r, 0) == 0 && n_samples(r, 1) == 0,
	       "no sample in a pause that becomes long");
	cprof_recorder_resume(r, CPROF_ALL_EVENTS, &e);
	work_ms(50);
	tap_int(cprof_recorder_stop(r, &e), 0, "stop");
	tap_ok(n_samples(r, 0) > 5 && n_samples(r, 1) > 5, "both continue after it: %llu, %llu",
	       (unsigned long long)n_samples(r, 0), (unsigned long long)n_samples(r, 1));
	cprof_recorder_free(r);
}

/* A window ends when its snapshot is taken, however long the writing takes, and the next one begins
 * there: no time is in neither or in both. */
static void test_ends(uint64_t keep_last_ns)
{
	struct cprof_config config = { .pausable = true, .keep_last_ns = keep_last_ns };
	struct cprof_recorder *r = make(&config);
	struct cprof_stats a, b, c;
	bool follows = true;
	uint64_t sum_ns = 0, paused_ns = 0;
	uint64_t before = wall_ns();
	cprof_recorder_start(r, &e);
	for (int i = 0; i < 5; i++) {
		work_ms(5);
		cprof_recorder_snapshot(r, &e);
		cprof_recorder_stats(r, &a);
		follows &= i == 0 || llabs(a.start_realtime_ns - b.end_realtime_ns) < 100000;
		work_ms(20);
		if (i == 2) {
			uint64_t from = wall_ns();
			cprof_recorder_pause(r, CPROF_ALL_EVENTS, &e);
			work_ms(10);
			cprof_recorder_resume(r, CPROF_ALL_EVENTS, &e);
			paused_ns = wall_ns() - from;
		}
		cprof_recorder_stats(r, &b);
		follows &= a.duration_ns == b.duration_ns &&
			   a.end_realtime_ns == b.end_realtime_ns;
		sum_ns += b.duration_ns;
		if (i == 3 && !keep_last_ns)
			cprof_recorder_step(r, 0, NULL, 0, NULL, &e);
		cprof_recorder_stats(r, &c);
		sum_ns += c.duration_ns - b.duration_ns;
		b = c;
		cprof_recorder_clear(r, &e);
	}
	cprof_recorder_stop(r, &e);
	uint64_t most_ns = wall_ns() - before;
	cprof_recorder_stats(r, &a);
	sum_ns += a.duration_ns;
	follows &= llabs(a.start_realtime_ns - b.end_realtime_ns) < 100000;
	tap_ok(follows, "each window ends at its snapshot, where the next one begins");
	/* Preparing takes time before the first one, cleaning up after the last one. */
	tap_ok(sum_ns <= most_ns - paused_ns + 1000000 && sum_ns + paused_ns + 1000000 > most_ns -
	       most_ns / 10, "together they are as long as the recording: %llu of %llu and %llu",
	       (unsigned long long)sum_ns, (unsigned long long)most_ns,
	       (unsigned long long)paused_ns);
	cprof_recorder_free(r);
}

int main(void)
{
	struct cprof_config config = { .start_paused = true };
	struct cprof_recorder *r = make(&config);
	if (!r) {
		tap_skip("recording this process", e.what);
		return tap_done();
	}
	test_pauses(r);
	test_clear(r);
	cprof_recorder_free(r);
	test_last();
	test_short();
	test_mixed();
	test_ends(0);
	test_ends(1000000000);
	config.start_paused = false;
	r = make(&config);
	cprof_recorder_start(r, &e);
	tap_int(cprof_recorder_pause(r, CPROF_ALL_EVENTS, &e), -EINVAL,
		"a recorder without pausable cannot be paused");
	cprof_recorder_free(r);
	return tap_done();
}
