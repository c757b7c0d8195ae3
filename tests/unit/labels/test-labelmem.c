/*
 * Labels set in this process, read like a profiler; and forged memory.
 */
#include "labels/labelmem.h"

#include "base/host.h"
#include "tests/unit/tap.h"

#include "cprof-labels.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>

/* What the reader reported, about one thread. */
struct told {
	uint32_t tid;              /* the thread of interest; 0: all */
	uint32_t set[1024];
	uint64_t time_ns[1024];
	size_t n;
	uint64_t n_missed;
};

static void on_change(void *ctx, uint32_t own_pid, uint32_t tid, uint64_t time_ns, uint32_t set)
{
	struct told *t = ctx;
	(void)own_pid;
	if ((t->tid && tid != t->tid) || t->n == 1024)
		return;
	t->set[t->n] = set;
	t->time_ns[t->n++] = time_ns;
}

static void on_gap(void *ctx, uint32_t own_pid, uint32_t tid, uint64_t n_changes)
{
	struct told *t = ctx;
	(void)own_pid;
	(void)tid;
	t->n_missed += n_changes;
}

static struct remotemem *memory;
static struct labelmem_clock reader_clock;

static enum labelmem_outcome drain(struct labelmem *m, struct told *t)
{
	const struct labelmem_sink sink = { .change = on_change, .gap = on_gap, .ctx = t };
	t->n = 0;
	labelmem_clock_tick(&reader_clock);
	return labelmem_drain(m, &reader_clock, &sink);
}

/* "key=value key=value" of a set. */
static const char *set_text(const struct labelmem *m, uint32_t set)
{
	static char text[LABELMEM_SET_BYTES_MAX + 1];
	uint32_t n;
	int n_bytes = labelmem_set(m, set, text, &n);
	if (n_bytes < 0)
		return strerror(-n_bytes);
	unsigned n_ends = 0;
	for (int i = 0; i + 1 < n_bytes; i++)
		if (!text[i])
			text[i] = n_ends++ % 2 ? ' ' : '=';
	text[n_bytes] = '\0';
	return text;
}

static void test_changes(struct labelmem *m)
{
	struct told t = { .tid = (uint32_t)gettid() };
	uint64_t before = cprof_labels_monotonic();
	cprof_label_set("request", "/a");
	uint64_t between = cprof_labels_monotonic();
	cprof_label_set("request", "/b");
	cprof_label_set("request", "/b");
	{
		CPROF_LABEL_SCOPE("phase", "parse");
		CPROF_LABEL_SCOPE("request", "/c");
	}
	uint64_t after = cprof_labels_monotonic();
	tap_int(drain(m, &t), LABELMEM_READ, "the changes of this thread are read");
	tap_int((long long)t.n, 6, "setting the same value is not a change");
	tap_str(set_text(m, t.set[0]), "request=/a", "a label");
	tap_str(set_text(m, t.set[1]), "request=/b", "another value");
	tap_str(set_text(m, t.set[2]), "request=/b phase=parse", "one more");
	tap_str(set_text(m, t.set[3]), "phase=parse request=/c", "a value within a scope");
	tap_ok(t.set[4] == t.set[2] && t.set[5] == t.set[1], "scopes restore the previous value");
	bool ordered = t.time_ns[0] + 1000 >= before && t.time_ns[0] <= between + 1000 &&
		       t.time_ns[1] + 1000 >= between && t.time_ns[5] <= after + 1000;
	for (size_t i = 1; i < t.n; i++)
		ordered &= t.time_ns[i] >= t.time_ns[i - 1];
	tap_ok(ordered, "the times are those of CLOCK_MONOTONIC");
	tap_int(drain(m, &t), LABELMEM_READ, "the memory is read again");
	tap_int((long long)t.n, 0, "nothing is reported twice");

	cprof_label_set("request", NULL);
	drain(m, &t);
	tap_int(t.set[0], 0, "without the last label the set is empty");
	struct cprof_labels a = cprof_labels_with((struct cprof_labels){ 0 }, "k", "v");
	tap_ok(a.id && a.id == cprof_labels_with((struct cprof_labels){ 0 }, "k", "v").id,
	       "the same labels are the same set");
	char reused[] = "one";
	struct cprof_labels one = cprof_labels_with(a, reused, reused);
	memcpy(reused, "two", 3);
	tap_ok(one.id != cprof_labels_with(a, reused, reused).id,
	       "texts count, not their addresses");
}

