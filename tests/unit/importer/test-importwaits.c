/* Waits in recordings of perf: tracepoints, records of switches, both byte orders, streams. */
#include "tests/unit/tap.h"

#include "base/err.h"
#include "cprof-import.h"
#include "tests/unit/source/perfdata-build.h"
#include "tests/unit/source/schedpoint-texts.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define COMMON (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
		PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
#define SWITCH_ID 372
#define FEATURES (UINT64_C(1) << 1 | UINT64_C(1) << 3)  /* TRACING_DATA, HOSTNAME */

/* The three events of the files; the ids of samples are 100, 110 and 120. */
enum { SWITCH, COUNTED, CLOCK, N_EVENTS };
static struct perf_event_attr attrs[N_EVENTS] = {
	{ .type = PERF_TYPE_TRACEPOINT, .config = SWITCH_ID, .sample_period = 1,
	  .sample_id_all = 1, .sample_type = COMMON | PERF_SAMPLE_RAW },
	{ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES, .sample_period = 1,
	  .sample_id_all = 1, .sample_type = COMMON },
	{ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = 1000,
	  .sample_id_all = 1, .sample_type = COMMON },
};

/* ---- bytes -------------------------------------------------------------------------------- */

static void end_id(struct build *b, size_t at, uint32_t tid, uint64_t time_ns, unsigned event)
{
	u32(b, tid), u32(b, tid), u64(b, time_ns), u32(b, 0), u32(b, 0);
	u64(b, 100 + 10 * event);
	end(b, at);
}

static void thread(struct build *b, uint32_t tid)
{
	size_t at = begin(b, PERF_RECORD_COMM, 0);
	u32(b, tid), u32(b, tid), name(b, "thread");
	end_id(b, at, tid, 0, 0);
}

