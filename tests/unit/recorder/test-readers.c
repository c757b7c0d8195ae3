/* Whole recordings with several readers, on a machine whose kernel is this program. */
#include "base/err.h"
#include "cprof.h"
#include "proto/pprof-read.h"
#include "recorder/recorder-private.h"
#include "tests/tools/simcpus.h"
#include "tests/unit/tap.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CPUS 12
#define RING_BYTES 65536
#define PID 100000u

static struct err e;
static uint64_t time_ns, n_written, n_lost;
static uint32_t seed;
static int n_begun, n_ended;
static bool no_exits;

static uint32_t next_random(void)
{
	seed = seed * 1664525u + 1013904223u;
	return seed >> 8;
}

static void count_readers(void *ctx, bool begins)
{
	(void)ctx;
	__atomic_fetch_add(begins ? &n_begun : &n_ended, 1, __ATOMIC_RELAXED);
}

/* ---- what happens on the machine ------------------------------------------------------- */

static bool put_sample(const struct simcpus_at *at)
{
	uint64_t chain[33] = { (uint64_t)PERF_CONTEXT_USER };
	size_t depth = 4 + next_random() % 28;
	uint32_t leaf = next_random() % 16;
	for (size_t i = 0; i < depth; i++)
		chain[1 + i] = 0x400000 + (i < depth / 3 ? leaf * 64 : 0) + i * 4096;
	bool ok = simcpus_put_sample(at, &(struct simcpus_sample){
		.ip = chain[1], .callchain = chain, .n_callchain = depth + 1,
	});
	n_written += ok;
	n_lost += !ok;
	return ok;
}

/* Each CPU runs threads of four processes, in turn. */
static void put_one(unsigned cpu)
{
	uint32_t pid = PID + next_random() % 4 * 100, tid = pid + next_random() % 12;
	uint32_t what = next_random() % 64;
	const struct simcpus_at at = { .cpu = cpu, .pid = pid, .tid = tid, .time_ns = time_ns++ };
	if (what == 0)
		simcpus_put_fork(&at, pid, pid);
	else if (what == 1)
		simcpus_put_comm(&at, next_random() % 2 ? "worker" : "io", false);
	else if (what == 2 && !no_exits && simcpus_put_exit(&at))
		put_sample(&(struct simcpus_at){ cpu, UINT32_MAX, UINT32_MAX, time_ns++ });
	else
		put_sample(&at);
}

static void put_programs(void)
{
	for (uint32_t pid = PID; pid < PID + 400; pid += 100) {
		const struct simcpus_at at = { .pid = pid, .tid = pid, .time_ns = time_ns++ };
		simcpus_put_comm(&at, "program", true);
		simcpus_put_map(&at, &(struct simcpus_map){
			.start = 0x400000, .len = 0x100000, .prot = PROT_READ | PROT_EXEC,
			.path = "/proc/self/exe",
		});
	}
}

static void put_many(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		put_one(i % CPUS);
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		simcpus_publish(cpu);
}

/* ---- recordings ---------------------------------------------------------------------------- */

static int append(void *ctx, const void *data, size_t n_bytes)
{
	return fwrite(data, n_bytes, 1, ctx) == 1 ? 0 : -1;
}

static struct profile *profile_of(struct cprof_recorder *r)
{
	char *data = NULL;
	size_t n_bytes = 0;
	struct profile *p = NULL;
	FILE *f = open_memstream(&data, &n_bytes);
	if (!f || cprof_recorder_write(r, 0, append, f, &e) < 0 || fclose(f) != 0 ||
	    profile_read(data, n_bytes, 0, &p, &e) < 0) {
		printf("Bail out! %s\n", e.what);
		exit(1);
	}
	free(data);
	return p;
}

static void open_machine(void)
{
	simcpus_open(CPUS, RING_BYTES);
	for (uint32_t pid = PID; pid < PID + 400; pid += 100)
		simcpus_add_process(pid);
}

