/* Which files, targets and throttling are still needed. */
#include "engine/gc-files.h"
#include "tests/unit/engine/engine-feed.h"
#include "tests/unit/tap.h"

static struct engine g;

/* A process with one file; returns the id of the file. */
static uint32_t feed_process(uint32_t pid, const char *path)
{
	feed_comm(&g, pid, pid, "x", true);
	feed_mmap(&g, pid, 0x1000, 0x1000, 0, path);
	return procs_find(&g.procs, pid)->space.map.v[0].dso;
}

static bool is_kept(uint32_t dso, const char *path)
{
	const struct dso *d = dso < g.dsos.n ? g.dsos.dso[dso] : NULL;
	return d && strcmp(d->path, path) == 0;
}

int main(void)
{
	struct stack_user_counts counts = { 0 };
	feed_open(&g, 0);
	g.targets.all = false;
	for (uint32_t pid = 10; pid < 14; pid++)
		targets_add_pid(&g.targets, pid);
	targets_add_pid(&g.targets, 99);
	uint32_t living = feed_process(10, "/bin/living"), seen = feed_process(11, "/bin/seen");
	uint32_t counted = feed_process(12, "/bin/counted"), gone = feed_process(13, "/bin/gone");
	feed_sample(&g, 11, 11, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, 0x1010));
	struct stack_user_dso_ends ends = { .dso = counted };
	tap_ok(VEC_PUSH(&counts.of_dso, ends), "an older part has statistics of a file");
	for (uint32_t pid = 11; pid < 14; pid++)
		feed_exit(&g, pid, pid);
	/* Ended processes are kept until many more have ended. */
	for (uint32_t pid = 1000; pid < 1600; pid++) {
		targets_add_pid(&g.targets, pid);
		feed_comm(&g, pid, pid, "y", false);
		feed_exit(&g, pid, pid);
	}
	throttle_begin(&g.throttle, 0, 1, 1000000000u);
	throttle_begin(&g.throttle, 0, 2, 15000000000u);
	g.window.last_ns = 20000000000u;

	const struct gc_tables_part part = { .user = &counts };
	tap_int(gc_files_unused(&g.gc.tables, &part, 1), 0, "collected");
	tap_ok(is_kept(living, "/bin/living"), "the file of a living process stays");
	tap_ok(is_kept(seen, "/bin/seen"), "so does the file of a frame");
	tap_ok(is_kept(counted, "/bin/counted"), "and one in the statistics of an older part");
	tap_ok(!is_kept(gone, "/bin/gone"), "any other file is freed");
	tap_ok(is_kept(g.walk.kernel_dso, "[kernel.kallsyms]"), "the kernel always stays");
	tap_ok(targets_has(&g.targets, 10, 10), "a living target is still one");
	tap_ok(!targets_has(&g.targets, 99, 99), "an id without a process is not");
	tap_ok(g.throttle.open.n == 1 && g.throttle.open.v[0].stream_id == 2,
	       "throttling that began long ago has ended");
	tap_int(gc_files_unused(&g.gc.tables, NULL, 0), 0, "collected without the older part");
	tap_ok(!is_kept(counted, "/bin/counted"), "its file is freed, too");
	stack_user_counts_done(&counts);
	engine_done(&g);
	return tap_done();
}