static void test_bounds(struct labelmem *m)
{
	struct told t = { .tid = (uint32_t)gettid() };
	char key[200], value[400];
	memset(key, 'k', sizeof(key));
	memset(value, 'v', sizeof(value));
	key[199] = value[399] = '\0';
	struct cprof_labels set = cprof_labels_with((struct cprof_labels){ 0 }, key, value);
	tap_int((long long)strlen(set_text(m, set.id)), CPROF_LABELS_KEY + 1 + CPROF_LABELS_VALUE,
		"long keys and values are cut");
	tap_int(cprof_labels_with(set, key, value).id, set.id, "and replaced, cut");
	set.id = 0;
	for (int i = 0; i < 20; i++) {
		snprintf(key, sizeof(key), "key%d", i);
		set = cprof_labels_with(set, key, "x");
	}
	uint32_t n;
	char text[LABELMEM_SET_BYTES_MAX];
	labelmem_set(m, set.id, text, &n);
	tap_int(n, CPROF_LABELS_PER_SET, "a set has a limited number of labels");
	tap_int(cprof_labels_with(set, "", "x").id, set.id, "an empty key is ignored");

	drain(m, &t);
	t.n_missed = 0;
	struct cprof_labels two[2] = { cprof_labels_with((struct cprof_labels){ 0 }, "i", "0"),
				       cprof_labels_with((struct cprof_labels){ 0 }, "i", "1") };
	for (int i = 0; i < 1000; i++)
		cprof_labels_adopt(two[i & 1]);
	drain(m, &t);
	tap_int((long long)(t.n_missed + t.n), 1000, "overwritten changes are missed, and "
		"reported");
	tap_ok(t.n >= 250 && t.set[t.n - 1] == two[1].id, "the latest are there");
	cprof_labels_adopt((struct cprof_labels){ 0 });
}

static void *in_thread(void *arg)
{
	cprof_label_set("thread", "yes");
	if (arg)
		pthread_barrier_wait(arg);
	return (void *)(uintptr_t)gettid();
}

static void test_threads(struct labelmem *m)
{
	pthread_t thread;
	void *tid;
	for (int i = 0; i < 200; i++) {
		pthread_create(&thread, NULL, in_thread, NULL);
		pthread_join(thread, &tid);
	}
	struct told t = { .tid = (uint32_t)(uintptr_t)tid };
	drain(m, &t);
	tap_int((long long)t.n, 1, "the change of a thread that has exited is kept");
	tap_ok(cprof_labels_registry.n_threads < 64, "memory follows how many live at once (%u)",
	       cprof_labels_registry.n_threads);

	enum { N = 300 };
	pthread_t many[N];
	pthread_barrier_t barrier;
	pthread_barrier_init(&barrier, NULL, N);
	for (int i = 0; i < N; i++)
		pthread_create(&many[i], NULL, in_thread, &barrier);
	for (int i = 0; i < N; i++)
		pthread_join(many[i], NULL);
	t = (struct told){ 0 };
	tap_int(drain(m, &t), LABELMEM_READ, "300 threads at once");
	tap_int((long long)t.n, N, "each has its change");
}

static void test_fork(struct labelmem *m)
{
	cprof_label_set("of", "parent");
	struct told t = { .tid = (uint32_t)gettid() };
	drain(m, &t);
	pid_t child = fork();
	if (child == 0) {
		struct labelmem own;
		struct told c = { .tid = (uint32_t)gettid() };
		labelmem_init(&own, memory, (uint32_t)getpid(),
			      (uint64_t)(uintptr_t)&cprof_labels_registry);
		bool ok = drain(&own, &c) == LABELMEM_READ && c.n == 0;
		cprof_label_set("of", "child");
		ok &= drain(&own, &c) == LABELMEM_READ && c.n >= 1 &&
		      strcmp(set_text(&own, c.set[c.n - 1]), "of=child") == 0;
		labelmem_done(&own);
		_exit(ok ? 0 : 1);
	}
	int status;
	waitpid(child, &status, 0);
	tap_int(status, 0, "a forked child has its own memory");
	drain(m, &t);
	tap_int((long long)t.n, 0, "which is not its parent's");
	cprof_label_set("of", NULL);
}

