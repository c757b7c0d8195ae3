#include "base/err.h"
#include "base/host.h"
#include "base/log.h"
#include "event/evparse.h"
#include "event/evspec.h"
#include "source/live/live-private.h"
#include "source/source-ring.h"
#include "tests/unit/source/record-build.h"
#include "tests/unit/source/sim-ring.h"
#include "tests/unit/procself.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

static struct err e;
static struct host host;

/* ---- events by thread, without a kernel ------------------------------------------------ */

/* A source over one ring in memory; two events: ids 11, 12 on thread 7; 21, 22 on thread 8. */
static struct live *make_live(struct sim_ring *sim)
{
	static const struct live_id ids[] = {
		{ .id = 11, .tid = 7 }, { .id = 12, .event = 1, .tid = 7 },
		{ .id = 21, .tid = 8 }, { .id = 22, .event = 1, .tid = 8 }, { .id = 31 },
	};
	struct live *l = calloc(1, sizeof(*l));
	struct ring *ring;
	sim_ring_init(sim, 1 << 16);
	if (!l)
		abort();
	l->source.ops = &live_ops;
	l->format = calloc(3, sizeof(*l->format));
	l->event = calloc(3, sizeof(*l->event));
	if (!l->format || !l->event)
		abort();
	l->format[0] = l->format[1] = l->format[2] = record_build_format();
	l->ring = calloc(1, sizeof(*l->ring));
	l->ring[0].fd = -1;
	l->n_rings = 1;
	ring = &l->ring[0].ring;
	if (ring_open_memory(ring, sim->control, sim->n_data_bytes) < 0 ||
	    round_init(&l->round, l->format, &ring, 1) < 0 ||
	    merge_init(&l->first.merge, &l->round) < 0)
		abort();
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		live_add_id(l, ids[i]);
	return l;
}

static uint64_t sample_time = 1;

static void put_sample(struct sim_ring *sim, uint32_t tid, uint64_t id)
{
	struct record_build b = { 0 };
	struct record_build_id at = { .pid = 7, .tid = tid, .time_ns = sample_time++, .id = id,
				      .stream_id = id };
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, 0x1000 };
	record_build_sample(&b, &at, PERF_RECORD_MISC_USER, 0x1000, 1, chain, 2);
	sim_ring_write(sim, b.v, b.n_bytes);
	sim_ring_publish(sim);
	record_build_done(&b);
}

/* The event of the next sample; -1: there is none. */
static int next_event(struct live *l)
{
	struct record r;
	int code = source_next(&l->source, &r, &e);
	return code == SOURCE_RECORD ? (int)r.event : -1;
}

static int event_of(struct live *l, struct sim_ring *sim, uint32_t tid, uint64_t id)
{
	put_sample(sim, tid, id);
	int event = next_event(l);
	if (event >= 0 && next_event(l) != -1)
		return -2;
	return event;
}

