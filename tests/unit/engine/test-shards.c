/* The same records in one engine, and in several that are merged. */
#include "engine/shards.h"

#include "source/share.h"
#include "tests/unit/engine/engine-feed.h"
#include "tests/unit/tap.h"

#define SHARDS_MAX 5

static struct err e;

/* One engine that gets everything, and a total engine with its shards. */
struct both {
	struct engine one, total;
	struct shard shard[SHARDS_MAX];
	uint32_t n;
	uint64_t position;
};

/* Threads are divided by their id. */
static uint32_t n_readers;

static uint32_t reader_of(const struct source *s, uint32_t tid)
{
	(void)s;
	return tid % n_readers;
}

static const struct share_ops share_ops = { .reader_of = reader_of };
static const struct source_ops source_ops = { .share = &share_ops };
static const struct source source = { .ops = &source_ops };

static void open_both(struct both *b, uint32_t n, size_t max_memory_bytes)
{
	*b = (struct both){ .n = n };
	n_readers = n;
	feed_open(&b->one, max_memory_bytes);
	feed_open(&b->total, max_memory_bytes);
}

static void open_shards(struct both *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (shards_init(&b->shard[i], &b->total, &source, i, b->n, &e) < 0)
			abort();
}

static void close_both(struct both *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		shards_done(&b->shard[i]);
	engine_done(&b->one);
	engine_done(&b->total);
}

static void put(struct both *b, const struct record *r)
{
	b->position++;
	engine_feed(&b->one, r);
	if (r->type != PERF_RECORD_SAMPLE)
		engine_feed(&b->total, r);
	for (uint32_t i = 0; i < b->n; i++)
		shards_feed(&b->shard[i], r, (struct share_place){ 1, b->position });
}

static void put_comm(struct both *b, uint32_t pid, uint32_t tid, const char *name, bool exec)
{
	struct record r = feed_record(PERF_RECORD_COMM, 0, pid, tid);
	r.comm = (struct record_comm){ .comm = name, .exec = exec };
	put(b, &r);
}

static void put_map(struct both *b, uint32_t pid, uint64_t start, const char *name, uint64_t ino)
{
	struct record r = feed_record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, pid, pid);
	r.mmap = (struct record_mmap){
		.start = start, .len = 0x10000, .prot = PROT_READ | PROT_EXEC, .filename = name,
		.maj = 8, .min = 1, .ino = ino,
	};
	put(b, &r);
}

static void put_sample(struct both *b, uint32_t pid, uint32_t tid, const uint64_t *chain, size_t n)
{
	struct record r = feed_record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, pid, tid);
	r.event = b->position % 3 == 0;
	r.cpu = (uint32_t)(b->position % 4);
	r.sample = (struct record_sample){
		.period = 10, .callchain = chain, .n_callchain = n, .ip = chain[1],
	};
	put(b, &r);
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Threads of three programs, which come and go, in files that all or some of them have mapped. */
static void put_many(struct both *b, uint32_t seed, unsigned n)
{
	static const char *const lib[] = { "/lib/x.so", "/lib/y.so", "/lib/z.so" };
	uint32_t state = seed;
	for (unsigned i = 0; i < n; i++) {
		uint32_t pid = 100 + next_random(&state) % 3 * 100;
		uint32_t tid = pid + next_random(&state) % 7, what = next_random(&state) % 40;
		feed_time_ns++;
		if (what == 0) {
			put_comm(b, pid, tid, next_random(&state) % 2 ? "worker" : "io", false);
		} else if (what == 1) {
			uint32_t k = next_random(&state) % 3;
			put_map(b, pid, 0x100000 * (1 + k), lib[k], 50 + k);
		} else if (what == 2) {
			struct record r = feed_record(PERF_RECORD_EXIT, 0, pid, tid);
			r.fork = (struct record_fork){ pid, pid, feed_time_ns };
			r.cpu = (uint32_t)((b->position + 1) % 4);
			put(b, &r);
			/* The kernel samples it once more. */
			put_sample(b, UINT32_MAX, UINT32_MAX,
				   (uint64_t[]){ (uint64_t)PERF_CONTEXT_USER, 0x10010 }, 2);
		} else {
			uint64_t chain[10] = { (uint64_t)PERF_CONTEXT_USER };
			size_t depth = 2 + next_random(&state) % 8;
			for (size_t d = 1; d < depth; d++)
				chain[d] = 0x100000 * (next_random(&state) % 4) + 0x10 +
					   next_random(&state) % 6 * 0x100;
			put_sample(b, pid, tid, chain, depth);
		}
	}
}

static void put_programs(struct both *b)
{
	for (uint32_t pid = 100; pid <= 300; pid += 100) {
		put_comm(b, pid, pid, pid == 100 ? "first" : "other", true);
		put_map(b, pid, 0x10000, pid == 100 ? "/bin/first" : "/bin/other", pid);
	}
}

static bool are_same_labels(const struct both *b, uint32_t one, uint32_t total)
{
	char text[4096];
	snprintf(text, sizeof(text), "%s", feed_labels_text(&b->one, one));
	return strcmp(text, feed_labels_text(&b->total, total)) == 0;
}

