#include "tests/unit/engine/engine-feed.h"
#include "tests/unit/tap.h"

#include <linux/perf_event.h>
#include <stdlib.h>

#define KERNEL_PC(x) (UINT64_C(0xffffffff81000000) + (x))

/* The stack of the only count of event 0. */
static const char *only_stack(const struct engine *g)
{
	return g->counts.n == 1 ? feed_stack_text(g, g->counts.v[0].stack) : "(not one count)";
}

static const char *stack_of(const uint64_t *chain, size_t n)
{
	static struct engine g;
	static char text[4096];
	feed_open(&g, 0);
	feed_mmap(&g, 7, 0x10000, 0x1000, 0x2000, "/bin/a");
	feed_mmap(&g, 7, 0x20000, 0x1000, 0, "/lib/b");
	feed_sample(&g, 7, 7, 0, 5, chain, n);
	snprintf(text, sizeof(text), "%s", only_stack(&g));
	engine_done(&g);
	return text;
}
#define CHECK(want, name, ...) tap_str(stack_of(FEED_CHAIN(__VA_ARGS__)), want, name)

static void test_chains(void)
{
	CHECK("a+0x2010", "one user frame is exact", PERF_CONTEXT_USER, 0x10010);
	CHECK("a+0x2030;b+0x20;a+0x2010", "root first, return addresses minus one",
	      PERF_CONTEXT_USER, 0x10010, 0x20021, 0x10031);
	CHECK("b+0x20;a+0x2010;k:ffffffff81000020;k:ffffffff81000010",
	      "a kernel part goes on top of the user's; the first address of each is exact",
	      PERF_CONTEXT_KERNEL, KERNEL_PC(0x10), KERNEL_PC(0x21),
	      PERF_CONTEXT_USER, 0x10010, 0x20021);
	CHECK("k:ffffffff81000020;k:ffffffff81000010", "a kernel thread has no user part",
	      PERF_CONTEXT_KERNEL, KERNEL_PC(0x10), KERNEL_PC(0x21));
	CHECK("a+0x2010", "a guest's part is omitted", PERF_CONTEXT_GUEST_KERNEL, KERNEL_PC(0x10),
	      PERF_CONTEXT_GUEST_USER, 0x20010, PERF_CONTEXT_USER, 0x10010);
	CHECK("a+0x2010;k:ffffffff81000010", "a hypervisor's part is the kernel's",
	      PERF_CONTEXT_HV, KERNEL_PC(0x10), PERF_CONTEXT_USER, 0x10010);
	CHECK("a+0x2010", "zeros are not addresses", PERF_CONTEXT_USER, 0x10010, 0, 0);
	CHECK("b+0xfff;a+0x2010", "a call at the very end of a mapping belongs to it",
	      PERF_CONTEXT_USER, 0x10010, 0x21000);
	CHECK("a+0x2010", "a caller in no mapping is cut off with all outer frames",
	      PERF_CONTEXT_USER, 0x10010, 0x30001, 0x20021);
	CHECK("b+0x20;a+0x2010", "the innermost such caller counts",
	      PERF_CONTEXT_USER, 0x10010, 0x20021, 0x30001, 0x10021, 0x40001);
	CHECK("b+0x20;[unknown]", "an unknown leaf keeps its callers", PERF_CONTEXT_USER, 0x30001,
	      0x20021);
	CHECK("b+0x20;[unknown];k:ffffffff81000010",
	      "so does an unknown address that enters the kernel", PERF_CONTEXT_KERNEL,
	      KERNEL_PC(0x10), PERF_CONTEXT_USER, 0x30001, 0x20021);
	CHECK("[unknown]", "an unknown leaf without callers", PERF_CONTEXT_USER, 0x30001);
	CHECK("[unknown]", "no address at all", PERF_CONTEXT_USER);
}