static void test_ids(void)
{
	struct sim_ring sim;
	struct live *l = make_live(&sim);
	tap_ok(event_of(l, &sim, 7, 11) == 0 && event_of(l, &sim, 7, 12) == 1 &&
	       event_of(l, &sim, 8, 22) == 1, "samples find their event by id");
	tap_ok(event_of(l, &sim, 9, 11) == 0, "an inherited event's samples have its parent's id");
	tap_int(event_of(l, &sim, 7, 99), -1, "samples of unknown events are ignored");
	tap_int(event_of(l, &sim, 7, 0), -1, "and those without an id");
	tap_int((long long)l->source.losses.n_unassigned, 2, "but counted");

	struct record_build b = { 0 };
	struct record_build_id at = { .pid = 7, .tid = 7, .time_ns = sample_time++, .id = 99 };
	record_build_comm(&b, &at, "name", false);
	at.id = 22;
	record_build_lost(&b, &at, 5);
	record_build_begin(&b, 9999, 0);
	record_build_end(&b);
	record_build_begin(&b, PERF_RECORD_MMAP2, 0);
	record_build_end(&b);
	sim_ring_write(&sim, b.v, b.n_bytes);
	sim_ring_publish(&sim);
	record_build_done(&b);
	struct record r;
	tap_ok(source_next(&l->source, &r, &e) == SOURCE_RECORD && r.type == PERF_RECORD_COMM &&
	       r.event == RECORD_NO_EVENT, "other records need no event");
	tap_ok(source_next(&l->source, &r, &e) == SOURCE_RECORD && r.type == PERF_RECORD_LOST &&
	       r.event == 1, "lost samples belong to theirs");
	tap_int(source_next(&l->source, &r, &e), SOURCE_IDLE, "no more");
	tap_ok(l->source.losses.n_unknown == 1 && l->source.losses.n_undecodable == 1,
	       "unknown and broken records are counted");

	for (uint64_t id = 1000; id < 6000; id++)
		live_add_id(l, (struct live_id){ .id = id, .event = (uint32_t)(id % 3) });
	bool found = true;
	for (uint64_t id = 1000; id < 6000; id += 7)
		found &= event_of(l, &sim, 7, id) == (int)(id % 3);
	tap_ok(found && event_of(l, &sim, 7, 6000) == -1, "5000 ids");
	source_close(&l->source);
	sim_ring_done(&sim);
}

static uint64_t period_of(struct live *l, struct sim_ring *sim, uint64_t time_ns)
{
	struct record r;
	sample_time = time_ns;
	put_sample(sim, 7, 11);
	uint64_t period = source_next(&l->source, &r, &e) == SOURCE_RECORD ? r.sample.period : 0;
	return next_event(l) == -1 ? period : 0;
}

/* The period of a sample without one, of an event that was inherited. */
static uint64_t inherited_period_of(struct live *l, struct sim_ring *sim, uint64_t stream_id)
{
	struct record_build b = { 0 };
	struct record_build_id at = { .pid = 7, .tid = 9, .time_ns = ++sample_time, .id = 11,
				      .stream_id = stream_id };
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, 0x1000 };
	struct record r;
	record_build_sample(&b, &at, PERF_RECORD_MISC_USER, 0x1000, 0, chain, 2);
	sim_ring_write(sim, b.v, b.n_bytes);
	sim_ring_publish(sim);
	record_build_done(&b);
	bool came = source_next(&l->source, &r, &e) == SOURCE_RECORD;
	return next_event(l) == -1 && came ? r.sample.period : UINT64_MAX;
}

static void test_periods(void)
{
	struct sim_ring sim;
	struct live *l = make_live(&sim);
	struct live_id *id = live_find_id(l, 11);
	uint64_t told = period_of(l, &sim, 1);
	tap_ok(told && told != 500 && told != 600, "samples carry their period");
	live_note_period(id, 500);
	id->changed_ns = 1000;
	tap_int(period_of(l, &sim, 999), (int64_t)told,
		"samples from before a change have the old one");
	tap_int(period_of(l, &sim, 1000), 500, "samples after it have the new one");
	live_note_period(id, 600);
	id->changed_ns = 2000;
	tap_ok(period_of(l, &sim, 1999) == 500 && period_of(l, &sim, 2000) == 600,
	       "the same at the next change");

	/* Events of children, whose samples have the id of their parent's event. */
	struct live_rate later[] = { { 0, 100, 64 }, { 1, 100, 77 }, { 0, 200, 128 } };
	for (size_t i = 0; i < 3; i++)
		VEC_PUSH(&l->rates, later[i]);
	tap_int(inherited_period_of(l, &sim, 99), 0, "inherited before a change: as it was opened");
	tap_int(inherited_period_of(l, &sim, 101), 64, "inherited after it: the new period");
	tap_int(inherited_period_of(l, &sim, 201), 128, "the same at the next change");

	struct live_fd fd = { .fd = -1, .id = 11 };
	tap_int(livevary_step(l, 1), -1, "without a clock no period varies");
	VEC_PUSH(&l->fds, fd);
	l->event[0].attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .freq = 1,
		.sample_freq = 1000,
	};
	livevary_renew(l);
	tap_int(livevary_step(l, 1000000), 101, "a clock of 1000 Hz is changed each 100 ms");
	tap_int(livevary_step(l, 51000000), 101 - 50, "but not earlier");
	tap_ok(livevary_step(l, 300000000) == 100 && l->vary.due_ns < 300000000,
	       "and not while its CPU writes nothing");
	l->event[0].attr.sample_freq = 10000;
	l->vary.due_ns = 0;
	l->ring[0].ring.tail += 8;
	livevary_renew(l);
	tap_int(livevary_step(l, 400000000), 51, "one of 10 kHz is worth a wake-up each 50 ms");
	tap_int((long long)l->vary.due_ns, 420000000, "but changes after 20 if there is another");
	l->event[0].attr.inherit = 1;
	livevary_renew(l);
	tap_int(livevary_step(l, 1), -1, "an inherited clock keeps its period");
	l->event[0].attr.inherit = 0;
	l->event[0].attr.freq = 0;
	livevary_renew(l);
	tap_int(livevary_step(l, 1), -1, "a clock with a requested period keeps it");
	l->fds.n = 0;
	source_close(&l->source);
	sim_ring_done(&sim);
}