static struct cprof_recorder *start(uint32_t n_readers)
{
	static const char *const event = "cpu-clock";
	struct cprof_recorder *r;
	const struct cprof_config c = {
		.machine = simcpus_machine(), .all_processes = true, .scope = CPROF_SCOPE_CPU,
		.event = &event, .n_events = 1, .period = "1000000", .ring_bytes = RING_BYTES,
		.callgraph = CPROF_CALLGRAPH_FP, .n_readers = n_readers,
		.on_reader = count_readers,
	};
	struct timespec t;
	if (cprof_recorder_new(&c, &r, &e) < 0 || cprof_recorder_start(r, &e) < 0) {
		printf("Bail out! %s\n", e.what);
		exit(1);
	}
	clock_gettime(CLOCK_MONOTONIC, &t);
	time_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	n_written = n_lost = 0;
	seed = 1;
	put_programs();
	return r;
}

static void step(struct cprof_recorder *r)
{
	if (cprof_recorder_step(r, 0, NULL, 0, NULL, &e) < 0) {
		printf("Bail out! %s\n", e.what);
		exit(1);
	}
}

static uint64_t sum_of(const struct profile *p, size_t value)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < p->n_samples; i++)
		sum += (uint64_t)p->sample[i].value[value];
	return sum;
}

static bool is_same_sample(const struct profile_sample *a, const struct profile_sample *b)
{
	bool same = a->n_locations == b->n_locations && a->n_labels == b->n_labels &&
		    a->value[0] == b->value[0] && a->value[1] == b->value[1];
	for (size_t i = 0; same && i < a->n_locations; i++)
		same = a->location[i]->id == b->location[i]->id &&
		       a->location[i]->address == b->location[i]->address;
	for (size_t i = 0; same && i < a->n_labels; i++)
		same = strcmp(a->label[i].key, b->label[i].key) == 0 &&
		       strcmp(a->label[i].str, b->label[i].str) == 0;
	return same;
}

/* The same samples in the same order, by the same locations; comments and times differ. */
static bool is_same_profile(const struct profile *a, const struct profile *b)
{
	bool same = a->n_samples == b->n_samples && a->n_locations == b->n_locations &&
		    a->n_functions == b->n_functions && a->n_mappings == b->n_mappings;
	for (size_t i = 0; same && i < a->n_samples; i++)
		same = is_same_sample(&a->sample[i], &b->sample[i]);
	for (size_t i = 0; same && i < a->n_functions; i++)
		same = strcmp(a->function[i].name, b->function[i].name) == 0;
	return same;
}

static struct profile *record(uint32_t n_readers, struct cprof_event_stats *ret_stats)
{
	struct cprof_recorder *r = start(n_readers);
	for (int i = 0; i < 12; i++) {
		put_many(i % 3 ? 3000 : 40);  /* rounds for all threads, and for one */
		step(r);
	}
	cprof_recorder_stop(r, &e);
	cprof_recorder_event_stats(r, 0, ret_stats);
	struct profile *p = profile_of(r);
	cprof_recorder_free(r);
	return p;
}

static void test_same(void)
{
	static const uint32_t n[] = { 2, 4, 7 };
	struct cprof_event_stats st;
	open_machine();
	struct profile *one = record(1, &st);
	uint64_t n_one = n_written;
	tap_ok(n_begun == 0, "one reader makes no thread");
	tap_ok(n_one > 10000 && st.n_samples == n_one && sum_of(one, 0) == n_one,
	       "all %llu samples are in the profile", (unsigned long long)n_one);
	simcpus_close();
	for (size_t i = 0; i < sizeof(n) / sizeof(*n); i++) {
		n_begun = n_ended = 0;
		open_machine();
		struct profile *p = record(n[i], &st);
		tap_ok(n_written == n_one && st.n_samples == n_one && is_same_profile(one, p),
		       "%u readers write the same profile", n[i]);
		tap_ok(n_begun == (int)n[i] - 1 && n_ended == n_begun,
		       "the caller learns of each thread's begin and end");
		profile_free(p);
		simcpus_close();
	}
	profile_free(one);
}

/* Full rings: what is delivered and what is lost is everything. */
static void test_lost(void)
{
	open_machine();
	struct cprof_recorder *r = start(3);
	uint64_t reported = 0;
	for (int i = 0; i < 6; i++) {
		put_many(6000);
		step(r);
		for (unsigned cpu = 0; cpu < 1; cpu++)
			simcpus_put_lost(&(struct simcpus_at){ .cpu = cpu, .time_ns = time_ns++ },
					 n_lost - reported);
		reported = n_lost;
	}
	simcpus_publish(0);
	cprof_recorder_stop(r, &e);
	struct cprof_event_stats st;
	cprof_recorder_event_stats(r, 0, &st);
	tap_ok(n_lost > 1000 && st.n_samples == n_written && st.n_lost_records == n_lost,
	       "%llu delivered and %llu lost samples are counted once",
	       (unsigned long long)n_written, (unsigned long long)n_lost);
	cprof_recorder_free(r);
	simcpus_close();
}

