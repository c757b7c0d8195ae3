/* From pieces of waits to the counts of an engine. */

#include "agg/stacks.h"
#include "base/err.h"
#include "engine/engine-waits.h"
#include "source/record.h"
#include "tests/unit/engine/engine-feed.h"
#include "tests/unit/tap.h"

#include <linux/perf_event.h>

#define A FEED_CHAIN(PERF_CONTEXT_USER, 0x10010, 0x10021)
#define B FEED_CHAIN(PERF_CONTEXT_USER, 0x10030, 0x10021)

static struct record at(uint64_t time_ns, uint32_t type, uint32_t tid)
{
	feed_at(time_ns);
	return feed_record(type, 0, 7, tid);
}

static void feed_switch(struct engine *g, uint64_t time_ns, bool is_out)
{
	struct record r = at(time_ns, PERF_RECORD_SWITCH, 7);
	r.context_switch.out = is_out;
	engine_feed(g, &r);
}

static void test_engine(void)
{
	static const uint8_t waits[] = { WAITS_SOURCE | WAITS_OFF, 0 };
	struct engine g;
	struct err e;
	const struct engine_options o = { .n_events = 2, .labels = SAMPLELABEL_TID,
					  .follow = true, .waits = waits };
	feed_open_with(&g, &o);
	g.targets.all = true;
	feed_at(10);
	feed_comm(&g, 7, 7, "prog", true);
	feed_mmap(&g, 7, 0x10000, 0x10000, 0, "/bin/a");
	feed_at(100);
	feed_sample(&g, 7, 7, 0, 1, A);
	feed_sample(&g, 7, 7, 1, 10, B);
	feed_switch(&g, 101, true);
	tap_ok(!feed_find(&g, 0, "a+0x20;a+0x10"), "nothing is counted before the wait ends");
	/* New ids of stacks and labels while the wait is open. */
	tap_int(engine_clear(&g, &e), 0, "a new profile");
	for (int i = 0; i < 5000; i++) {
		char key[32];
		snprintf(key, sizeof(key), "k%d", i);
		struct label l = { .key = strtab_add_cstr(&g.strings, key),
				   .value = strtab_add_cstr(&g.strings, "v") };
		labels_add(&g.labels, &l, 1, true);
		stacks_add(&g.stacks, STACKS_EMPTY,
			   frames_add(&g.frames, 0, 0x20000 + (uint64_t)i, true), true);
	}
	tap_int(engine_clear(&g, &e), 0, "another one, whose tables are collected");
	tap_ok(g.stacks.n < 100 && g.labels.n < 100, "they were");
	feed_switch(&g, 400, false);
	const struct count *c = feed_find(&g, 0, "a+0x20;a+0x10");
	tap_ok(c && c->value == 300 && c->n_samples == 1, "an open wait keeps its stack");
	tap_str(c ? feed_labels_text(&g, c->labels) : "", "tid=7 state=blocked",
		"and its labels, with the state");
	feed_switch(&g, 500, true);
	engine_settle(&g, 700);
	c = feed_find(&g, 0, "[no stack]");
	tap_ok(c && c->value == 200, "an unknown stack is a frame");
	tap_str(c ? feed_labels_text(&g, c->labels) : "", "tid=7 state=blocked",
		"with the thread's labels");
	tap_int((long long)g.event[0].value, 500, "the event's sum");
	tap_int((long long)g.event[0].n_samples, 2, "and its number of waits");
	feed_at(800);
	feed_exit(&g, 7, 7);
	feed_switch(&g, 810, true);
	feed_switch(&g, 820, false);
	feed_at(830);
	feed_sample(&g, 7, 7, 0, 1, A);
	feed_switch(&g, 831, true);
	engine_settle(&g, 5000);
	tap_int((long long)g.event[0].value, 600, "a task that has exited does not wait");
	engine_done(&g);
}

