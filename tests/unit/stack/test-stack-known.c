/*
 * What is known of stacks by CFI changes none of them: two engines get the same samples, while
 * files are mapped over the code, and one of them knows nothing at each sample.
 */

#include "agg/stacks.h"
#include "engine/gc-tables.h"
#include "stack/stack-known.h"
#include "symbolize/unwind/unwind.h"
#include "tests/unit/engine/engine-feed.h"
#include "tests/unit/tap.h"

#define PID 7u
#define CODE 0x100000u
#define PAGE 0x1000u
#define PAGES 8u
#define STACK UINT64_C(0x7ffc00000000)
#define DEPTH 10u
#define SAMPLES 3200u

static struct engine a, b;

static void open_engine(struct engine *g)
{
	const struct engine_options o = {
		.n_events = 1, .follow = true, .machine = "x86_64",
	};
	feed_open_with(g, &o);
	g->targets.all = true;
}

static uint64_t random_pc(void)
{
	return CODE + (uint64_t)(rand() % (int)PAGES) * PAGE + (uint64_t)(rand() % 2) * 16 + 8;
}

/* Frames without CFI, found by their frame pointers; outer ones stay from sample to sample. */
static void feed_frames(struct engine *g, uint32_t tid, const uint64_t *pc, size_t n)
{
	uint64_t word[2 * DEPTH + 2] = { 0 };
	const uint64_t sp = STACK - 16 * n;
	/* PERF_REG_X86_BP, _SP and _IP */
	const uint64_t regs[] = { sp, sp, pc[n - 1] };
	for (size_t k = 0; k + 1 < n; k++) {
		word[2 * k] = sp + 16 * (k + 1);
		word[2 * k + 1] = pc[n - 2 - k];
	}
	struct record r = feed_record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, PID, tid);
	r.event = 0;
	r.sample = (struct record_sample){
		.ip = pc[n - 1], .period = 1, .user_abi = PERF_SAMPLE_REGS_ABI_64,
		.user_regs = regs, .user_regs_mask = 1u << 6 | 1u << 7 | 1u << 8,
		.user_stack = (const uint8_t *)word, .n_user_stack_bytes = sizeof(word),
	};
	engine_feed(g, &r);
}

static void map_file(int page, int file)
{
	char path[16];
	snprintf(path, sizeof(path), "/f%d", file);
	uint64_t off = (uint64_t)page * PAGE;
	feed_mmap(&a, PID, CODE + off, PAGE, off, path);
	feed_mmap(&b, PID, CODE + off, PAGE, off, path);
}

static size_t n_known(const struct engine *g)
{
	size_t n = 0;
	for (size_t i = 0; i < (size_t)1 << STACK_KNOWN_BITS; i++)
		n += g->walk.known.v[i].node != STACKS_EMPTY;
	return n;
}

static void forget_known(struct engine *g)
{
	memset(g->walk.known.v, 0, sizeof(*g->walk.known.v) << STACK_KNOWN_BITS);
}

/* Nodes and frames get other numbers. */
static void begin_anew(struct engine *g)
{
	struct err e;
	engine_clear(g, &e);
	gc_tables_run(&g->gc.tables, NULL, 0);
}

static bool have_same_counts(void)
{
	bool same = a.counts.n == b.counts.n;
	for (uint32_t i = 0; i < b.counts.n; i++) {
		char *text = strdup(feed_stack_text(&b, b.counts.v[i].stack));
		const struct count *c = feed_find(&a, 0, text);
		same = same && c && c->n_samples == b.counts.v[i].n_samples;
		free(text);
	}
	return same;
}

static void test_random(unsigned seed)
{
	uint64_t pc[DEPTH];
	srand(seed);
	open_engine(&a);
	open_engine(&b);
	for (size_t k = 0; k < DEPTH; k++)
		pc[k] = random_pc();
	for (unsigned i = 0; i < SAMPLES; i++) {
		for (size_t k = (size_t)rand() % DEPTH; k < DEPTH; k++)
			pc[k] = random_pc();
		if (i < PAGES - 1 || rand() % 100 == 0)  /* the last page is never mapped */
			map_file((int)(i < PAGES - 1 ? i : i % (PAGES - 1)), rand() % 3);
		if (i % 250 == 249) {
			begin_anew(&a);
			begin_anew(&b);
		}
		size_t n = 1 + (size_t)rand() % DEPTH;
		uint32_t tid = PID + (uint32_t)rand() % 3;
		/* the second time all is unchanged since the thread's last sample */
		for (int twice = 0; twice < 2; twice++) {
			forget_known(&b);
			feed_frames(&a, tid, pc, n);
			feed_frames(&b, tid, pc, n);
		}
	}
	tap_ok(n_known(&a) > 50 && n_known(&b) <= DEPTH && b.counts.n > 50,
	       "seed %u: one engine knows stacks", seed);
	tap_ok(have_same_counts(), "seed %u: both have counted the same stacks", seed);
	tap_ok(a.walk.stats.n_cut == b.walk.stats.n_cut &&
	       a.walk.stats.n_unknown == b.walk.stats.n_unknown && b.walk.stats.n_unknown &&
	       a.walk.stats.n_truncated == b.walk.stats.n_truncated,
	       "seed %u: and the same statistics", seed);
	engine_done(&a);
	engine_done(&b);
}

int main(void)
{
	for (unsigned seed = 1; seed <= 3; seed++)
		test_random(seed);
	return tap_done();
}