/* Steps of a clock with this number, on this machine. */
static void test_vary(void)
{
	struct sim_ring sim;
	struct live *l = make_live(&sim);
	struct live_id *id = live_find_id(l, 11);
	struct perf_event_attr clock = {
		.size = sizeof(clock), .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK, .freq = 1, .sample_freq = 1000,
		.exclude_kernel = 1, .exclude_hv = 1,
	};
	struct live_fd fd = { .fd = evopen_syscall(&clock, 0, -1, -1, 0), .id = 11 };
	if (fd.fd < 0) {
		tap_skip("steps of a clock", "the kernel opens none here");
		source_close(&l->source);
		sim_ring_done(&sim);
		return;
	}
	l->event[0].attr = clock;
	l->options.attr.rate_max_hz = 1100;
	VEC_PUSH(&l->fds, fd);
	bool alike = true, within = true, moved = false;
	double samples = 0;
	for (int i = 1; i <= 20; i++) {
		l->ring[0].ring.tail += 8;
		livevary_step(l, (uint64_t)i * 200000000);
		double period = (double)id->period;
		samples += 100e6 / period;
		/* Up to 1 % longer: a hundred samples share the half period that a change loses. */
		within = within && period >= 1e9 / 1100 && period <= 1.01 * 1e9 / 900;
		moved = moved || period < 0.98e6 || period > 1.03e6;
		if (i % 2 == 0) {
			alike = alike && samples > 198 && samples < 201;
			samples = 0;
		}
	}
	tap_ok(within && moved, "periods vary within a tenth if the limit is that close");
	tap_ok(alike, "two steps give as many samples as two at the nominal rate");

	/* A clock of a cgroup, which may run little. */
	uint64_t period = id->period;
	l->options.scope = LIVE_CGROUP;
	id->n_changed = 90 * 1000000 / period - 1;
	l->ring[0].ring.tail += 8;
	livevary_step(l, 21 * 200000000ull);
	tap_ok(id->period == period, "that of a cgroup stays until it has had some ninety periods");
	id->n_changed += 2;
	l->ring[0].ring.tail += 8;
	livevary_step(l, 22 * 200000000ull);
	tap_ok(id->period != period && !id->n_changed, "then it changes");
	source_close(&l->source);
	sim_ring_done(&sim);
}

