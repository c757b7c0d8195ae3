/* Maps are read again after records were lost: this process is the sampled one. */

#include "base/host.h"
#include "tests/unit/engine/engine-feed.h"
#include "tests/unit/tap.h"

#include <unistd.h>

static bool is_known(struct engine *g, uint32_t event)
{
	uint64_t pc = (uint64_t)(uintptr_t)is_known;
	uint32_t pid = (uint32_t)getpid(), n = g->counts.n;
	feed_sample(g, pid, pid, event, 1, FEED_CHAIN(PERF_CONTEXT_USER, pc));
	uint32_t at = g->counts.n > n ? n : g->counts.n - 1;
	return strstr(feed_stack_text(g, g->counts.v[at].stack), "test-reread-maps+0x");
}

static const char *name_of_this(struct engine *g)
{
	const struct procs_thread *t = procs_find_thread(&g->procs, (uint32_t)getpid());
	return t ? strtab_get(&g->strings, t->name) : "";
}

static void lose(struct engine *g, uint32_t type)
{
	struct record r = feed_record(type, 0, 1, 1);
	r.event = 0;
	r.lost.n_lost = 1;
	engine_feed(g, &r);
}

static void open_engine(struct engine *g, const struct host *h)
{
	struct engine_options o = { .n_events = 4, .follow = true, .host = h };
	feed_open_with(g, &o);
	g->targets.all = true;
}

int main(void)
{
	struct host real;
	struct engine g;
	struct err e;
	if (host_open(&real, NULL, NULL, NULL, &e) < 0)
		return 1;
	open_engine(&g, &real);
	feed_at(1000000000);
	tap_ok(!is_known(&g, 0), "a process whose maps were never recorded");
	tap_str(name_of_this(&g), "", "nor its name");
	lose(&g, PERF_RECORD_LOST_SAMPLES);
	tap_ok(!is_known(&g, 1), "lost samples do not mean lost maps");
	lose(&g, PERF_RECORD_LOST);
	tap_ok(is_known(&g, 2), "after a loss its maps are read");
	tap_str(name_of_this(&g), "test-reread-map", "and the names of its threads");
	tap_int((long long)g.reread.n_reads, 1, "once");
	is_known(&g, 3);
	lose(&g, PERF_RECORD_LOST);
	is_known(&g, 3);
	tap_int((long long)g.reread.n_reads, 1, "and not again at once");
	feed_at(1000000000 + REREAD_MAPS_EVERY_NS);
	is_known(&g, 3);
	tap_int((long long)g.reread.n_reads, 2, "but later");
	engine_done(&g);

/* Most processes were not read in advance: each is read at its first sample, unless records have
 * described it. */
	open_engine(&g, &real);
	uint32_t pid = (uint32_t)getpid();
	g.reread.n_losses = 1;
	g.reread.is_lazy = true;
	feed_at(1);
	tap_ok(is_known(&g, 0) && g.reread.n_reads == 1, "a process that was not read in advance");
	feed_fork(&g, pid, pid, pid + 1, pid + 1);
	feed_sample(&g, pid + 1, pid + 1, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, 1));
	tap_int((long long)g.reread.n_reads, 1, "its child need not be read");
	feed_fork(&g, pid + 2, pid + 2, pid + 3, pid + 3);
	feed_sample(&g, pid + 3, pid + 3, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, 1));
	tap_int((long long)g.reread.n_reads, 2, "the child of an unread process is read");
	feed_comm(&g, pid + 4, pid + 4, "new", true);
	feed_sample(&g, pid + 4, pid + 4, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, 1));
	tap_int((long long)g.reread.n_reads, 2, "after an exec a process need not be read");
	engine_done(&g);

	open_engine(&g, NULL);
	lose(&g, PERF_RECORD_LOST);
	tap_ok(!is_known(&g, 0) && g.reread.n_reads == 0, "a replay does not read this machine");
	engine_done(&g);
	host_close(&real);
	return tap_done();
}