/* After the exec of a set-user-ID file, EXIT is no end. */
static void test_removal(void)
{
	static const uint8_t waits[] = { WAITS_SOURCE | WAITS_OFF | WAITS_RUN, 0 };
	struct engine g;
	const struct engine_options o = { .n_events = 2, .labels = SAMPLELABEL_TID,
					  .follow = true, .waits = waits };
	feed_open_with(&g, &o);
	g.targets.all = true;
	g.waits.has_clock = true;
	feed_at(100);
	feed_comm(&g, 7, 7, "su", true);
	feed_at(110);
	feed_exit(&g, 7, 7);
	tap_int((long long)g.procs.n_removed, 1, "its events may be gone");
	engine_settle(&g, 200);
	tap_int((long long)g.event[0].value, 10, "what it does now is unknown");
	feed_switch(&g, 300, true);
	feed_at(310);
	feed_mmap(&g, 7, 0x10000, 0x10000, 0, "/bin/su");
	feed_switch(&g, 400, false);
	engine_settle(&g, 500);
	tap_int((long long)g.event[0].value, 400, "until another record shows that it goes on");
	tap_int((long long)g.procs.n_removed, 0, "and nothing is missing");
	feed_at(600);
	feed_exit(&g, 7, 7);
	feed_switch(&g, 700, true);
	engine_settle(&g, 800);
	tap_int((long long)g.event[0].value, 500, "then it ends");
	engine_done(&g);
}

/* Whole quanta are counted where the sum of the thread reaches them. */
static void test_quanta(void)
{
	static const uint8_t waits[] = { WAITS_SOURCE | WAITS_OFF, WAITS_RUN | WAITS_OFF };
	static const uint64_t quantum_ns[] = { 100, 0 };
	struct engine g;
	const struct engine_options o = { .n_events = 2, .labels = SAMPLELABEL_TID,
					  .follow = true, .waits = waits,
					  .quantum_ns = quantum_ns };
	feed_open_with(&g, &o);
	g.targets.all = true;
	g.waits.min_ns = 20;
	feed_at(10);
	feed_comm(&g, 7, 7, "prog", true);
	feed_mmap(&g, 7, 0x10000, 0x10000, 0, "/bin/a");
	feed_at(100);
	feed_sample(&g, 7, 7, 0, 1, A);
	feed_switch(&g, 101, true);
	feed_switch(&g, 160, false);
	tap_int((long long)g.event[0].value, 0, "a part of a quantum is not counted");
	feed_at(200);
	feed_sample(&g, 7, 7, 0, 1, B);
	feed_switch(&g, 201, true);
	feed_switch(&g, 470, false);
	const struct count *c = feed_find(&g, 0, "a+0x20;a+0x30");
	tap_ok(c && c->value == 300 && c->n_samples == 3, "it is with what follows");
	feed_switch(&g, 500, true);
	feed_switch(&g, 510, false);
	feed_switch(&g, 600, true);
	feed_switch(&g, 670, false);
	c = feed_find(&g, 0, "[no stack]");
	tap_ok(c && c->value == 100 && c->n_samples == 1,
	       "a remainder is kept, and waits below the minimum are left out");
	tap_int((long long)g.event[1].value, 410, "but not of all time, which has no quanta here");
	engine_done(&g);
}

/* The kernel's part of a stack tells whether a wait is one for a lock. */
static void test_locks(void)
{
	static const uint8_t waits[] = { WAITS_SOURCE | WAITS_LOCKS, WAITS_OFF };
	struct engine g;
	const struct engine_options o = { .n_events = 2, .labels = SAMPLELABEL_TID,
					  .follow = true, .waits = waits };
	feed_open_with(&g, &o);
	g.targets.all = true;
	g.waits.code[0] = (struct waits_code){ 0xd000, 0xd100, WAITS_FOR_TIME };
	g.waits.code[1] = (struct waits_code){ 0xf000, 0xf100, WAITS_FOR_LOCK };
	feed_at(10);
	feed_comm(&g, 7, 7, "prog", true);
	feed_mmap(&g, 7, 0x10000, 0x10000, 0, "/bin/a");
	feed_at(100);
	feed_sample(&g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_KERNEL, 0xe000, 0xf0ff,
					       PERF_CONTEXT_USER, 0x10010));
	feed_switch(&g, 101, true);
	feed_switch(&g, 200, false);
	feed_at(300);
	feed_sample(&g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_KERNEL, 0xe000, 0xf100,
					       PERF_CONTEXT_USER, 0x10010));
	feed_switch(&g, 301, true);
	feed_switch(&g, 500, false);
	tap_int((long long)g.event[0].value, 100, "the wait in the code of locks");
	tap_int((long long)g.event[0].n_samples, 1, "is a contention");
	tap_int((long long)g.event[1].value, 300, "another profile has both");
	feed_at(600);
	feed_sample(&g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_KERNEL, 0xd010, PERF_CONTEXT_USER,
					       0x10010));
	feed_switch(&g, 601, true);
	feed_switch(&g, 700, false);
	bool is_sleeping = false;
	for (uint32_t i = 0; i < g.counts.n; i++)
		is_sleeping |= g.counts.v[i].value == 100 &&
			       strstr(feed_labels_text(&g, g.counts.v[i].labels), "=sleeping");
	tap_ok(is_sleeping, "a wait for time is sleeping");
	engine_done(&g);
}

