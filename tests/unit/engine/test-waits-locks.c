/* Labels of locks and of their holders. */
#include "base/err.h"
#include "engine/engine-waits.h"
#include "source/record.h"
#include "tests/unit/engine/engine-feed.h"
#include "tests/unit/tap.h"

#include <linux/perf_event.h>

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

/* A wait in futex(2), with the registers of the call. */
static void feed_futex(struct engine *g, uint64_t time_ns, uint64_t code, uint64_t address)
{
	/* perf's registers of x86-64 from dx to di, the stack pointer and the pc */
	const uint64_t reg[] = { 2, 128, address, 0x7000, 0x10010 };
	const uint64_t chain[] = { PERF_CONTEXT_KERNEL, code, PERF_CONTEXT_USER, 0x10010 };
	struct record r = at(time_ns, PERF_RECORD_SAMPLE, 7);
	r.event = 0;
	r.sample = (struct record_sample){
		.ip = 0x10010, .callchain = chain, .n_callchain = 4, .user_regs = reg,
		.user_abi = PERF_SAMPLE_REGS_ABI_64,
		.user_regs_mask = 1u << 3 | 1u << 4 | 1u << 5 | 1u << 7 | 1u << 8,
	};
	engine_feed(g, &r);
	feed_switch(g, time_ns + 1, true);
}

/* The labels of the only count of that event with that value. */
static const char *labels_of_value(struct engine *g, uint32_t event, uint64_t value)
{
	for (uint32_t i = 0; i < g->counts.n; i++)
		if (g->counts.v[i].event == event && g->counts.v[i].value == value)
			return feed_labels_text(g, g->counts.v[i].labels);
	return "none";
}

static bool note_lock(void *ctx, const struct waits_thread *t)
{
	*(uint64_t *)ctx = t->lock.address;
	return true;
}

static void test_lock_labels(void)
{
	static const uint8_t waits[] = { WAITS_SOURCE | WAITS_LOCKS, WAITS_OFF };
	struct engine g;
	uint64_t seen = 0;
	const struct engine_options o = { .n_events = 2, .follow = true, .waits = waits,
					  .has_locks = true, .machine = "x86_64" };
	feed_open_with(&g, &o);
	g.targets.all = true;
	g.waits.wants_holders = true;
	g.waits.code[0] = (struct waits_code){ 0xf000, 0xf100, WAITS_FOR_LOCK, true };
	g.waits.code[1] = (struct waits_code){ 0xf200, 0xf300, WAITS_FOR_LOCK, false };
	feed_at(10);
	feed_comm(&g, 7, 7, "prog", true);
	feed_comm(&g, 7, 8, "owner", false);
	feed_comm(&g, 9, 9, "other", true);
	feed_mmap(&g, 7, 0x10000, 0x10000, 0, "/bin/a");
	feed_futex(&g, 100, 0xf010, 0x5000);
	waits_looks_each_lock(&g.waits, note_lock, &seen);
	tap_int((long long)seen, 0x5000, "a thread that has begun to wait is looked at");
	seen = 0;
	waits_looks_each_lock(&g.waits, note_lock, &seen);
	tap_int((long long)seen, 0, "once");
	engine_add_holder(&g, 7, 7, 120, 130, 8);
	engine_add_holder(&g, 7, 7, 140, 150, 9);
	engine_add_holder(&g, 7, 7, 160, 170, 7);
	feed_switch(&g, 200, false);
	tap_str(labels_of_value(&g, 0, 100), "lock=0x5000 holder=owner/8 state=blocked",
		"the lock and its holder, which is another thread of the process");
	tap_str(labels_of_value(&g, 1, 100), "state=blocked", "in this profile only");
	feed_futex(&g, 300, 0xf010, 0x5000);
	engine_add_holder(&g, 7, 7, 290, 310, 8);
	feed_switch(&g, 401, false);
	tap_str(labels_of_value(&g, 0, 101), "lock=0x5000 state=blocked",
		"a reading that began before the wait shows nothing");
	feed_futex(&g, 500, 0xf210, 0x5000);
	feed_switch(&g, 602, false);
	tap_str(labels_of_value(&g, 0, 102), "state=blocked",
		"a wait for several locks has no address");
	feed_futex(&g, 700, 0xf010, 0x6000);
	feed_switch(&g, 710, false);
	seen = 0;
	waits_looks_each_lock(&g.waits, note_lock, &seen);
	tap_int((long long)seen, 0, "a wait that is over is not looked at");
	feed_futex(&g, 800, 0xf010, 0x7000);
	engine_add_holder(&g, 7, 7, 820, 830, 8);
	gc_tables_run(&g.gc.tables, NULL, 0);
	feed_switch(&g, 903, false);
	tap_str(labels_of_value(&g, 0, 103), "lock=0x7000 holder=owner/8 state=blocked",
		"labels survive the collection of unused entries");
	engine_done(&g);
}

int main(void)
{
	test_lock_labels();
	return tap_done();
}
