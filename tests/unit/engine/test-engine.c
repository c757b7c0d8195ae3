#include "tests/unit/engine/engine-feed.h"
#include "tests/unit/tap.h"

#include <linux/perf_event.h>
#include <stdlib.h>

#define A FEED_CHAIN(PERF_CONTEXT_USER, 0x10010)

static void feed_process(struct engine *g, uint32_t pid, const char *name)
{
	feed_comm(g, pid, pid, name, true);
	feed_mmap(g, pid, 0x10000, 0x10000, 0, "/bin/a");
}

/* The labels of the count with that number of samples, which identifies it. */
static const char *labels_with(const struct engine *g, uint64_t n_samples)
{
	for (uint32_t i = 0; i < g->counts.n; i++)
		if (g->counts.v[i].n_samples == n_samples)
			return feed_labels_text(g, g->counts.v[i].labels);
	return "(no such count)";
}

static void samples(struct engine *g, uint32_t cpu, uint32_t pid, uint32_t tid, int n)
{
	for (int i = 0; i < n; i++)
		feed_sample_on(g, cpu, pid, tid, 0, 10, A);
}

static void test_labels(void)
{
	struct engine g;
	tap_str(samplelabels_key(SAMPLELABEL_THREAD_NAME), "thread_name", "the key of a label");
	tap_str(samplelabels_key((enum samplelabel)(1 << 20)), NULL,
		"a number that is no label has no key");

	feed_open(&g, 0);
	feed_process(&g, 7, "prog");
	samples(&g, 0, 7, 7, 1);
	samples(&g, 1, 7, 7, 1);
	tap_str(labels_with(&g, 2), "pid=7 tid=7 thread_name=prog process_name=prog",
		"the default labels, on any CPU");
	feed_comm(&g, 7, 8, "worker", false);
	samples(&g, 0, 7, 8, 3);
	tap_str(labels_with(&g, 3), "pid=7 tid=8 thread_name=worker process_name=prog",
		"another thread");
	feed_comm(&g, 7, 8, "renamed", false);
	samples(&g, 0, 7, 8, 4);
	tap_str(labels_with(&g, 4), "pid=7 tid=8 thread_name=renamed process_name=prog",
		"a thread that is renamed during the recording");
	tap_str(labels_with(&g, 3), "pid=7 tid=8 thread_name=worker process_name=prog",
		"earlier samples keep the old name");
	feed_comm(&g, 7, 7, "main", false);
	samples(&g, 0, 7, 8, 5);
	tap_str(labels_with(&g, 5), "pid=7 tid=8 thread_name=renamed process_name=main",
		"the leader's name is the process's");
	feed_comm(&g, 7, 8, "worker", false);
	samples(&g, 0, 7, 8, 6);
	tap_str(labels_with(&g, 6), "pid=7 tid=8 thread_name=worker process_name=main",
		"renamed back");
	tap_int((long long)g.own_labels.n_dropped, 0, "no label was dropped");
	engine_done(&g);
}

static void test_chosen_labels(void)
{
	struct engine g;
	const char *const fixed[] = { "service=web", "pid=mine", "empty=", "a=b=c", "service=api" };
	struct engine_options o = { .n_events = 1, .labels = SAMPLELABEL_PID | SAMPLELABEL_CPU,
				    .label = fixed, .n_labels = 5, .follow = true };
	feed_open_with(&g, &o);
	g.targets.all = true;
	feed_process(&g, 7, "prog");
	samples(&g, 0, 7, 7, 1);
	samples(&g, 3, 7, 7, 2);
	samples(&g, 0, 7, 7, 3);
	const char *text = labels_with(&g, 4);
	tap_ok(strstr(text, "cpu=0") && !strstr(text, "tid="), "only the chosen labels");
	tap_ok(strstr(text, "pid=mine") && !strstr(text, "pid=7"),
	       "the user's label beats a built-in one");
	tap_ok(strstr(text, "service=api") && !strstr(text, "service=web"),
	       "the last of equal keys wins");
	tap_ok(strstr(text, "a=b=c"), "the first '=' separates key and value");
	tap_ok(strstr(labels_with(&g, 2), "cpu=3"), "CPUs are distinguished");
	engine_done(&g);

	o = (struct engine_options){ .n_events = 1, .follow = true };
	feed_open_with(&g, &o);
	g.targets.all = true;
	feed_process(&g, 7, "prog");
	samples(&g, 0, 7, 7, 1);
	samples(&g, 0, 7, 8, 1);
	tap_str(labels_with(&g, 2), "", "no labels at all");
	engine_done(&g);

	o = (struct engine_options){ .n_events = 1, .follow = true, .labels = SAMPLELABEL_CGROUP };
	feed_open_with(&g, &o);
	g.targets.all = true;
	feed_process(&g, 7, "prog");
	samples(&g, 0, 7, 7, 1);
	tap_str(labels_with(&g, 1), "", "a replay does not read cgroups of this machine");
	engine_done(&g);
}