static size_t begin_sample(struct build *b, unsigned event, uint32_t tid, uint64_t time_ns)
{
	size_t at = begin(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	u64(b, 100 + 10 * event), u64(b, 0x401000), u32(b, tid), u32(b, tid), u64(b, time_ns);
	u32(b, 0), u32(b, 0);
	return at;
}

/* A thread leaves its CPU to another one. */
static void leaves(struct build *b, uint64_t time_ns, uint32_t tid, uint64_t state, uint32_t next)
{
	size_t at = begin_sample(b, SWITCH, tid, time_ns);
	u32(b, 68);
	zeros(b, 24), u32(b, tid), u32(b, 120), u64(b, state);
	zeros(b, 16), u32(b, next), u32(b, 120), u32(b, 0);
	end(b, at);
}

static void sample(struct build *b, unsigned event, uint64_t time_ns, uint32_t tid)
{
	end(b, begin_sample(b, event, tid, time_ns));
}

static void switched(struct build *b, uint64_t time_ns, uint32_t tid, bool is_out)
{
	end_id(b, begin(b, PERF_RECORD_SWITCH, is_out ? PERF_RECORD_MISC_SWITCH_OUT : 0), tid,
	       time_ns, COUNTED);
}

static void exits(struct build *b, uint64_t time_ns, uint32_t tid)
{
	size_t at = begin(b, PERF_RECORD_EXIT, 0);
	u32(b, tid), u32(b, 1), u32(b, tid), u32(b, 1), u64(b, time_ns);
	end_id(b, at, tid, time_ns, 0);
}

static void put_text(struct build *b, const char *s)
{
	put(b, s, strlen(s) + 1);
}

static void sized(struct build *b, const char *s)
{
	u64(b, strlen(s));
	put(b, s, strlen(s));
}

static void tracing_data(struct build *b, const char *format)
{
	put(b, "\x17\x08\x44" "tracing", 10);
	put_text(b, "0.6");
	put(b, "\0\x08", 2), u32(b, 4096);
	put_text(b, "header_page"), sized(b, "page");
	put_text(b, "header_event"), sized(b, "event");
	u32(b, 1), sized(b, "of ftrace");
	u32(b, 2), put_text(b, "irq"), u32(b, 1), sized(b, "name: x\nID: 372\n");
	put_text(b, "sched"), u32(b, 1), sized(b, format);
	u32(b, 0), u32(b, 0), u64(b, 0);
}

static void begin_recording(struct build *b, bool swap, size_t n_events)
{
	b->n = 0;
	b->swap = swap;
	begin_file(b, attrs, n_events);
}

static void finish_with_formats(struct build *b, size_t n_events, const char *format)
{
	finish_data(b, n_events, FEATURES);
	size_t table = b->n;
	zeros(b, 32);
	size_t at = b->n;
	tracing_data(b, format);
	patch(b, table, at);
	patch(b, table + 8, b->n - at);
	at = b->n;
	string(b, "elsewhere");
	patch(b, table + 16, at);
	patch(b, table + 24, b->n - at);
}

static void begin_stream(struct build *b, size_t n_events)
{
	b->n = 0;
	b->swap = false;
	put_magic(b);
	u64(b, 16);
	for (size_t i = 0; i < n_events; i++) {
		size_t at = begin(b, 64, 0);
		put_attr(b, &attrs[i]);
		u64(b, 100 + 10 * i);
		end(b, at);
	}
	struct build *text = calloc(1, sizeof(*text));
	tracing_data(text, SWITCH_6_18);
	align(text);
	size_t at = begin(b, 66, 0);
	u32(b, (uint32_t)text->n), u32(b, 0);
	end(b, at);
	put(b, text->v, text->n);
	free(text);
}

/* ---- imports ------------------------------------------------------------------------------- */

static struct err failure;

/* The stats of the event of that name; without samples if there is none. */
static struct cprof_event_stats stats_of(struct cprof_importer *m, const char *name)
{
	struct cprof_event_stats ev = { 0 };
	for (size_t i = 0; m && i < cprof_importer_n_events(m); i++) {
		cprof_importer_event_stats(m, i, &ev);
		if (strcmp(ev.name, name) == 0)
			return ev;
	}
	return (struct cprof_event_stats){ 0 };
}

/* NULL if it cannot be opened; *ret is the result of the failed step, or 0. */
static struct cprof_importer *import(const struct build *b, unsigned waits, bool is_asked, int *ret)
{
	struct cprof_importer *m = NULL;
	char path[64];
	int fd = memfd_create("perfdata", MFD_CLOEXEC);
	if (fd < 0 || write(fd, b->v, b->n) != (ssize_t)b->n)
		exit(99);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	struct cprof_import_config config = { .path = path, .waits = waits,
					      .waits_given = is_asked };
	failure = (struct err){ 0 };
	*ret = cprof_importer_new(&config, &m, &failure);
	if (*ret == 0)
		*ret = cprof_importer_run(m, &failure);
	close(fd);
	return m;
}

static void is_waiting(struct cprof_importer *m, const char *name, long long n, long long ns,
		       const char *what)
{
	struct cprof_event_stats ev = stats_of(m, name);
	tap_ok((long long)ev.n_samples == n && (long long)ev.value == ns,
	       "%s: %s, %llu of %llu ns", what, name, (unsigned long long)ev.n_samples,
	       (unsigned long long)ev.value);
}

/* ---- tests --------------------------------------------------------------------------------- */

/*
 * One CPU, from 1000 to 3000.  71 runs, and sleeps from 1000 to 1500.  72 waits from the beginning,
 * runs, is preempted from 1500 to 2000, then runs to the end of the file.
 */
static void put_one_cpu(struct build *b)
{
	thread(b, 71), thread(b, 72);
	leaves(b, 1000, 71, 1, 0);
	leaves(b, 1200, 0, 0, 72);
	leaves(b, 1500, 72, 0x100, 71);
	leaves(b, 2000, 71, 2, 72);
	sample(b, COUNTED, 3000, 72);
}

static void test_tracepoint(bool swap, const char *what)
{
	static struct build b;
	int r;
	begin_recording(&b, swap, 2);
	put_one_cpu(&b);
	finish_with_formats(&b, 2, SWITCH_6_18);
	struct cprof_importer *m = import(&b, 0, false, &r);
	tap_int(r, 0, what);
	/* 500 + 1000 of 71, 200 + 500 of 72 */
	is_waiting(m, "off-cpu", 4, 2200, "waits of two threads, and not of the idle task");
	tap_int((long long)stats_of(m, "off-cpu").no_stack_ns, 200, "one began before the file");
	cprof_importer_free(m);
}

static void test_stream(void)
{
	static struct build b;
	int r;
	begin_stream(&b, 2);
	put_one_cpu(&b);
	struct cprof_importer *m = import(&b, 0, false, &r);
	tap_int(r, 0, "a stream");
	is_waiting(m, "off-cpu", 4, 2200, "it has the same waits");
	cprof_importer_free(m);
}

static void test_without_format(void)
{
	static struct build b;
	int r;
	begin_recording(&b, false, 1);
	thread(&b, 71), leaves(&b, 1000, 71, 1, 0);
	finish_data(&b, 1, 0);
	struct cprof_importer *m = import(&b, 0, false, &r);
	tap_int((long long)cprof_importer_n_events(m), 1,
		"without a description, samples are counted");
	cprof_importer_free(m);
	m = import(&b, CPROF_IMPORT_OFF_CPU, true, &r);
	tap_ok(r == -EINVAL && strstr(failure.what, "has no records of switches"),
	       "and waits are refused: %s", failure.what);
	cprof_importer_free(m);
}

/* Only departures: the events of a single task. */
static void test_single_task(void)
{
	static struct build b;
	int r;
	begin_recording(&b, false, 1);
	thread(&b, 71);
	for (uint64_t i = 1; i <= 8; i++)
		leaves(&b, 1000 * i, 71, 1, 0);
	finish_with_formats(&b, 1, SWITCH_6_18);
	struct cprof_importer *m = import(&b, 0, false, &r);
	tap_int(r, 0, "departures without arrivals");
	is_waiting(m, "off-cpu", 0, stats_of(m, "off-cpu").value, "no profile of waits");
	tap_int((long long)stats_of(m, "type-2-config-0x174").n_samples, 8, "they are counted");
	cprof_importer_free(m);
	m = import(&b, CPROF_IMPORT_OFF_CPU, true, &r);
	tap_ok(r == -EINVAL && strstr(failure.what, "does not say how long"), "asked for: %s",
	       failure.what);
	cprof_importer_free(m);
}

/* Of every six switches, two are lost: many waits have no end, but it is a whole CPU. */
static void test_losses(void)
{
	static struct build b;
	int r;
	begin_recording(&b, false, 1);
	thread(&b, 71), thread(&b, 72);
	for (uint64_t t = 1000; t < 40000; t += 600) {
		leaves(&b, t, 71, 1, 72);
		leaves(&b, t + 100, 72, 1, 71);
		leaves(&b, t + 200, 71, 1, 72);
		leaves(&b, t + 500, 72, 1, 0);
	}
	finish_with_formats(&b, 1, SWITCH_6_18);
	struct cprof_importer *m = import(&b, CPROF_IMPORT_OFF_CPU, true, &r);
	tap_int(r, 0, "lost switches do not make it a recording of single tasks");
	tap_ok(stats_of(m, "off-cpu").n_samples > 100, "its waits are counted");
	cprof_importer_free(m);
}

/* A task whose switches the kernel hides runs between all others. */
static void test_hidden(void)
{
	static struct build b;
	int r;
	begin_recording(&b, false, 1);
	thread(&b, 71);
	for (uint64_t t = 1000; t < 9000; t += 800) {
		leaves(&b, t, 0, 0, 71);
		leaves(&b, t + 100, 71, 1, 99);
		leaves(&b, t + 300, 0, 0, 99);
	}
	finish_with_formats(&b, 1, SWITCH_6_18);
	struct cprof_importer *m = import(&b, CPROF_IMPORT_OFF_CPU, true, &r);
	tap_int(r, 0, "hidden switches do not, either, where a CPU's idle task is recorded");
	is_waiting(m, "off-cpu", 10, 9 * 700 + 200, "the waits between them, and one at the end");
	cprof_importer_free(m);
}

/* Threads that end while they wait, and ids that begin again. */
static void test_ends(void)
{
	static struct build b;
	int r;
	begin_recording(&b, false, 2);
	thread(&b, 71), thread(&b, 72);
	leaves(&b, 1000, 71, 1, 72);
	leaves(&b, 1100, 72, 0x10, 71);  /* the record of its end is lost */
	exits(&b, 1300, 71);
	leaves(&b, 1310, UINT32_MAX, 0x10, 0);
	sample(&b, COUNTED, 5000, 1);
	finish_with_formats(&b, 2, SWITCH_6_18);
	struct cprof_importer *m = import(&b, 0, false, &r);
	is_waiting(m, "off-cpu", 1, 100, "threads that have ended wait no more");
	cprof_importer_free(m);
}

/* The file lacks some arrivals: such a wait lasts up to the next record of its thread, and is
 * reported. */
static void test_torn(void)
{
	static struct build b;
	int r;
	begin_recording(&b, false, 2);
	thread(&b, 71), thread(&b, 72);
	for (uint64_t t = 1000; t < 2000; t += 200) {
		leaves(&b, t, 71, 1, 72);
		leaves(&b, t + 100, 72, 1, 71);
	}
	leaves(&b, 2000, 71, 1, 0);
	leaves(&b, 2500, 71, 1, 0);
	leaves(&b, 2501, 72, 1, 0);
	exits(&b, 2700, 71);
	finish_with_formats(&b, 2, SWITCH_6_18);
	struct cprof_importer *m = import(&b, 0, false, &r);
	tap_int(r, 0, "arrivals are missing");
	const struct cprof_event_stats ev = stats_of(m, "off-cpu");
	tap_int((long long)ev.torn_ns, 500 + 200 + 601, "waits without an end are reported");
	tap_int((long long)ev.value, 900 + 199 + 500 + 200 + 601, "and counted once");
	cprof_importer_free(m);
}

static void put_records(struct build *b)
{
	thread(b, 71);
	sample(b, COUNTED, 1000, 71), switched(b, 1001, 71, true);
	switched(b, 1600, 71, false);
	sample(b, CLOCK, 1700, 71);
	sample(b, COUNTED, 2000, 71), switched(b, 2001, 71, true);
	switched(b, 2500, 71, false);
	sample(b, CLOCK, 3000, 71);
}

static void test_records(void)
{
	static struct build b;
	int r;
	attrs[COUNTED].context_switch = 1;
	begin_recording(&b, false, N_EVENTS);
	put_records(&b);
	finish_data(&b, N_EVENTS, 0);
	struct cprof_importer *m = import(&b, 0, false, &r);
	tap_int(r, 0, "records of switches");
	is_waiting(m, "off-cpu", 2, 1100, "the time between them");
	is_waiting(m, "cpu-clock", 2, 2000, "the clock is counted as always");
	is_waiting(m, "context-switches", 0, 0, "the switches are in the other profile");
	cprof_importer_free(m);

	m = import(&b, CPROF_IMPORT_WALL | CPROF_IMPORT_OFF_CPU, true, &r);
	tap_int(r, 0, "with a clock, running time is in the file, too");
	is_waiting(m, "wall", 4, 2000, "all of the thread's time");
	cprof_importer_free(m);

	m = import(&b, 0, true, &r);
	is_waiting(m, "context-switches", 2, 2, "no waits are wanted: switches are counted");
	cprof_importer_free(m);

	m = import(&b, CPROF_IMPORT_BLOCK, true, &r);
	tap_ok(r == -EINVAL && strstr(failure.what, "cannot recognize waits for locks"),
	       "of another kernel: %s", failure.what);
	cprof_importer_free(m);

	m = import(&b, CPROF_IMPORT_MUTEX, true, &r);
	tap_ok(r == -EINVAL && strstr(failure.what, "no samples of wake-ups"),
	       "without wake-ups: %s", failure.what);
	cprof_importer_free(m);
	attrs[COUNTED].context_switch = 0;
}

/* The description of another pid namespace's ids, which samples do not have. */
static void test_other_ids(void)
{
	static struct build b;
	int r;
	begin_recording(&b, false, 1);
	thread(&b, 7);
	for (uint64_t i = 1; i <= 8; i++) {
		size_t at = begin_sample(&b, SWITCH, 7, 1000 * i);
		u32(&b, 68);
		zeros(&b, 24), u32(&b, 7007), u32(&b, 120), u64(&b, 1);
		zeros(&b, 16), u32(&b, 7), u32(&b, 120), u32(&b, 0);
		end(&b, at);
	}
	finish_with_formats(&b, 1, SWITCH_6_18);
	struct cprof_importer *m = import(&b, CPROF_IMPORT_OFF_CPU, true, &r);
	tap_ok(r == -EINVAL && strstr(failure.what, "another pid namespace"), "foreign ids: %s",
	       failure.what);
	cprof_importer_free(m);
}

int main(void)
{
	test_tracepoint(false, "sched_switch of all CPUs");
	test_tracepoint(true, "the same in the other byte order");
	test_stream();
	test_without_format();
	test_single_task();
	test_losses();
	test_hidden();
	test_ends();
	test_torn();
	test_records();
	test_other_ids();
	return tap_done();
}