static bool are_same_stacks(const struct both *b, uint32_t one, uint32_t total)
{
	static char text[65536];
	snprintf(text, sizeof(text), "%s", feed_stack_text(&b->one, one));
	return strcmp(text, feed_stack_text(&b->total, total)) == 0;
}

/* The same counts in the same order, with the same ids of stacks and frames. */
static bool is_same(const struct both *b)
{
	const struct counts *x = &b->one.counts, *y = &b->total.counts;
	bool same = x->n == y->n && b->one.stacks.n == b->total.stacks.n &&
		    b->one.frames.n == b->total.frames.n;
	for (uint32_t i = 0; same && i < x->n; i++)
		same = x->v[i].stack == y->v[i].stack && x->v[i].event == y->v[i].event &&
		       x->v[i].n_samples == y->v[i].n_samples && x->v[i].value == y->v[i].value &&
		       are_same_stacks(b, x->v[i].stack, y->v[i].stack) &&
		       are_same_labels(b, x->v[i].labels, y->v[i].labels);
	return same;
}

static bool has_same_numbers(const struct both *b)
{
	bool same = b->one.n_born == b->total.n_born &&
		    b->one.window.first_ns == b->total.window.first_ns &&
		    b->one.window.last_ns == b->total.window.last_ns &&
		    memcmp(&b->one.walk.stats, &b->total.walk.stats,
			   sizeof(b->one.walk.stats)) == 0;
	for (size_t i = 0; i < 2; i++)
		same &= memcmp(&b->one.event[i], &b->total.event[i], sizeof(b->one.event[i])) == 0;
	return same;
}

static void test_same(void)
{
	static struct both b;
	for (uint32_t n = 1; n <= SHARDS_MAX; n++) {
		open_both(&b, n, 0);
		open_shards(&b);
		put_programs(&b);
		put_many(&b, n, 3000);
		bool empty = b.total.counts.n == 0;
		bool ok = shards_absorb(b.shard, n, &b.total, &e) == 0 && is_same(&b);
		tap_ok(empty && ok, "%u shards: the profile of one engine, with its ids", n);
		tap_ok(has_same_numbers(&b), "and its numbers");
		ok = shards_absorb(b.shard, n, &b.total, &e) == 0 && is_same(&b) &&
		     has_same_numbers(&b);
		tap_ok(ok, "merging again adds nothing");
		close_both(&b);
	}
}

/* Later shards know the processes that came before, and keep their tables when counts move. */
static void test_later(void)
{
	static struct both b;
	open_both(&b, 3, 0);
	uint32_t n = b.n;
	b.n = 0;
	put_programs(&b);
	put_many(&b, 1, 500);
	/* One engine has read until now. */
	engine_done(&b.total);
	engine_done(&b.one);
	feed_open(&b.one, 0);
	feed_open(&b.total, 0);
	for (int i = 0; i < 2; i++) {
		struct engine *g = i ? &b.one : &b.total;
		feed_comm(g, 100, 100, "first", true);
		feed_mmap(g, 100, 0x10000, 0x10000, 0, "/bin/first");
		feed_comm(g, 100, 101, "worker", false);
		feed_mmap(g, 100, 0x40000, 0x10000, 0, "//anon");
	}
	b.n = n;
	open_shards(&b);
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, 0x10010, 0x40020 };
	put_sample(&b, 100, 101, chain, 3);
	put_sample(&b, 100, 102, chain, 3);
	shards_absorb(b.shard, n, &b.total, &e);
	tap_ok(is_same(&b), "shards know earlier mappings and names");
	put_sample(&b, 100, 102, chain, 3);
	put_sample(&b, 100, 100, chain, 2);
	shards_absorb(b.shard, n, &b.total, &e);
	tap_ok(is_same(&b) && has_same_numbers(&b), "later counts are added to those before");
	for (uint32_t i = 0; i < n; i++) {
		shards_collect(&b.shard[i]);
		shards_clear(&b.shard[i]);
	}
	put_sample(&b, 100, 101, chain, 3);
	put_sample(&b, 100, 107, chain, 2);
	shards_absorb(b.shard, n, &b.total, &e);
	tap_ok(is_same(&b), "also after their garbage was collected");
	close_both(&b);
}

static void test_memory(void)
{
	static struct both b;
	uint64_t n_one, n_total, value;
	const size_t limit = 1 << 20;
	open_both(&b, 3, limit);
	open_shards(&b);
	put_programs(&b);
	size_t used = 0;
	for (uint32_t round = 0; round < 30; round++) {
		put_many(&b, round, 1000);
		shards_add_up(b.shard, b.n, &b.total);
	}
	for (uint32_t i = 0; i < b.n; i++)
		used += b.shard[i].engine.budget.used_bytes;
	tap_ok(used + b.total.budget.used_bytes < limit + limit / 4,
	       "all together keep to the limit: %zu of %zu bytes", used, limit);
	shards_absorb(b.shard, b.n, &b.total, &e);
	feed_sums(&b.one, 0, &n_one, &value);
	feed_sums(&b.total, 0, &n_total, &value);
	tap_ok(n_one == n_total && n_one > 10000, "no sample is lost when memory is short");
	tap_ok(b.total.walk.stats.n_dropped > 0, "what has no stack is counted");
	close_both(&b);
}

int main(void)
{
	test_same();
	test_later();
	test_memory();
	return tap_done();
}