static void test_selection(void)
{
	struct engine g;
	struct engine_options o = { .n_events = 2, .follow = true };
	uint64_t n, value;
	feed_open_with(&g, &o);
	targets_add_pid(&g.targets, 7);
	feed_process(&g, 7, "prog");
	feed_process(&g, 9, "other");
	samples(&g, 0, 9, 9, 3);
	tap_ok(g.event[0].n_foreign == 3 && g.event[0].n_samples == 0 && g.counts.n == 0,
	       "samples of other tasks are counted and ignored");
	tap_int((long long)g.procs.n_processes, 1, "their processes are not kept");
	feed_sample(&g, 7, 7, 2, 10, A);
	feed_sample(&g, 7, 7, RECORD_NO_EVENT, 10, A);
	tap_int(g.counts.n, 0, "samples of unknown events are ignored");

	g.window.start_ns = 100;
	g.window.end_ns = 200;
	for (uint64_t t = 99; t <= 201; t++) {
		feed_at(t);
		feed_sample(&g, 7, 7, 1, t, A);
	}
	feed_sums(&g, 1, &n, &value);
	tap_ok(n == 101 && g.event[1].n_samples == 101,
	       "only samples within the window, ends included");
	tap_int((long long)value, (100 + 200) * 101 / 2, "with their periods");
	tap_ok(g.event[1].value == value && g.window.first_ns == 100 && g.window.last_ns == 200,
	       "the summary has their numbers");
	feed_sums(&g, 0, &n, &value);
	tap_ok(n == 0 && value == 0, "events are counted separately");
	engine_done(&g);
}

static void test_losses(void)
{
	struct engine g;
	uint64_t n, value;
	feed_open(&g, 0);
	feed_process(&g, 7, "prog");
	samples(&g, 0, 7, 7, 2);
	struct record r = feed_record(PERF_RECORD_LOST, 0, 7, 7);
	r.event = 0;
	r.lost = (struct record_lost){ .n_lost = 5 };
	engine_feed(&g, &r);
	r.type = PERF_RECORD_LOST_SAMPLES;
	engine_feed(&g, &r);
	r.event = RECORD_NO_EVENT;
	engine_feed(&g, &r);
	tap_int((long long)g.event[0].n_lost_records, 10, "LOST and LOST_SAMPLES of an event");
	r.type = PERF_RECORD_LOST;
	engine_feed(&g, &r);
	tap_int((long long)g.event[0].n_lost_records, 15,
		"a full ring that the side band reports lost samples, too");
	r = feed_record(PERF_RECORD_THROTTLE, 0, 7, 7);
	r.event = 1;
	engine_feed(&g, &r);
	r.type = PERF_RECORD_UNTHROTTLE;
	engine_feed(&g, &r);
	r.event = 7;
	engine_feed(&g, &r);
	tap_ok(g.event[1].n_throttles == 1 && g.event[0].n_throttles == 0, "THROTTLE of an event");
	r.type = 9999;
	engine_feed(&g, &r);
	engine_add_lost(&g, 0, 10, 100);
	const struct count *c = feed_find(&g, 0, "[lost samples]");
	tap_ok(c && c->n_samples == 10 && c->value == 100, "lost samples are one visible frame");
	tap_int((long long)g.event[0].n_lost, 10, "and counted separately");
	feed_sums(&g, 0, &n, &value);
	tap_ok(n == 12 && value == 120 && g.event[0].n_samples == 2, "the profile has both");
	engine_done(&g);
}

/* Threads come and go; some are sampled during their exit, some have no records. */
static void test_lives(void)
{
	static struct engine g;
	uint64_t n, value;
	feed_open(&g, 0);
	feed_process(&g, 7, "prog");
	size_t used = 0;
	for (uint32_t tid = 100; tid < 3100; tid++) {
		feed_fork(&g, 7, 7, 7, tid);
		samples(&g, 0, 7, tid, 1);
		feed_exit(&g, 7, tid);
		samples(&g, 0, 7, tid, 1);
		if (tid == 1100)
			used = g.procs.n_threads;
	}
	feed_sums(&g, 0, &n, &value);
	tap_ok(n == 6000, "samples of exiting threads count");
	tap_ok(g.procs.n_threads <= used && used < 600, "threads that ended are forgotten");
	for (uint32_t tid = 5000; tid < 5300; tid++)
		samples(&g, 0, 7, tid, 1);
	feed_sums(&g, 0, &n, &value);
	tap_ok(n == 6300, "samples of threads without any record count");
	feed_exit(&g, 99, 99);
	feed_exit(&g, 99, 99);
	tap_ok(g.procs.n_processes == 1, "the exit of an unknown process creates none");

	/* 200 processes, each reusing the id of the one before */
	for (int i = 0; i < 200; i++) {
		char name[16];
		snprintf(name, sizeof(name), "p%d", i);
		feed_fork(&g, 7, 7, 50, 50);
		feed_comm(&g, 50, 50, name, true);
		feed_mmap(&g, 50, 0x10000, 0x10000, 0, i % 2 ? "/bin/odd" : "/bin/even");
		samples(&g, 0, 50, 50, 1);
		feed_exit(&g, 50, 50);
	}
	unsigned n_odd = 0, n_even = 0;
	for (uint32_t i = 0; i < g.counts.n; i++) {
		const char *text = feed_stack_text(&g, g.counts.v[i].stack);
		n_odd += strcmp(text, "odd+0x10") == 0;
		n_even += strcmp(text, "even+0x10") == 0;
	}
	tap_ok(n_odd == 100 && n_even == 100, "processes that reuse an id are separate");
	engine_done(&g);
}