/* A sample with the calls that a CPU has recorded, in the file /bin/a. */
static const char *stack_of_calls(const uint64_t *chain, size_t n_chain, uint16_t misc,
				  const struct perf_branch_entry *call, size_t n, uint32_t max)
{
	static struct engine g;
	static char text[4096];
	struct engine_options o = {
		.n_events = 1, .labels = SAMPLELABELS_DEFAULT, .follow = true, .max_branches = max,
	};
	feed_open_with(&g, &o);
	g.targets.all = true;
	feed_mmap(&g, 7, 0x10000, 0x1000, 0x2000, "/bin/a");
	struct record r = feed_record(PERF_RECORD_SAMPLE, misc, 7, 7);
	r.event = 0;
	r.sample = (struct record_sample){
		.ip = 0x10010, .period = 1, .callchain = chain, .n_callchain = n_chain,
		.branches = call, .n_branches = n, .branches_are_calls = true,
	};
	engine_feed(&g, &r);
	snprintf(text, sizeof(text), "%s", only_stack(&g));
	engine_done(&g);
	return text;
}

static void test_calls(void)
{
	const struct perf_branch_entry call[] = {
		{ .from = 0x10020, .to = 0x10008 }, { .from = 0x10030, .to = 0x10018 },
	};
	const uint64_t user[] = { PERF_CONTEXT_USER, 0x10011, 0x10ff1 };
	const uint64_t both[] = { PERF_CONTEXT_KERNEL, KERNEL_PC(0x10), PERF_CONTEXT_USER, 0x10012,
				  0x10ff1 };
	tap_str(stack_of_calls(user, 3, PERF_RECORD_MISC_USER, call, 2, 32),
		"a+0x2030;a+0x2020;a+0x2011",
		"recorded calls replace the user's part; their addresses are not adjusted");
	tap_str(stack_of_calls(both, 5, PERF_RECORD_MISC_KERNEL, call, 2, 0),
		"a+0x2030;a+0x2020;a+0x2012;k:ffffffff81000010", "the kernel's part is kept");
	tap_str(stack_of_calls(both, 2, PERF_RECORD_MISC_KERNEL, call, 2, 32),
		"a+0x2030;a+0x2020;a+0x2008;k:ffffffff81000010",
		"the start of the called function where only the kernel's part is known");
	tap_str(stack_of_calls(NULL, 0, PERF_RECORD_MISC_USER, call, 2, 32),
		"a+0x2030;a+0x2020;a+0x2010", "no callchain: the sampled address");
	tap_str(stack_of_calls(user, 3, PERF_RECORD_MISC_USER, call, 2, 2),
		"[truncated];a+0x2030;a+0x2020;a+0x2011", "a full record is truncated");
	tap_str(stack_of_calls(user, 3, PERF_RECORD_MISC_USER, call, 0, 32), "a+0x2ff0;a+0x2011",
		"no calls: the callchain");
}

/* A sample with user registers, of 32-bit code. */
static const char *stack_of_32_bits(uint16_t misc, const uint64_t *chain, size_t n_chain)
{
	static const uint64_t regs[3] = { 0x10010, 0x7000, 0 };
	static struct engine g;
	static char text[4096];
	struct engine_options o = {
		.n_events = 1, .labels = SAMPLELABELS_DEFAULT, .follow = true, .machine = "x86_64",
	};
	feed_open_with(&g, &o);
	g.targets.all = true;
	feed_mmap(&g, 7, 0x10000, 0x1000, 0x2000, "/bin/a");
	feed_mmap(&g, 7, 0x20000, 0x1000, 0, "/lib/b");
	struct record r = feed_record(PERF_RECORD_SAMPLE, misc, 7, 7);
	r.event = 0;
	r.sample = (struct record_sample){
		.ip = misc == PERF_RECORD_MISC_USER ? 0x10010 : KERNEL_PC(0x10), .period = 1,
		.callchain = chain, .n_callchain = n_chain,
		.user_regs = regs, .user_regs_mask = 1 << 8 | 1 << 7,
		.user_abi = PERF_SAMPLE_REGS_ABI_32,
	};
	engine_feed(&g, &r);
	snprintf(text, sizeof(text), "%s", only_stack(&g));
	engine_done(&g);
	return text;
}

static void test_32_bits(void)
{
	tap_str(stack_of_32_bits(PERF_RECORD_MISC_USER, NULL, 0), "[truncated];a+0x2010",
		"32-bit code is not unwound, which is visible");
	tap_str(stack_of_32_bits(PERF_RECORD_MISC_KERNEL,
				 FEED_CHAIN(PERF_CONTEXT_KERNEL, KERNEL_PC(0x10))),
		"[truncated];k:ffffffff81000010", "in the kernel, too");
	tap_str(stack_of_32_bits(PERF_RECORD_MISC_USER,
				 FEED_CHAIN(PERF_CONTEXT_USER, 0x10010, 0x20021)),
		"b+0x20;a+0x2010", "callers found by the kernel are shown");
}