static atomic_int n_signals;

static void on_signal(int number)
{
	(void)number;
	CPROF_LABEL_SCOPE("in", "handler");
	n_signals++;
}

static void *interrupted(void *arg)
{
	*(uint32_t *)arg = (uint32_t)gettid();
	static const char *const value[] = { "a", "b", "c", "d" };
	for (unsigned i = 0; n_signals < 2000; i++)
		cprof_label_set("at", value[i % 4]);
	cprof_label_set("at", "end");
	return NULL;
}

static void test_signals(struct labelmem *m)
{
	pthread_t thread;
	uint32_t tid = 0;
	signal(SIGUSR1, on_signal);
	pthread_create(&thread, NULL, interrupted, &tid);
	while (n_signals < 2000) {
		pthread_kill(thread, SIGUSR1);
		usleep(20);
	}
	pthread_join(thread, NULL);
	struct told t = { .tid = tid };
	drain(m, &t);
	tap_str(t.n ? set_text(m, t.set[t.n - 1]) : "none", "at=end",
		"labels set in 2000 signal handlers leave no trace");
}

/* ---- lies ------------------------------------------------------------------------ */

static struct cprof_labels_registry lie;
static struct cprof_labels_thread lying_slab[CPROF_LABELS_SLAB];
static char lying_chunk[CPROF_LABELS_CHUNK];

static enum labelmem_outcome drain_lie(struct told *t)
{
	struct labelmem m;
	labelmem_init(&m, memory, (uint32_t)getpid(), (uint64_t)(uintptr_t)&lie);
	*t = (struct told){ 0 };
	enum labelmem_outcome outcome = drain(&m, t);
	labelmem_done(&m);
	return outcome;
}

static int set_of_lie(uint32_t id)
{
	struct labelmem m;
	char buf[LABELMEM_SET_BYTES_MAX];
	uint32_t n;
	labelmem_init(&m, memory, (uint32_t)getpid(), (uint64_t)(uintptr_t)&lie);
	return labelmem_set(&m, id, buf, &n);
}

static void put_record(uint32_t id, uint32_t n_bytes, uint32_t n_labels, const char *text,
		       size_t n_text)
{
	struct cprof_labels_record *r = (void *)(lying_chunk + 8 * id);
	r->n_bytes = n_bytes;
	r->n_labels = n_labels;
	memcpy(r->text, text, n_text);
}