/* ---- memory pressure ----------------------------------------------------------------- */

struct pressure {
	uint64_t n, value[2], n_by_event[2];
};

/* Many distinct deep stacks of many threads, with long names. */
static void press(struct engine *g, struct pressure *ret)
{
	*ret = (struct pressure){ 0 };
	srand(3);
	feed_process(g, 7, "prog");
	for (uint32_t i = 0; i < 8000; i++) {
		uint64_t chain[40] = { (uint64_t)PERF_CONTEXT_USER };
		size_t n = 2 + (size_t)rand() % 38;
		uint32_t tid = 7 + (uint32_t)rand() % 200, event = (uint32_t)rand() % 2;
		uint64_t period = (uint64_t)rand() % 1000;
		for (size_t k = 1; k < n; k++)
			chain[k] = 0x10000 + (uint64_t)rand() % 0x8000 + 1;
		if (i % 7 == 0) {
			char name[16];
			snprintf(name, sizeof(name), "name%u", i);
			feed_comm(g, 7, tid, name, false);
		}
		feed_sample(g, 7, tid, event, period, chain, n);
		ret->n++;
		ret->n_by_event[event]++;
		ret->value[event] += period;
	}
}

static bool sums_right(const struct engine *g, const struct pressure *p)
{
	bool right = true;
	for (uint32_t event = 0; event < 2; event++) {
		uint64_t n, value;
		feed_sums(g, event, &n, &value);
		right &= n == p->n_by_event[event] && value == p->value[event] &&
			 g->event[event].n_samples == n && g->event[event].value == value;
	}
	return right;
}

static void test_pressure(void)
{
	static struct engine g;
	struct pressure p;
	feed_open(&g, 0);
	press(&g, &p);
	size_t full = g.budget.peak_bytes;
	const struct stack_walk_stats *w = &g.walk.stats;
	tap_ok(sums_right(&g, &p), "without a limit, everything is counted");
	tap_ok(w->n_dropped == 0 && w->n_shortened == 0 && g.own_labels.n_dropped == 0,
	       "and nothing is dropped");
	engine_done(&g);

	bool right = true, bounded = true, in_order = true;
	bool only_labels = false, shortened = false, dropped = false, visible = true;
	for (size_t limit = full + full / 2; limit > 10000; limit -= limit / 8) {
		feed_open(&g, limit);
		press(&g, &p);
		right &= sums_right(&g, &p);
		/* names of threads and the threads themselves are charged beyond the limit */
		if (limit > full / 4)
			bounded &= g.budget.peak_bytes <= limit + limit / 20;
		only_labels |= g.own_labels.n_dropped && !w->n_shortened && !w->n_dropped;
		in_order &= !(w->n_shortened || w->n_dropped) || g.own_labels.n_dropped;
		shortened |= w->n_shortened > 0;
		dropped |= w->n_dropped > 0;
		uint64_t n_in_frame = 0;
		for (uint32_t i = 0; i < g.counts.n; i++)
			if (strcmp(feed_stack_text(&g, g.counts.v[i].stack), STACK_WALK_DROPPED) ==
			    0)
				n_in_frame += g.counts.v[i].n_samples;
		visible &= n_in_frame == w->n_dropped;
		engine_done(&g);
	}
	tap_ok(right, "with every limit, the sums of samples and periods are right");
	tap_ok(only_labels, "labels are dropped first");
	tap_ok(in_order, "always before callees and stacks");
	tap_ok(shortened, "callees are dropped");
	tap_ok(dropped, "stacks are dropped");
	tap_ok(visible, "each dropped stack counts once, in the frame for dropped stacks");
	tap_ok(bounded, "the limit is kept");
}

/* Labels that were not requested cannot be dropped. */
static void test_nothing_to_drop(void)
{
	static struct engine g;
	struct engine_options o = { .n_events = 2, .follow = true, .labels = SAMPLELABEL_PID };
	feed_open_with(&g, &o);
	o.max_memory_bytes = g.budget.used_bytes / 10 * 12;
	engine_done(&g);
	feed_open_with(&g, &o);
	g.targets.all = true;
	feed_process(&g, 7, "prog");
	samples(&g, 0, 7, 7, 3);
	tap_int((long long)g.own_labels.n_dropped, 0,
		"if only the pid is requested, no label is dropped");
	engine_done(&g);
}

int main(void)
{
	test_labels();
	test_chosen_labels();
	test_selection();
	test_losses();
	test_lives();
	test_pressure();
	test_nothing_to_drop();
	return tap_done();
}
