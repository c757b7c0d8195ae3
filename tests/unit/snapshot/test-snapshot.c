/* Entries with their labels and stacks, and what they become in the engine's counts. */
#include "base/err.h"
#include "engine/engine.h"
#include "snapshot/snapshot.h"
#include "source/record.h"
#include "tests/unit/tap.h"

#include <linux/perf_event.h>
#include <string.h>

static struct engine g;
static struct snapshot s;

static const char *const fixed[] = { "build=7" };

static bool begin(void)
{
	static const struct engine_options o = {
		.n_events = 1, .machine = "x86_64", .label = fixed, .n_labels = 1,
	};
	struct err e;
	if (engine_init(&g, &o, &e) < 0)
		return false;
	g.targets.all = true;
	snapshot_init(&s, &g);
	snapshot_begin(&s);
	return true;
}

static void end(void)
{
	snapshot_done(&s);
	engine_done(&g);
}

/* The value of an entry's label; NULL: it has none. */
static const char *label_of(size_t i, const char *key)
{
	uint32_t n;
	const struct label *l = labels_get(&g.labels, s.entries.v[i].labels, &n);
	for (uint32_t k = 0; k < n; k++)
		if (strcmp(strtab_get(&g.strings, l[k].key), key) == 0)
			return strtab_get(&g.strings, l[k].value);
	return NULL;
}

static uint32_t string(const char *text)
{
	return strtab_add_cstr(&g.strings, text);
}

static struct snapshot_entry thread(uint64_t tid, uint64_t wait_ns)
{
	return (struct snapshot_entry){
		.quality = SNAPSHOT_EXACT, .pid = 40, .id = tid, .name = string("worker"),
		.process_name = string("server"), .state = string("sleeping"), .wait_ns = wait_ns,
		.stack = snapshot_no_stack(&s),
	};
}

static void test_labels(void)
{
	if (!begin())
		return;
	struct snapshot_entry e = thread(41, 2500);
	snapshot_label(&s, "syscall", "read");
	snapshot_label(&s, "wchan", "");
	tap_ok(snapshot_add(&s, &e), "a thread is added");
	tap_str(label_of(0, "syscall"), "read", "it has the labels that were given before");
	tap_str(label_of(0, "wchan"), NULL, "an empty text is no label");
	tap_str(label_of(0, "pid"), "40", "pid");
	tap_str(label_of(0, "tid"), "41", "tid");
	tap_str(label_of(0, "thread_name"), "worker", "thread_name");
	tap_str(label_of(0, "process_name"), "server", "process_name");
	tap_str(label_of(0, "state"), "sleeping", "state");
	tap_str(label_of(0, SNAPSHOT_WAIT), "2500", "wait");
	tap_str(label_of(0, "snapshot"), "exact", "snapshot");
	tap_str(label_of(0, "build"), "7", "the user's own label");
	e = thread(42, SNAPSHOT_WAIT_UNKNOWN);
	e.quality = SNAPSHOT_MOVED;
	snapshot_add(&s, &e);
	tap_str(label_of(1, "syscall"), NULL, "labels are those of one entry");
	tap_str(label_of(1, SNAPSHOT_WAIT), NULL, "an unknown wait is no label");
	e.is_task = true;
	snapshot_number(&s, SNAPSHOT_GO_WAIT, 9);
	snapshot_add(&s, &e);
	tap_str(label_of(2, "tid"), NULL, "a goroutine has no thread");
	tap_str(label_of(2, SNAPSHOT_GO_WAIT), "9", "its labels are its own");
	tap_ok(s.n_of[SNAPSHOT_EXACT] == 1 && s.n_of[SNAPSHOT_MOVED] == 2, "qualities are counted");
	end();
}

static void test_counts(void)
{
	if (!begin())
		return;
	struct snapshot_entry a = thread(41, 2500), b = thread(42, SNAPSHOT_WAIT_UNKNOWN);
	snapshot_add(&s, &a);
	snapshot_add(&s, &b);
	snapshot_count(&s);
	tap_int(g.counts.n, 2, "each entry is a sample");
	tap_ok(g.counts.v[0].n_samples == 1 && g.counts.v[0].value == 2500, "with its wait");
	tap_ok(g.counts.v[1].n_samples == 1 && g.counts.v[1].value == 0, "or with none");
	tap_ok(g.event[0].n_samples == 2 && g.event[0].value == 2500, "and their sum is known");
	snapshot_begin(&s);
	tap_int((long long)s.entries.n, 0, "the next snapshot is empty at first");
	snapshot_add(&s, &a);
	snapshot_count(&s);
	tap_ok(g.counts.n == 2 && g.counts.v[0].n_samples == 2 && g.counts.v[0].value == 5000,
	       "it is added to the counts");
	end();
}

static void test_stacks(void)
{
	static const uint64_t chain[] = { PERF_CONTEXT_USER, 0x401010, 0x401120 };
	if (!begin())
		return;
	struct procs_process *p = procs_process(&g.procs, 40);
	const struct record map = {
		.type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER, .event = RECORD_NO_EVENT,
		.pid = 40, .tid = 40,
		.mmap = { .start = 0x401000, .len = 0x1000, .prot = 4, .filename = "/bin/server" },
	};
	const struct record sample = {
		.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .pid = 40, .tid = 41,
		.sample = { .ip = 0x401010, .callchain = chain, .n_callchain = 3 },
	};
	struct snapshot_stack first, second;
	engine_feed(&g, &map);
	snapshot_unwind(&s, p, &sample, &first);
	snapshot_unwind(&s, p, &sample, &second);
	tap_int(second.id, first.id, "equal stacks have one id");
	uint32_t n = 0;
	for (uint32_t node = first.id; node != STACKS_EMPTY; node = g.stacks.v[node].parent)
		n++;
	tap_int(n, 2, "with all frames");
	tap_ok(!first.is_heuristic, "no frame is a guess");
	tap_ok(snapshot_no_stack(&s) != first.id, "a thread without a stack has another one");
	end();
}

int main(void)
{
	test_labels();
	test_counts();
	test_stacks();
	return tap_done();
}