/* A server with thousands of threads, many of which were created while events were opened. */
static void test_many_late(void)
{
	struct sim_ring sim;
	struct live *l = make_live(&sim);
	const uint32_t n = 40000;
	struct timespec from, to;
	struct source_count count;
	for (uint32_t i = 0; i < n; i++) {
		const struct live_fd f = { .fd = -1, .tid = n + i };
		VEC_PUSH(&l->late, ((struct live_late){ .tid = n + i, .inherits = true }));
		VEC_PUSH(&l->fds, f);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	source_count(&l->source, 0, &count);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	double s = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
	if (!tap_ok(s < 0.4, "reading the counters of 40,000 late threads is fast"))
		printf("# %.3f s\n", s);
	l->fds.n = 0;
	source_close(&l->source);
	sim_ring_done(&sim);
}

static void test_late(void)
{
	struct sim_ring sim;
	struct live *l = make_live(&sim);
	VEC_PUSH(&l->late, ((struct live_late){ .tid = 8 }));
	tap_int(event_of(l, &sim, 8, 21), -1, "the first sample of a late thread's own event");
	tap_int(event_of(l, &sim, 8, 21), 0, "if none of another event follows, its own count");
	tap_int(event_of(l, &sim, 8, 22), 1, "all of them");
	tap_int(event_of(l, &sim, 8, 11), 0,
		"until a sample with another thread's id proves inheritance");
	tap_int(event_of(l, &sim, 8, 21), -1, "then its own are duplicates");
	tap_int(event_of(l, &sim, 8, 22), -1, "of every event");
	tap_int(event_of(l, &sim, 8, 12), 1, "and the inherited ones count");
	tap_ok(event_of(l, &sim, 7, 11) == 0 && event_of(l, &sim, 9, 11) == 0,
	       "other threads are not affected");
	tap_int(event_of(l, &sim, 9, 21), -1, "what it has created has copies of both");
	tap_int(event_of(l, &sim, 8, 31), 0, "an event of a whole CPU is never a duplicate");
	source_close(&l->source);
	sim_ring_done(&sim);
}

/* ---- this process, with a system call that fails in some places -------------------------- */

static int fail_cpu, fail_with, fail_type;  /* fail_type -1: all */

static int failing_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group,
			unsigned long flags)
{
	bool dummy = attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY;
	if ((fail_cpu == -1 || cpu == fail_cpu) && !(fail_type == 0 && dummy)) {
		errno = fail_with;
		return -1;
	}
	return evopen_syscall(attr, pid, cpu, group, flags);
}

static struct evspec_list events;
static pid_t self;

static struct live_options options(evopen_fn *fn, enum live_scope scope)
{
	return (struct live_options){
		.event = events.v, .n_events = events.n, .scope = scope,
		.attr = { .callgraph = EVATTR_CALLGRAPH_FP, .inherit = scope == LIVE_TASK,
			  .cpu_wide = scope != LIVE_TASK, .only_user = true,
			  .rate_default_hz = 999, .rate_max_hz = 10000 },
		.open = { .fn = fn, .host = &host, .allow_user_only = true },
		.pid = &self, .n_pids = 1,
	};
}

static void burn_ms(int ms)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	int64_t end = t.tv_sec * 1000000000LL + t.tv_nsec + ms * 1000000LL;
	do {
		for (volatile int i = 0; i < 20000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_sec * 1000000000LL + t.tv_nsec < end);
}

static uint64_t drain(struct source *s, uint32_t event)
{
	struct record r;
	uint64_t n = 0;
	while (source_next(s, &r, &e) == SOURCE_RECORD)
		n += r.type == PERF_RECORD_SAMPLE && r.event == event && r.pid == (uint32_t)self;
	return n;
}

static unsigned n_limit_lines;

static void see_line(void *ctx, enum log_level level, const char *text)
{
	(void)ctx, (void)level;
	n_limit_lines += strstr(text, "locked-memory") != NULL;
}