/* While tasks of the file a are read, its own waits for locks are those of idle threads. */
static void test_tasks(void)
{
	static const uint8_t waits[] = { WAITS_SOURCE | WAITS_LOCKS, WAITS_OFF };
	static const uint64_t quantum_ns[] = { 40, 0 };
	struct engine g;
	struct waits_reading reading;
	const struct engine_options o = { .n_events = 2, .labels = SAMPLELABEL_TID, .waits = waits,
					  .follow = true, .quantum_ns = quantum_ns };
	feed_open_with(&g, &o);
	g.targets.all = true;
	g.waits.code[0] = (struct waits_code){ 0xf000, 0xf100, WAITS_FOR_LOCK };
	feed_at(10);
	feed_comm(&g, 7, 7, "prog", true);
	feed_mmap(&g, 7, 0x10000, 0x10000, 0, "/bin/a");
	feed_mmap(&g, 7, 0x30000, 0x10000, 0, "/lib/b");
	uint32_t a = g.procs.process[0]->space.map.v[0].dso;
	uint32_t frame = frames_add(&g.frames, a, 0x50, true);
	uint32_t stack = stacks_add(&g.stacks, STACKS_EMPTY, frame, true);
	for (uint64_t now = 100; now <= 200; now += 50) {
		tap_ok(waits_tasks_begin(&g.waits, 7, a, 50, now, &reading), "a reading");
		if (!waits_tasks_continue(&reading, 1, 0, WAITS_TASK_LOCKED))
			waits_tasks_add(&reading, &(struct waits_task_seen){
				.id = 1, .state = WAITS_TASK_LOCKED,
				.at = { .stack = stack, .reason = WAITS_FOR_LOCK } });
		waits_tasks_end(&reading);
	}
	const struct count *c = feed_find(&g, 0, "a+0x50");
	tap_ok(c && c->value == 120 && c->n_samples == 3, "a task's time, in its own quanta");
	tap_str(c ? feed_labels_text(&g, c->labels) : "", "state=blocked", "with its labels");
	tap_int((long long)g.event[1].value, 0, "no thread has waited");
	for (uint64_t from = 300; from <= 500; from += 200) {
		uint64_t pc = from == 300 ? 0x10010 : 0x30010;
		feed_at(from);
		feed_sample(&g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_KERNEL, 0xf010,
						       PERF_CONTEXT_USER, pc, 0x10021));
		feed_switch(&g, from + 1, true);
		feed_switch(&g, from + 80, false);
	}
	tap_int((long long)g.event[1].value, 160, "two waits of threads");
	c = feed_find(&g, 0, "a+0x20;b+0x10;k:f010");
	tap_ok(c && c->value == 80 && g.event[0].value == 200, "one of them in code of C");
	feed_at(700);
	feed_comm(&g, 7, 7, "next", true);
	uint32_t dso;
	tap_ok(!waits_tasks_has(&g.waits, 7, &dso), "another program has no such tasks");
	engine_done(&g);
}

/* An idle task that has got work waits for a thread, and is not idle then. */
static void test_idle_task(void)
{
	static const uint8_t waits[] = { WAITS_SOURCE | WAITS_LOCKS };
	struct engine g;
	struct waits_reading reading;
	const struct engine_options o = { .n_events = 1, .waits = waits, .follow = true };
	feed_open_with(&g, &o);
	g.targets.all = true;
	feed_at(10);
	feed_comm(&g, 7, 7, "prog", true);
	feed_mmap(&g, 7, 0x10000, 0x10000, 0, "/bin/a");
	uint32_t a = g.procs.process[0]->space.map.v[0].dso;
	uint32_t frame = frames_add(&g.frames, a, 0x50, true);
	uint32_t stack = stacks_add(&g.stacks, STACKS_EMPTY, frame, true);
	uint32_t idle = samplelabels_with(&g.own_labels, 0, "idle", "pool");
	for (uint64_t now = 100; now <= 200; now += 50) {
		enum waits_task_state state = now < 200 ? WAITS_TASK_LOCKED : WAITS_TASK_READY;
		waits_tasks_begin(&g.waits, 7, a, 50, now, &reading);
		if (!waits_tasks_continue(&reading, 1, 0, state))
			waits_tasks_add(&reading, &(struct waits_task_seen){
				.id = 1, .state = state, .at = { .stack = stack, .locks = idle,
				.reason = WAITS_FOR_LOCK } });
		waits_tasks_end(&reading);
	}
	bool is_idle = false, is_ready = false;
	for (uint32_t i = 0; i < g.counts.n; i++) {
		const char *labels = feed_labels_text(&g, g.counts.v[i].labels);
		is_idle |= g.counts.v[i].value == 100 && strstr(labels, "idle=pool") &&
			   strstr(labels, "state=blocked");
		is_ready |= g.counts.v[i].value == 50 && strcmp(labels, "state=runnable") == 0;
	}
	tap_ok(is_idle, "a task that has nothing to do is idle");
	tap_ok(is_ready, "and is not while it waits for a thread");
	engine_done(&g);
}