/* The number of readers changes between rounds, while threads begin and end. */
static void test_changes(void)
{
	static const uint32_t n_readers[] = { 1, 3, 7, 2, 2, 1, 4, 1, 5, 3, 3, 6 };
	struct cprof_event_stats st;
	n_begun = n_ended = 0;
	open_machine();
	struct cprof_recorder *r = start(1);
	bool ok = true;
	for (size_t i = 0; i < sizeof(n_readers) / sizeof(*n_readers); i++) {
		ok &= readers_set(&r->readers, n_readers[i], &e) == 0;
		put_many(i % 3 ? 3000 : 40);
		step(r);
	}
	cprof_recorder_stop(r, &e);
	cprof_recorder_event_stats(r, 0, &st);
	struct profile *p = profile_of(r);
	tap_ok(ok && n_written > 10000 && st.n_samples == n_written && sum_of(p, 0) == n_written,
	       "all %llu samples are counted once by changing readers",
	       (unsigned long long)n_written);
	profile_free(p);
	cprof_recorder_free(r);
	simcpus_close();
	tap_ok(n_begun == 6 && n_ended == 6, "threads that have nothing to do are kept");
}

/* More readers are added while counts and threads stay with the others: the profile is the same as
 * one reader's.  (Here, threads live on after their end, and new readers do not know that name.) */
static void test_growth(void)
{
	static const uint32_t n_readers[] = { 1, 1, 2, 2, 4, 4, 5, 7, 7, 7, 7, 7 };
	struct cprof_event_stats st;
	no_exits = true;
	open_machine();
	struct profile *one = record(1, &st);
	simcpus_close();
	open_machine();
	struct cprof_recorder *r = start(1);
	r->readers.load.max = 7;
	bool ok = true;
	for (size_t i = 0; i < sizeof(n_readers) / sizeof(*n_readers); i++) {
		if (n_readers[i] != (r->readers.n ? r->readers.n : 1))
			ok &= readers_set(&r->readers, n_readers[i], &e) == 0;
		put_many(i % 3 ? 3000 : 40);
		r->readers.load.max = 1;  /* they follow no load here */
		step(r);
		r->readers.load.max = 7;
	}
	cprof_recorder_stop(r, &e);
	struct profile *p = profile_of(r);
	no_exits = false;
	tap_ok(ok && r->readers.n_max == 7 && is_same_profile(one, p),
	       "readers that are added one after the other write the profile of one");
	profile_free(one);
	profile_free(p);
	cprof_recorder_free(r);
	simcpus_close();
}

/* Snapshots, and profiles one after the other. */
static void test_parts(void)
{
	open_machine();
	struct cprof_recorder *r = start(3);
	uint64_t n_all = 0;
	bool ok = true;
	for (int i = 0; i < 5; i++) {
		uint64_t before = n_written;
		put_many(2500);
		step(r);
		put_many(500);
		cprof_recorder_snapshot(r, &e);
		struct profile *p = profile_of(r);
		ok &= sum_of(p, 0) == n_written - before;
		n_all += sum_of(p, 0);
		profile_free(p);
		cprof_recorder_clear(r, &e);
	}
	tap_ok(ok && n_all == n_written, "each profile has the samples of its time");
	put_many(2500);
	cprof_recorder_snapshot(r, &e);
	put_many(2500);
	cprof_recorder_stop(r, &e);
	struct profile *p = profile_of(r);
	tap_ok(sum_of(p, 0) == n_written - n_all, "a snapshot takes nothing away");
	struct cprof_stats st;
	cprof_recorder_stats(r, &st);
	tap_int((int)st.n_readers, 3, "the statistics have the number of readers");
	profile_free(p);
	cprof_recorder_free(r);
	simcpus_close();
}

int main(void)
{
	test_same();
	test_lost();
	test_changes();
	test_growth();
	test_parts();
	return tap_done();
}