static void test_failing_cpus(void)
{
	const struct log log = { .line = see_line, .max = LOG_EXPLAIN };
	struct source *s = NULL;
	int n_before = n_descriptors();
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct live_options o = options(failing_open, LIVE_TASK);
	o.open.log = &log;
	fail_cpu = -1;
	fail_type = -1;
	static const int errnos[] = { ENODEV, EMFILE, EACCES, EPERM, ENOENT };
	for (size_t i = 0; i < sizeof(errnos) / sizeof(*errnos); i++) {
		fail_with = errnos[i];
		e = (struct err){ 0 };
		int code = live_open(&o, &s, &e);
		tap_ok(code == -fail_with && !s && e.what[0], "no CPU: %s", strerror(fail_with));
	}
	tap_int(n_limit_lines, 0, "which is not treated as a limit of locked memory");
	fail_type = 0;
	fail_with = EBUSY;
	tap_int(live_open(&o, &s, &e), -EBUSY, "rings, but no event");
	fail_with = ENODEV;
	tap_int(live_open(&o, &s, &e), -ENODEV, "rings, but no event on any CPU");
	tap_int(n_descriptors(), n_before, "no descriptor is left open");

	fail_cpu = 1;
	if (n_cpus < 2) {
		tap_skip("one CPU fails", "there is only one");
		return;
	}
	for (fail_type = -1; fail_type <= 0; fail_type++) {
		if (live_open(&o, &s, &e) < 0) {
			tap_skip("one CPU fails", e.what);
			continue;
		}
		struct source_usage f;
		source_usage(s, &f);
		tap_int(f.n_cpus_failed, 1, fail_type ? "a CPU without ring is counted as failed"
						       : "a CPU without events, too");
		tap_ok(f.n_fds > 0 && live_n_threads(s) == 1,
		       "the session goes on with the others");
		tap_int(source_enable(s, &e), 0, "and can be enabled");
		source_disable(s);
		source_close(s);
		s = NULL;
	}
	tap_int(n_descriptors(), n_before, "no descriptor is left open");
}

static void *burn_thread(void *ctx)
{
	burn_ms(*(int *)ctx);
	return NULL;
}

static void test_this_process(enum live_scope scope, const char *name)
{
	struct source *s = NULL;
	struct live_options o = options(evopen_syscall, scope);
	int n_before = n_descriptors();
	if (live_open(&o, &s, &e) < 0) {
		tap_skip(name, e.what);
		return;
	}
	struct source_count before, after;
	struct source_usage f;
	source_usage(s, &f);
	tap_ok(s->facts.running_kernel &&
		       s->facts.n_cpus == (uint32_t)sysconf(_SC_NPROCESSORS_ONLN) &&
		       s->facts.kernel_release[0] && s->facts.arch[0],
	       "%s: facts about the machine", name);
	tap_ok(f.ring_bytes >= 4096 && (f.ring_bytes & (f.ring_bytes - 1)) == 0 &&
	       (int)f.n_fds == n_descriptors() - n_before, "%s: facts about the rings", name);
	source_count(s, 0, &before);
	tap_int((long long)before.value, 0, "nothing is counted before it is enabled");
	burn_ms(20);
	tap_int((long long)drain(s, 0), 0, "and no sample comes");

	tap_int(source_enable(s, &e), 0, "enabled");
	burn_ms(100);
	int ms = 50;
	pthread_t t;
	pthread_create(&t, NULL, burn_thread, &ms);
	pthread_join(t, NULL);
	bool ready[1] = { true };
	int quiet[2];
	if (pipe(quiet) == 0) {
		tap_int(source_wait(s, 0, quiet, 1, ready), 0, "waiting");
		tap_ok(!ready[0], "a descriptor with nothing to read is not ready");
		close(quiet[0]);
		close(quiet[1]);
	}
	uint64_t n = drain(s, 0);
	source_disable(s);
	n += drain(s, 0);
	source_count(s, 0, &after);
	burn_ms(30);
	struct source_count later;
	source_count(s, 0, &later);
	tap_ok(later.value == after.value && drain(s, 0) == 0, "%s: disabling stops it",
	       name);
	tap_ok(n > 75 && n < 300, "%s: 150 ms at 999 Hz are %llu samples", name,
	       (unsigned long long)n);
	if (scope == LIVE_TASK)
		tap_ok(after.value > 130000000 && after.value < 1500000000 && after.time_running_ns,
		       "%s: the clock counted %llu ms, threads that ended included", name,
		       (unsigned long long)after.value / 1000000);
	source_count(s, 1, &later);
	const struct live *l = (const struct live *)s;
	bool first_only = source_attr(s, 1)->config == PERF_COUNT_SW_PAGE_FAULTS;
	for (size_t i = 0; i < l->fds.n; i++)
		first_only &= l->fds.v[i].sideband ==
			      (scope == LIVE_TASK && l->fds.v[i].event == 0);
	tap_ok(first_only, scope == LIVE_TASK ? "the first event carries the side band"
					      : "no event of samples carries the side band");
	source_close(s);
	tap_int(n_descriptors(), n_before, "no descriptor is left open");
}

