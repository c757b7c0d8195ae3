/* What a thread remembers is charged, can be dropped, and changes no stack. */
#include "engine/threadcache.h"
#include "tests/unit/engine/engine-feed.h"
#include "tests/unit/tap.h"

#define PID 7u

static struct engine g;

static struct record sample_of(const uint64_t *chain, size_t n)
{
	struct record r = feed_record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, PID, PID);
	r.event = 0;
	r.sample = (struct record_sample){ .callchain = chain, .n_callchain = n, .ip = chain[1] };
	return r;
}

static void test_life(void)
{
	struct stack_patchlater_pool pool = { 0 };
	feed_open(&g, 0);
	feed_mmap(&g, PID, 0x1000, 0x1000, 0, "/bin/a");
	struct procs_thread *t = procs_thread(&g.procs, PID, PID);
	struct procs_space *space = &t->process->space;
	size_t before = g.budget.used_bytes;
	struct threadcache *own = threadcache_new(&g.budget, &pool);
	tap_ok(own && g.budget.used_bytes == before + sizeof(*own), "it is charged");

	struct record r = sample_of(FEED_CHAIN(PERF_CONTEXT_USER, 0x1010, 0x1021));
	uint32_t stack = threadcache_stack(own, &g.walk, space, &r);
	tap_str(feed_stack_text(&g, stack), "a+0x20;a+0x10", "a stack by its callchain");
	tap_ok(own->memo && own->memo->n == 2, "the thread remembers it");
	tap_int(threadcache_stack(own, &g.walk, space, &r), stack, "the same stack again");
	tap_int(threadcache_stack(NULL, &g.walk, space, &r), stack,
		"and the same without a cache");
	t->user = own;
	threadcache_drop_all(&g.procs);
	tap_ok(!t->user, "dropped: the thread has none");
	size_t used = g.budget.used_bytes;
	feed_sample(&g, PID, PID, 0, 1, r.sample.callchain, r.sample.n_callchain);
	tap_ok(t->user, "the next sample gives it a new one");
	threadcache_drop_all(&g.procs);
	size_t of_sample = g.budget.used_bytes - used;
	threadcache_drop_all(&g.procs);
	feed_sample(&g, PID, PID, 0, 1, r.sample.callchain, r.sample.n_callchain);
	threadcache_drop_all(&g.procs);
	tap_int((long long)(g.budget.used_bytes - used), (long long)of_sample,
		"dropping releases everything that was charged");
	engine_done(&g);
}

static void renumber(void *ctx, uint32_t *set)
{
	++*(uint32_t *)ctx;
	*set += 100;
}

static void test_waiting(void)
{
	feed_open(&g, 0);
	feed_mmap(&g, PID, 0x1000, 0x1000, 0, "/bin/a");
	struct procs_thread *t = procs_thread(&g.procs, PID, PID);
	struct threadcache *own = t->user = threadcache_new(&g.budget, &g.late_pool);
	const struct stack_patchlater_cut cut = {
		.n_samples = 1, .cfa = 0x7000, .pc = 0x1010, .labels = 3, .plain_labels = 2,
	};
	const struct stack_patchlater_to to = { .stacks = &g.stacks, .counts = &g.counts };
	size_t before = g.budget.used_bytes;
	threadcache_patch(own, &g.walk, &t->process->space, &cut, &to);
	tap_ok(own->late.n_waiting == 1, "a truncated stack waits");
	tap_ok(g.budget.used_bytes > before, "its memory is charged");
	uint32_t n = 0;
	own->labels.is_valid = true;
	threadcache_each_waiting_set(&g.procs, renumber, &n);
	tap_int(n, 2, "its two label sets are visited");
	tap_ok(own->late.cut[0].labels == 103 && own->late.cut[0].plain_labels == 102,
	       "and may be changed");
	tap_ok(!own->labels.is_valid, "the thread's cached set is dropped");
	threadcache_drop_all(&g.procs);
	tap_ok(g.budget.used_bytes < before, "dropped: nothing is charged any more");
	tap_int(g.late_pool.n_places, 0, "and no place is taken from the pool");
	engine_done(&g);
}

/* Beyond half of the budget. */
static void test_short(void)
{
	feed_open(&g, 64 << 20);
	feed_mmap(&g, PID, 0x1000, 0x1000, 0, "/bin/a");
	struct procs_thread *t = procs_thread(&g.procs, PID, PID);
	struct threadcache *own = t->user = threadcache_new(&g.budget, &g.late_pool);
	const struct stack_patchlater_cut cut = { .n_samples = 1, .cfa = 0x7000, .pc = 0x1010 };
	const struct stack_patchlater_to to = { .stacks = &g.stacks, .counts = &g.counts };
	budget_charge_always(&g.budget, 33 << 20);
	threadcache_patch(own, &g.walk, &t->process->space, &cut, &to);
	tap_int(own->late.n, 0, "memory is short: truncated stacks do not wait");
	budget_release(&g.budget, 33 << 20);
	threadcache_patch(own, &g.walk, &t->process->space, &cut, &to);
	tap_int(own->late.n, 1, "afterwards they wait again");
	engine_done(&g);
}

int main(void)
{
	test_life();
	test_waiting();
	test_short();
	return tap_done();
}
