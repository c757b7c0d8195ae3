/* A storm of processes, files and names: what is freed, and that everything else keeps its meaning.
 */
#include "base/host.h"
#include "engine/gc-tables.h"
#include "tests/unit/engine/engine-feed.h"
#include "tests/unit/tap.h"

#include <sys/wait.h>
#include <unistd.h>

#define PARENT 10u

/* A process that lives on, with code in two files. */
static void feed_parent(struct engine *g)
{
	feed_comm(g, PARENT, PARENT, "shell", true);
	feed_mmap(g, PARENT, 0x1000, 0x1000, 0, "/bin/shell");
	feed_mmap(g, PARENT, 0x8000, 0x1000, 0, "/lib/libc");
}

/* A child with its own name and file, and a thread with its own name. */
static void feed_child(struct engine *g, uint32_t pid, bool exits)
{
	char name[32];
	feed_fork(g, PARENT, PARENT, pid, pid);
	snprintf(name, sizeof(name), "child-%u", pid);
	feed_comm(g, pid, pid, name, true);
	snprintf(name, sizeof(name), "/bin/child-%u", pid);
	feed_mmap(g, pid, 0x1000, 0x1000, 0, name);
	feed_fork(g, pid, pid, pid, pid + 1);
	snprintf(name, sizeof(name), "thread-%u", pid);
	feed_comm(g, pid, pid + 1, name, false);
	feed_sample(g, pid, pid, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, 0x1010, 0x1021));
	if (exits) {
		feed_exit(g, pid, pid + 1);
		feed_exit(g, pid, pid);
	}
}

static void feed_storm(struct engine *g, uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		feed_child(g, first + 2 * i, true);
}

/* The whole profile as text, in the order of entries, for comparison. */
static char *profile_text(const struct engine *g)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	for (uint32_t i = 0; i < g->counts.n; i++) {
		const struct count *c = &g->counts.v[i];
		uint32_t n_labels;
		labels_get(&g->labels, c->labels, &n_labels);
		fprintf(f, "%u %s %" PRIu64 " %" PRIu64 " %s\n", c->event,
			feed_stack_text(g, c->stack), c->n_samples, c->value,
			feed_labels_text(g, c->labels));
	}
	fclose(f);
	return text;
}

/* Nothing is lost: every entry has the same meaning as before. */
static void test_names(void)
{
	struct engine g;
	feed_open(&g, 0);
	feed_parent(&g);
	for (uint32_t i = 0; i < 30000; i++) {
		char name[32];
		snprintf(name, sizeof(name), "name-%u", i);
		feed_comm(&g, PARENT, PARENT, name, false);
	}
	feed_storm(&g, 1000, 600);
	feed_sample(&g, PARENT, PARENT, 1, 7, FEED_CHAIN(PERF_CONTEXT_USER, 0x8010, 0x1021));
	feed_sample(&g, PARENT, PARENT, 0, 3,
		    FEED_CHAIN(PERF_CONTEXT_KERNEL, UINT64_C(0xffffffff81000000)));
	engine_add_lost(&g, 0, 2, 2);
	tap_ok(gc_tables_names_are_due(&g.gc.tables), "after a storm of names a run is due");
	char *before = profile_text(&g);
	uint32_t n_strings = g.strings.n, n_nodes = g.stacks.n;
	tap_int(gc_tables_names(&g.gc.tables), 0, "names: compacted");
	char *after = profile_text(&g);
	tap_str(after, before, "every sample has its stack and labels, as before");
	tap_ok(g.strings.n < n_strings / 5, "unused names were freed: %u, then %u",
	       n_strings, g.strings.n);
	tap_int(g.stacks.n, n_nodes, "stacks were left alone");
	tap_ok(!gc_tables_names_are_due(&g.gc.tables), "not again so soon");
	feed_sample(&g, PARENT, PARENT, 1, 7, FEED_CHAIN(PERF_CONTEXT_USER, 0x8010, 0x1021));
	const struct count *c = feed_find(&g, 1, "shell+0x20;libc+0x10");
	tap_ok(c && c->n_samples == 2, "the same stack with the same labels is the same entry");
	tap_ok(c && strstr(feed_labels_text(&g, c->labels), "thread_name=name-29999"),
	       "living threads have their last names");
	free(before);
	free(after);
	engine_done(&g);
}