/* Own samples, by the size of their stack copies. */
struct sizes { unsigned n_small, n_large, n_other; };

static void count_sizes(struct source *s, struct sizes *n)
{
	struct record r;
	while (source_next(s, &r, &e) == SOURCE_RECORD) {
		if (r.type != PERF_RECORD_SAMPLE || r.event != 0 || r.pid != (uint32_t)self)
			continue;
		uint64_t size = r.sample.user_stack_size;
		n->n_small += size == 4096;
		n->n_large += size == 16384;
		n->n_other += size != 4096 && size != 16384;
	}
}

/* Burns ms and reads the rings every 2 ms, so that they never fill, however busy the CPUs are. */
static void burn_and_count(struct source *s, int ms, struct sizes *n)
{
	for (int done = 0; done < ms; done += 2) {
		burn_ms(2);
		count_sizes(s, n);
	}
}

static int set_stack(struct source *s, uint32_t bytes)
{
	return source_set_stack(s, SOURCE_ALL_RINGS, bytes, &e);
}

/* Stack copies change their size during a recording; no count is lost. */
static void test_set_stack(void)
{
	struct source *s = NULL;
	struct live_options o = options(evopen_syscall, LIVE_CPU);
	int n_before = n_descriptors();
	if (live_open(&o, &s, &e) < 0) {
		tap_skip("stack copies of another size", e.what);
		return;
	}
	tap_int(set_stack(s, 16384), -EOPNOTSUPP,
		"without stack copies there is no size to change");
	source_close(s);
	o.attr.callgraph = EVATTR_CALLGRAPH_DWARF;
	o.attr.stack_bytes = 4096;
	/* Room for the samples of all tasks while this one waits for a CPU of a busy machine. */
	o.ring_bytes = 32u << 20;
	if (evattr_user_regs() == 0 || live_open(&o, &s, &e) < 0) {
		tap_skip("stack copies of another size", e.what);
		return;
	}
	struct source_count first, second, third;
	struct sizes n = { 0 };
	int n_open = n_descriptors();
	source_enable(s, &e);
	burn_and_count(s, 60, &n);
	source_count(s, 0, &first);
	tap_int(set_stack(s, 16384), 0, "stack copies of another size");
	tap_int(n_descriptors(), n_open, "take the same descriptors");
	tap_int(source_attr(s, 0)->sample_stack_user, 16384, "and the attr shows it");
	source_count(s, 0, &second);
	burn_and_count(s, 60, &n);
	source_count(s, 0, &third);
	tap_ok(first.value > 0 && second.value >= first.value &&
		       third.value > second.value + 20000000,
	       "counters continue");
	count_sizes(s, &n);
	/* Others' samples may have filled the rings. */
	for (int i = 0; i < 200 && !n.n_large; i++) {
		burn_ms(10);
		count_sizes(s, &n);
	}
	tap_int(source_set_user_chain(s, &e), 0, "the chain of frame pointers is added");
	tap_ok(!source_attr(s, 0)->exclude_callchain_user &&
		       source_attr(s, 0)->sample_stack_user == 16384,
		"the copies stay as they were");
	tap_int(n_descriptors(), n_open, "with the same descriptors");
	source_disable(s);
	tap_ok(n.n_small && n.n_large && !n.n_other, "samples before and after: %u and %u",
	       n.n_small, n.n_large);
	tap_int((long long)s->losses.n_undecodable, 0, "all can be decoded");
	source_close(s);
	s = NULL;

	/* A refusal in the middle leaves all as it was. */
	o.open.fn = failing_open;
	fail_cpu = -2;
	if (live_open(&o, &s, &e) == 0) {
		n_open = n_descriptors();
		fail_cpu = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 1 : 0;
		fail_type = -1;
		fail_with = EMFILE;
		tap_int(set_stack(s, 8192), -EMFILE, "descriptors run out");
		tap_int(n_descriptors(), n_open, "nothing leaks");
		tap_int(source_attr(s, 0)->sample_stack_user, 4096, "the size is unchanged");
		source_enable(s, &e);
		n.n_small = 0;
		burn_and_count(s, 60, &n);
		source_disable(s);
		tap_ok(n.n_small > 0, "and recording continues");
		source_close(s);
	}
	tap_int(n_descriptors(), n_before, "no descriptor is left open");
}