static void test_no_chain(void)
{
	struct engine g;
	feed_open(&g, 0);
	feed_mmap(&g, 7, 0x10000, 0x1000, 0x2000, "/bin/a");
	struct record r = feed_record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, 7, 7);
	r.event = 0;
	r.sample = (struct record_sample){ .ip = 0x10010, .period = 3 };
	engine_feed(&g, &r);
	tap_str(only_stack(&g), "a+0x2010", "without a callchain: the sampled address");
	r.misc = PERF_RECORD_MISC_KERNEL;
	r.event = 1;
	r.sample.ip = KERNEL_PC(5);
	engine_feed(&g, &r);
	tap_ok(feed_find(&g, 1, "k:ffffffff81000005"), "in the kernel, too");
	engine_done(&g);
}

static void test_counters(void)
{
	struct engine g;
	struct engine_options o = { .n_events = 1, .follow = true, .max_stack = 3 };
	feed_open_with(&g, &o);
	g.targets.all = true;
	feed_mmap(&g, 7, 0x10000, 0x1000, 0, "/bin/a");
	feed_sample(&g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, 0x10010, 0x10021));
	tap_ok(feed_find(&g, 0, "a+0x20;a+0x10"), "two frames of at most three are whole");
	tap_int((long long)g.walk.stats.n_truncated, 0, "and not counted as truncated");
	feed_sample(&g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, 0x10010, 0x10021, 0x10031));
	tap_ok(feed_find(&g, 0, "[truncated];a+0x30;a+0x20;a+0x10"),
	       "as many frames as the kernel delivers: a frame says that outer ones are missing");
	tap_int((long long)g.walk.stats.n_truncated, 1, "and counted as truncated");
	feed_sample(&g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_KERNEL, KERNEL_PC(1), KERNEL_PC(2),
					       PERF_CONTEXT_USER, 0x10010));
	tap_int((long long)g.walk.stats.n_truncated, 2, "kernel and user frames count together");
	feed_sample(&g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, 0x10010, 0x10021));
	tap_int((long long)feed_find(&g, 0, "a+0x20;a+0x10")->n_samples, 2,
		"a whole stack after a truncated one is whole");

	tap_int((long long)g.walk.stats.n_cut, 0, "nothing is cut so far");
	feed_sample(&g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, 0x10010, 0x90001));
	tap_int((long long)g.walk.stats.n_cut, 1, "a cut stack is counted");
	tap_int((long long)g.walk.stats.n_unknown, 0, "not as an unknown leaf");
	feed_sample(&g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, 0x90010, 0x10021));
	tap_int((long long)g.walk.stats.n_unknown, 1, "an unknown leaf is counted");
	tap_int((long long)g.walk.stats.n_cut, 1, "not as cut");
	engine_done(&g);
}

/* The meaning of an address changes over time. */
static void test_time(void)
{
	struct engine g;
	feed_open(&g, 0);
	feed_mmap(&g, 7, 0x10000, 0x1000, 0, "/bin/a");
	feed_mmap(&g, 7, 0x20000, 0x1000, 0, "/lib/old.so");
	feed_sample(&g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, 0x20010, 0x10021));
	feed_mmap(&g, 7, 0x20000, 0x1000, 0, "/lib/new.so");
	feed_sample(&g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, 0x20010, 0x10021));
	tap_ok(feed_find(&g, 0, "a+0x20;old.so+0x10") && feed_find(&g, 0, "a+0x20;new.so+0x10"),
	       "a library at the address of an unloaded one");
	feed_sample(&g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, 0x30010, 0x10021));
	tap_ok(feed_find(&g, 0, "a+0x20;[unknown]"), "an address before it is mapped");
	feed_mmap(&g, 7, 0x30000, 0x1000, 0, "/lib/late.so");
	feed_sample(&g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, 0x30010, 0x10021));
	tap_ok(feed_find(&g, 0, "a+0x20;late.so+0x10"), "the same address after it was mapped");

	feed_fork(&g, 7, 7, 8, 8);
	feed_sample(&g, 8, 8, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, 0x20010, 0x10021));
	tap_int((long long)feed_find(&g, 0, "a+0x20;new.so+0x10")->n_samples, 1,
		"a child has its parent's maps (other labels: a count of its own)");
	feed_comm(&g, 8, 8, "exec'ed", true);
	feed_mmap(&g, 8, 0x10000, 0x1000, 0, "/bin/other");
	feed_sample(&g, 8, 8, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, 0x10010, 0x20021));
	tap_ok(feed_find(&g, 0, "other+0x10"), "and its own maps after exec");
	feed_sample(&g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, 0x10010));
	tap_ok(feed_find(&g, 0, "a+0x10"), "the parent keeps its maps");
	engine_done(&g);
}