/* Repeatedly, as rotation does: memory is bounded by what one round needs. */
static void test_rounds(void)
{
	struct engine g;
	struct err e;
	size_t most = 0, used_3 = 0;
	uint32_t most_dsos = 0, dsos_3 = 0, most_pids = 0;
	bool right = true;
	feed_open(&g, 0);
	g.targets.all = false;
	targets_add_pid(&g.targets, PARENT);
	feed_parent(&g);
	for (uint32_t round = 0; round < 40; round++) {
		char want[64];
		feed_storm(&g, 1000 + round * 4000, 1500);
		if (gc_tables_names_are_due(&g.gc.tables))
			gc_tables_names(&g.gc.tables);
		snprintf(want, sizeof(want), "child-%u+0x20;child-%u+0x10", 1000 + round * 4000,
			 1000 + round * 4000);
		const struct count *c = feed_find(&g, 0, want);
		right &= c && c->n_samples == 1;
		engine_clear(&g, &e);
		most = g.budget.used_bytes > most ? g.budget.used_bytes : most;
		most_dsos = g.dsos.n > most_dsos ? g.dsos.n : most_dsos;
		most_pids = g.targets.pids.n > most_pids ? g.targets.pids.n : most_pids;
		if (round == 3) {
			used_3 = most;
			dsos_3 = most_dsos;
		}
	}
	tap_ok(right, "in each round the children have their own stacks");
	tap_ok(most < used_3 * 5 / 4,
	       "memory does not grow after the third round: %zu, %zu", used_3,
	       most);
	tap_ok(most_dsos <= dsos_3, "ids of files are reused: %u, %u", dsos_3, most_dsos);
	tap_ok(most_pids < 10000, "ended targets were forgotten");
	feed_sample(&g, PARENT, PARENT, 1, 7, FEED_CHAIN(PERF_CONTEXT_USER, 0x8010, 0x1021));
	tap_ok(feed_find(&g, 1, "shell+0x20;libc+0x10"), "the parent's files have not changed");
	engine_done(&g);
}

static void lose(struct engine *g)
{
	struct record r = feed_record(PERF_RECORD_LOST, 0, 1, 1);
	r.event = 0;
	r.lost.n_lost = 1;
	engine_feed(g, &r);
}

/* A process whose EXIT was lost, beside this one, which lives. */
static void test_ended(void)
{
	struct host real;
	struct engine g;
	struct err e;
	struct engine_options o = { .n_events = 2, .follow = true, .host = &real };
	pid_t gone = fork();
	if (gone == 0)
		_exit(0);
	waitpid(gone, NULL, 0);
	if (host_open(&real, NULL, NULL, NULL, &e) < 0)
		return;
	feed_open_with(&g, &o);
	targets_add_pid(&g.targets, (uint32_t)getpid());
	uint64_t now = 10 * (uint64_t)GC_THREADS_EVERY_NS;
	feed_at(now);
	feed_comm(&g, (uint32_t)getpid(), (uint32_t)getpid(), "me", false);
	feed_fork(&g, (uint32_t)getpid(), (uint32_t)getpid(), (uint32_t)gone, (uint32_t)gone);
	gc_threads_ended(&g, now);
	gc_threads_ended(&g, now += GC_THREADS_EVERY_NS);
	tap_int((long long)g.gc.threads.n_ended, 0, "without losses no thread is checked");
	lose(&g);
	gc_threads_ended(&g, now += GC_THREADS_EVERY_NS);
	tap_int((long long)g.gc.threads.n_ended, 0, "a missing thread may still have samples");
	gc_threads_ended(&g, now += GC_THREADS_EVERY_NS);
	tap_int((long long)g.gc.threads.n_ended, 1, "one that is missing twice has ended");
	const struct procs_process *p = procs_find(&g.procs, (uint32_t)gone);
	tap_ok(p && p->exited, "as if its EXIT had been recorded");
	p = procs_find(&g.procs, (uint32_t)getpid());
	tap_ok(p && !p->exited, "a living one has not");
	gc_threads_ended(&g, now += GC_THREADS_EVERY_NS);
	tap_int((long long)g.gc.threads.n_ended, 1, "no thread ends twice");
	engine_done(&g);
	host_close(&real);
}

int main(void)
{
	test_names();
	test_rounds();
	test_ended();
	return tap_done();
}