static uint32_t copies_on(const struct source *s, int cpu)
{
	const struct live *l = (const struct live *)s;
	for (size_t i = 0; i < l->fds.n; i++)
		if (l->fds.v[i].cpu == cpu && l->fds.v[i].event == 0)
			return l->fds.v[i].stack_bytes;
	return 0;
}

/* Each ring has copies of its own size, and changes of it do not pile up. */
static void test_set_stack_of_ring(void)
{
	struct source *s = NULL;
	struct source_ring first, last;
	struct live_options o = options(evopen_syscall, LIVE_CPU);
	o.attr.callgraph = EVATTR_CALLGRAPH_DWARF;
	o.attr.stack_bytes = 4096;
	if (evattr_user_regs() == 0 || live_open(&o, &s, &e) < 0) {
		tap_skip("stack copies of one ring", e.what);
		return;
	}
	const struct live *l = (struct live *)s;
	size_t n = 0, n_ids = l->ids.n;
	while (source_ring(s, n, &last))
		n++;
	source_ring(s, 0, &first);
	tap_int((long long)n, (long long)l->n_rings, "rings are numbered");
	tap_ok(first.size_bytes == l->usage.ring_bytes && first.cpu == l->ring[0].cpu,
	       "and described");
	source_enable(s, &e);
	tap_int(source_set_stack(s, 0, 16384, &e), 0, "stack copies of one ring");
	tap_int(copies_on(s, first.cpu), 16384, "change there");
	if (n > 1)
		tap_int(copies_on(s, last.cpu), 4096, "and not elsewhere");
	else
		tap_skip("and not elsewhere", "one CPU");
	tap_int(source_set_user_chain(s, &e), 0, "the chain of frame pointers is added");
	tap_int(copies_on(s, first.cpu), 16384, "and leaves the size");
	bool changed = true;
	for (int i = 0; i < 100; i++) {
		changed &= source_set_stack(s, 0, i % 2 ? 8192 : 32768, &e) == 0;
		drain(s, 0);
	}
	tap_ok(changed && l->ids.n <= 3 * n_ids, "a hundred changes need no memory: %zu ids",
	       l->ids.n);
	source_disable(s);
	source_ring(s, 0, &first);
	burn_ms(2);
	drain(s, 0);
	source_ring(s, 0, &first);
	source_ring(s, 0, &first);
	tap_int((long long)first.peak_bytes, 0, "the peak is that since the last look");
	source_close(s);
}

/* A kernel in which each event can be open only once per CPU, like a breakpoint register. */
static int held[2][1024];
static bool only_once;

static int open_once(struct perf_event_attr *attr, pid_t pid, int cpu, int group,
		     unsigned long flags)
{
	bool dummy = attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY;
	if (dummy || cpu < 0 || cpu >= 1024)
		return evopen_syscall(attr, pid, cpu, group, flags);
	int *mine = &held[attr->config == PERF_COUNT_SW_PAGE_FAULTS][cpu];
	bool wrong_size = only_once && attr->sample_stack_user != 4096;
	errno = ENOSPC;
	if (wrong_size || (*mine > 0 && fcntl(*mine, F_GETFD) >= 0))
		return -1;
	return *mine = evopen_syscall(attr, pid, cpu, group, flags);
}