/* ---- the memo and the cache change nothing ----------------------------------------- */

/*
 * A process of PAGES pages that random files get mapped over; random chains, many
 * of which share their outer part with the one before; and a model that looks at
 * every address anew.
 */
#define PAGES 24
#define PAGE 0x1000u
#define BASE 0x100000u
#define DEPTH 12
#define SEEN_MAX 40000

struct model {
	int file[PAGES];  /* -1: nothing is mapped there */
	struct { char *text; uint64_t n; } seen[SEEN_MAX];
	size_t n_seen;
};

static void model_count(struct model *m, const char *text)
{
	for (size_t i = 0; i < m->n_seen; i++) {
		if (strcmp(m->seen[i].text, text) == 0) {
			m->seen[i].n++;
			return;
		}
	}
	if (m->n_seen < SEEN_MAX) {
		m->seen[m->n_seen].text = strdup(text);
		m->seen[m->n_seen++].n = 1;
	}
}

static void model_sample(struct model *m, const uint64_t *chain, size_t n, uint32_t max_stack)
{
	struct { uint64_t pc; bool kernel; } frame[2 * DEPTH + 2];
	size_t n_frames = 0;
	bool kernel = false, first = true;
	for (size_t i = 0; i < n; i++) {
		if (chain[i] >= (uint64_t)PERF_CONTEXT_MAX) {
			kernel = chain[i] == (uint64_t)PERF_CONTEXT_KERNEL;
			first = true;
			continue;
		}
		frame[n_frames].pc = first ? chain[i] : chain[i] - 1;
		frame[n_frames++].kernel = kernel;
		first = false;
	}
	char text[2048] = "";
	if (n_frames >= max_stack)
		strcpy(text, "[truncated]");
	for (size_t i = n_frames; i-- > 0;) {
		char one[64];
		uint64_t off = frame[i].pc - BASE;
		int file = off < PAGES * PAGE ? m->file[off / PAGE] : -1;
		if (frame[i].kernel) {
			snprintf(one, sizeof(one), "k:%" PRIx64, frame[i].pc);
		} else if (file >= 0) {
			snprintf(one, sizeof(one), "f%d+0x%" PRIx64, file, off);
		} else if (i > 0 && !frame[i - 1].kernel) {
			text[0] = '\0';
			continue;
		} else {
			snprintf(one, sizeof(one), "[unknown]");
		}
		if (text[0])
			strcat(text, ";");
		strcat(text, one);
	}
	model_count(m, text);
}

static size_t random_chain(uint64_t *chain)
{
	static uint64_t user[DEPTH];  /* root first; its outer part stays from call to call */
	size_t n = 0, keep = user[0] ? (size_t)rand() % DEPTH : 0,
	       depth = 1 + (size_t)rand() % DEPTH;
	for (size_t i = keep; i < DEPTH; i++)
		user[i] = BASE + (uint64_t)(rand() % (PAGES * 4)) * (PAGE / 4) + 1;
	if (rand() % 4 == 0) {
		chain[n++] = (uint64_t)PERF_CONTEXT_KERNEL;
		for (int i = rand() % 3; i >= 0; i--)
			chain[n++] = KERNEL_PC((uint64_t)(rand() % 8));
	}
	if (n == 0 || rand() % 4) {
		chain[n++] = (uint64_t)PERF_CONTEXT_USER;
		for (size_t i = depth; i-- > 0;)
			chain[n++] = user[i];
	}
	return n;
}