static void test_lies(void)
{
	struct told t;
	tap_int(drain_lie(&t), LABELMEM_NOTHING, "a registry that is not initialised");
	lie.magic = CPROF_LABELS_MAGIC + 1;
	tap_int(drain_lie(&t), LABELMEM_BAD, "another version");
	lie.magic = CPROF_LABELS_MAGIC;
	lie.clock = 9;
	tap_int(drain_lie(&t), LABELMEM_BAD, "an unknown clock");
	lie.clock = CPROF_LABELS_CLOCK_MONOTONIC;
	lie.n_threads = UINT32_MAX;
	tap_int(drain_lie(&t), LABELMEM_READ, "more threads than there can be, and no slab");
	tap_int((long long)t.n, 0, "from such memory nothing is read");
	lie.slab[0] = (void *)16;
	tap_int(drain_lie(&t), LABELMEM_BAD, "a slab at a bad address");
	lie.slab[0] = lying_slab;
	lying_slab[1] = (struct cprof_labels_thread){ .head = UINT64_MAX - 3, .owner = &lie,
						      .tid = 5, .pid = 5 };
	tap_int(drain_lie(&t), LABELMEM_READ, "a head beyond all bounds");
	tap_int((long long)t.n, 0, "without changes that fit it");
	lying_slab[1].head = 3;
	lying_slab[1].entry[1] = (struct cprof_labels_entry){ UINT64_MAX, 77, 2 };
	tap_int(drain_lie(&t), LABELMEM_READ, "a change whose predecessors are missing");
	tap_int((long long)t.n, 0, "waits for them");
	lying_slab[1].head = 40;
	drain_lie(&t);
	tap_int((long long)t.n, 1, "but not for ever");
	tap_int(t.set[0], 77, "and the change is reported");

	tap_int(set_of_lie(77), -EFAULT, "a set in a chunk that does not exist");
	tap_int(set_of_lie(UINT32_MAX), -EINVAL, "a set beyond all chunks that can exist");
	lie.chunk[0] = lying_chunk;
	put_record(8, 4, 1, "a\0b", 4);
	tap_int(set_of_lie(8), 4, "a good set");
	put_record(8, 4, 2, "a\0b", 4);
	tap_int(set_of_lie(8), -EINVAL, "fewer texts than declared");
	put_record(8, 3, 1, "a\0b", 3);
	tap_int(set_of_lie(8), -EINVAL, "an unterminated text");
	put_record(8, UINT32_MAX, 1, "a\0b", 4);
	tap_int(set_of_lie(8), -EINVAL, "a text that is too long");
	put_record(8, 4, UINT32_MAX, "a\0b", 4);
	tap_int(set_of_lie(8), -EINVAL, "too many labels");

	struct labelmem gone;
	pid_t child = fork();
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	labelmem_init(&gone, memory, (uint32_t)child, (uint64_t)(uintptr_t)&lie);
	tap_int(drain(&gone, &t), LABELMEM_GONE, "a process that is gone");
}

/* A counter of 24 MHz: its largest value stands for more nanoseconds than there are. */
static void test_times(void)
{
	const struct labelmem_clock slow = {
		.pair = { { 1000, 1000 }, { 2000, 43000 } }, .n = 2, .counter_is_clock = true,
	};
	struct told t = { 0 };
	const struct labelmem_sink sink = { .change = on_change, .gap = on_gap, .ctx = &t };
	struct labelmem m;
	lie.clock = CPROF_LABELS_CLOCK_CPU;
	memset(&lying_slab[1], 0, sizeof(lying_slab[1]));
	lying_slab[1] = (struct cprof_labels_thread){ .head = 3, .owner = &lie,
						      .tid = 5, .pid = 5 };
	lying_slab[1].entry[0] = (struct cprof_labels_entry){ 0, 77, 1 };
	lying_slab[1].entry[1] = (struct cprof_labels_entry){ 3000, 77, 2 };
	lying_slab[1].entry[2] = (struct cprof_labels_entry){ UINT64_MAX, 77, 3 };
	labelmem_init(&m, memory, (uint32_t)getpid(), (uint64_t)(uintptr_t)&lie);
	labelmem_drain(&m, &slow, &sink);
	tap_int((long long)t.n, 3, "three changes");
	tap_ok(t.time_ns[0] == 0, "a time before the clock's begin is 0");
	tap_ok(t.time_ns[1] == 85000, "a time after the last pair is on its line");
	tap_ok(t.time_ns[2] == UINT64_MAX, "a time after the clock's end is its end");
	labelmem_done(&m);
}

int main(void)
{
	struct host host;
	if (host_open(&host, NULL, NULL, NULL, NULL) < 0)
		return 1;
	memory = host.memory;
	labelmem_clock_init(&reader_clock, &host);
	labelmem_clock_tick(&reader_clock);
	struct labelmem m;
	labelmem_init(&m, memory, (uint32_t)getpid(), (uint64_t)(uintptr_t)&cprof_labels_registry);
	struct told t = { 0 };
	tap_int(drain(&m, &t), LABELMEM_NOTHING, "before the first label there is nothing");
	test_changes(&m);
	test_bounds(&m);
	test_threads(&m);
	test_fork(&m);
	test_signals(&m);
	test_lies();
	test_times();
	labelmem_done(&m);
	host_close(&host);
	return tap_done();
}