/* If the old and the new event cannot exist at the same time, the old one is closed first. */
static void test_set_stack_of_one(void)
{
	struct source *s = NULL;
	struct live_options o = options(open_once, LIVE_CPU);
	o.attr.callgraph = EVATTR_CALLGRAPH_DWARF;
	o.attr.stack_bytes = 4096;
	int n_before = n_descriptors();
	if (evattr_user_regs() == 0 || live_open(&o, &s, &e) < 0) {
		tap_skip("stack copies of events that exist only once", e.what);
		return;
	}
	struct source_count first, second;
	int n_open = n_descriptors();
	source_enable(s, &e);
	burn_ms(20);
	tap_int(set_stack(s, 16384), 0,
		"stack copies of events that exist only once");
	tap_int(n_descriptors(), n_open, "take the same descriptors");
	source_count(s, 0, &first);
	burn_ms(20);
	source_count(s, 0, &second);
	tap_ok(first.value > 0 && second.value > first.value, "and continue to count");
	drain(s, 0);
	only_once = true;
	tap_int(set_stack(s, 8192), -ENOSPC, "a failure");
	tap_int(source_attr(s, 0)->sample_stack_user, 16384, "is reported");
	only_once = false;
	source_disable(s);
	source_close(s);
	tap_int(n_descriptors(), n_before, "no descriptor is left open");
}

/* Opens as many events as the PMU has counters, and returns their number; 0 without a PMU. */
static size_t open_full(struct live_options *o, struct evspec *spec, struct source **ret)
{
	for (size_t n = 16; n > 0; n--) {
		struct source_count count = { 0 };
		o->n_events = n;
		for (size_t i = 0; i < n; i++)
			spec[i].output = (uint32_t)i;
		if (live_open(o, ret, &e) < 0)
			return 0;
		source_enable(*ret, &e);
		burn_ms(5);
		source_count(*ret, n - 1, &count);
		if (count.time_running_ns)
			return n;
		source_close(*ret);
	}
	return 0;
}

/* If all counters are in use, events that always count continue to count. */
static void test_set_stack_full(void)
{
	struct evspec_list l = { NULL, 0 };
	struct evspec spec[16];
	struct source *s = NULL;
	if (evattr_user_regs() == 0 || evparse_list(&l, NULL, "cycles:uD", &e) < 0) {
		tap_skip("stack copies while no counter is free", "no stack copies");
		return;
	}
	for (size_t i = 0; i < 16; i++)
		spec[i] = l.v[0];
	struct live_options o = options(evopen_syscall, LIVE_CPU);
	o.event = spec;
	o.attr.callgraph = EVATTR_CALLGRAPH_DWARF;
	o.attr.stack_bytes = 4096;
	size_t n = open_full(&o, spec, &s), n_alive = 0;
	if (n == 0) {
		tap_skip("stack copies while no counter is free", "no PMU");
		evspec_list_done(&l);
		return;
	}
	struct source_count before[16], after[16];
	tap_int(set_stack(s, 16384), 0, "stack copies while no counter is free");
	for (size_t i = 0; i < n; i++)
		source_count(s, i, &before[i]);
	burn_ms(20);
	for (size_t i = 0; i < n; i++) {
		source_count(s, i, &after[i]);
		n_alive += after[i].value > before[i].value &&
			   after[i].time_running_ns > before[i].time_running_ns;
	}
	tap_int((long long)n_alive, (long long)n, "all of them continue to count");
	source_disable(s);
	source_close(s);
	evspec_list_done(&l);
}

int main(void)
{
	self = getpid();
	if (host_open(&host, NULL, NULL, NULL, &e) < 0 ||
	    evparse_list(&events, NULL, "cpu-clock,page-faults", &e) < 0) {
		printf("Bail out! %s\n", e.what);
		return 1;
	}
	test_ids();
	test_periods();
	test_vary();
	test_late();
	test_many_late();
	test_failing_cpus();
	test_this_process(LIVE_TASK, "task");
	test_this_process(LIVE_CPU, "cpu");
	test_set_stack();
	test_set_stack_of_ring();
	test_set_stack_of_one();
	test_set_stack_full();
	evspec_list_done(&events);
	host_close(&host);
	return tap_done();
}