static void random_map(struct model *m, struct engine *a, struct engine *b)
{
	int first = rand() % PAGES, n = 1 + rand() % 4, file = rand() % 6;
	char path[16];
	if (first + n > PAGES)
		n = PAGES - first;
	snprintf(path, sizeof(path), "/f%d", file);
	uint64_t off = (uint64_t)first * PAGE;
	feed_mmap(a, 7, BASE + off, (uint64_t)n * PAGE, off, path);
	feed_mmap(b, 7, BASE + off, (uint64_t)n * PAGE, off, path);
	for (int i = first; i < first + n; i++)
		m->file[i] = file;
}

static void random_exec(struct model *m, struct engine *a, struct engine *b)
{
	feed_comm(a, 7, 7, "p", true);
	feed_comm(b, 7, 7, "p", true);
	for (int i = 0; i < PAGES; i++)
		m->file[i] = -1;
}

static bool same_as_model(const struct model *m, const struct engine *g)
{
	bool same = g->counts.n == m->n_seen && m->n_seen < SEEN_MAX;
	for (size_t i = 0; i < m->n_seen; i++) {
		const struct count *c = feed_find(g, 0, m->seen[i].text);
		if (!c || c->n_samples != m->seen[i].n) {
			printf("# %s: %llu, want %llu\n", m->seen[i].text,
			       c ? (unsigned long long)c->n_samples : 0,
			       (unsigned long long)m->seen[i].n);
			return false;
		}
	}
	return same;
}

static void test_random(unsigned seed)
{
	static struct model m;
	static struct engine a, b;
	struct engine_options o = { .n_events = 1, .follow = true, .max_stack = 8 };
	feed_open_with(&a, &o);
	feed_open_with(&b, &o);
	a.targets.all = b.targets.all = true;
	m = (struct model){ 0 };
	srand(seed);
	random_exec(&m, &a, &b);
	for (uint32_t i = 0; i < 600; i++) {
		uint64_t chain[2 * DEPTH + 4];
		if (rand() % 8 == 0)
			random_map(&m, &a, &b);
		if (rand() % 150 == 0)
			random_exec(&m, &a, &b);
		size_t n = random_chain(chain);
		model_sample(&m, chain, n, o.max_stack);
		/* the threads of a have memos; each thread of b is new and has none yet */
		feed_sample(&a, 7, 7 + (uint32_t)rand() % 3, 0, 1, chain, n);
		feed_sample(&b, 7, 1000 + i, 0, 1, chain, n);
	}
	tap_ok(same_as_model(&m, &a), "seed %u: stacks with memos are right", seed);
	tap_ok(same_as_model(&m, &b), "seed %u: stacks without memos are right", seed);
	tap_ok(a.walk.stats.n_cut == b.walk.stats.n_cut && a.walk.stats.n_cut &&
	       a.walk.stats.n_unknown == b.walk.stats.n_unknown && a.walk.stats.n_unknown &&
	       a.walk.stats.n_truncated == b.walk.stats.n_truncated && a.walk.stats.n_truncated,
	       "seed %u: the memo changes no counter", seed);
	for (size_t i = 0; i < m.n_seen; i++)
		free(m.seen[i].text);
	engine_done(&a);
	engine_done(&b);
}

/* The longest chain that fits into a record. */
static void test_deep(void)
{
	static uint64_t chain[8190];
	static struct engine g;
	feed_open(&g, 0);
	feed_mmap(&g, 7, 0x10000, 0x10000, 0, "/bin/a");
	chain[0] = (uint64_t)PERF_CONTEXT_USER;
	for (size_t i = 1; i < 8190; i++)
		chain[i] = 0x10000 + i;
	for (int twice = 0; twice < 2; twice++)
		feed_sample(&g, 7, 7, 0, 1, chain, 8190);
	uint32_t depth = 0;
	for (uint32_t node = g.counts.v[0].stack; node != STACKS_EMPTY; depth++)
		node = g.stacks.v[node].parent;
	tap_ok(g.counts.n == 1 && depth == 8189, "a stack of 8189 frames, twice");
	feed_sample(&g, 7, 7, 0, 1, chain, 2);
	tap_ok(feed_find(&g, 0, "a+0x1"), "then a short one");
	engine_done(&g);
}

int main(void)
{
	test_chains();
	test_calls();
	test_32_bits();
	test_no_chain();
	test_counters();
	test_time();
	for (unsigned seed = 1; seed <= 3; seed++)
		test_random(seed);
	test_deep();
	return tap_done();
}