/* A wake-up of thread 9 by thread 7 in the kernel's code, in an interrupt if flags say so. */
static void feed_wake(struct engine *g, uint64_t time_ns, uint64_t code, uint8_t flags)
{
	uint8_t raw[36] = { 0 };
	raw[2] = flags;
	raw[24] = 9;
	struct record r = at(time_ns, PERF_RECORD_SAMPLE, 7);
	const uint64_t chain[] = { PERF_CONTEXT_KERNEL, code, PERF_CONTEXT_USER, 0x10050 };
	r.event = 1;
	r.sample = (struct record_sample){ .ip = 0x10050, .callchain = chain, .n_callchain = 4,
					   .raw = raw, .n_raw_bytes = sizeof(raw) };
	engine_feed(g, &r);
}

static void feed_lock_wait(struct engine *g, uint64_t from_ns)
{
	feed_at(from_ns);
	feed_sample(g, 7, 9, 0, 1, FEED_CHAIN(PERF_CONTEXT_KERNEL, 0xf000, PERF_CONTEXT_USER,
					      0x10010));
	struct record r = at(from_ns + 1, PERF_RECORD_SWITCH, 9);
	r.context_switch.out = true;
	engine_feed(g, &r);
}

static void feed_lock_end(struct engine *g, uint64_t time_ns)
{
	struct record r = at(time_ns, PERF_RECORD_SWITCH, 9);
	engine_feed(g, &r);
}

static void test_wakers(void)
{
	static const uint8_t waits[] = { WAITS_SOURCE, WAITS_WAKE | WAITS_WAKERS };
	struct engine g;
	struct record r = { .sample = { .n_raw_bytes = 27 } };
	uint32_t tid;
	const struct engine_options o = { .n_events = 2, .labels = SAMPLELABEL_TID,
					  .follow = true, .waits = waits };
	tap_ok(!waits_woken(&r, &tid), "raw data that is too short wakes nobody");
	feed_open_with(&g, &o);
	g.targets.all = true;
	g.waits.code[0] = (struct waits_code){ 0xf000, 0xf100, WAITS_FOR_LOCK };
	feed_at(10);
	feed_comm(&g, 7, 7, "prog", true);
	feed_comm(&g, 7, 9, "worker", false);
	feed_mmap(&g, 7, 0x10000, 0x10000, 0, "/bin/a");
	feed_lock_wait(&g, 100);
	feed_wake(&g, 150, 0xf010, 0x08);
	feed_wake(&g, 160, 0xe010, 0);
	feed_lock_end(&g, 200);
	tap_int((long long)g.event[1].value, 0,
		"no thread is charged for an interrupt or a signal");
	feed_lock_wait(&g, 300);
	feed_wake(&g, 350, 0xf010, 0);
	feed_lock_end(&g, 400);
	feed_lock_wait(&g, 500);
	feed_lock_end(&g, 600);
	const struct count *c = feed_find(&g, 1, "a+0x50;k:f010");
	tap_ok(c && c->value == 100 && c->n_samples == 1,
	       "the waker has the whole wait, and no later one");
	const char *set = c ? feed_labels_text(&g, c->labels) : "";
	tap_ok(strstr(set, "waiter=worker") && strstr(set, WAKEES_KEY "=0"),
	       "and the waiter's name, and where it waited");
	gc_tables_run(&g.gc.tables, NULL, 0);
	tap_str(feed_stack_text(&g, wakees_stack(&g.wakees, "0")), "a+0x10;k:f000",
		"which survives the collection of unused stacks");
	tap_ok(wakees_stack(&g.wakees, "1") == STACKS_NONE &&
	       wakees_stack(&g.wakees, "-1") == STACKS_NONE, "there is no other one");
	engine_done(&g);
}

int main(void)
{
	test_engine();
	test_removal();
	test_quanta();
	test_locks();
	test_tasks();
	test_idle_task();
	test_wakers();
	return tap_done();
}
