/*
 * Whole recordings as text: each scene below writes a stream of raw kernel records, which passes
 * through every stage of a recording (replay source, engine, names, profile) and becomes a profile
 * whose text must equal tests/golden/SCENE.txt.
 *
 * 	CPROF_SOURCE_ROOT=. test-golden --write    writes the expected texts anew
 *
 * The mapped files do not exist, so that their names are substitutes and do not depend on the
 * machine.
 */

#include "base/err.h"
#include "engine/engine.h"
#include "tests/tools/replay.h"
#include "tests/unit/profile/profile-text.h"
#include "tests/unit/source/record-build.h"
#include "tests/unit/tap.h"

#include <linux/perf_event.h>
#include <sys/mman.h>

#define EVENTS_MAX 2

struct scene {
	struct record_build b;
	uint64_t time_ns;
	uint32_t pid, tid, cpu;
};

/* ---- the words of scenes ----------------------------------------------------------- */

static struct record_build_id here(struct scene *s, uint64_t id)
{
	return (struct record_build_id){
		.pid = s->pid, .tid = s->tid, .time_ns = s->time_ns, .id = id, .stream_id = id,
		.cpu = s->cpu,
	};
}

/* From now on that thread acts, beginning at this time. */
static void at(struct scene *s, uint64_t time_ns, uint32_t pid, uint32_t tid)
{
	s->time_ns = time_ns;
	s->pid = pid;
	s->tid = tid;
}

static void mmaps(struct scene *s, uint64_t start, uint64_t len, uint64_t pgoff, uint64_t ino,
		  const char *filename)
{
	struct record_build_id id = here(s, 1);
	struct record_mmap m = {
		.start = start, .len = len, .pgoff = pgoff, .maj = 8, .min = 1, .ino = ino,
		.prot = PROT_READ | PROT_EXEC, .flags = MAP_PRIVATE, .filename = filename,
	};
	record_build_mmap2(&s->b, &id, &m);
}

static void is_named(struct scene *s, const char *name)
{
	struct record_build_id id = here(s, 1);
	record_build_comm(&s->b, &id, name, false);
}

static void execs(struct scene *s, const char *name)
{
	struct record_build_id id = here(s, 1);
	record_build_comm(&s->b, &id, name, true);
}

static void forks(struct scene *s, uint32_t pid, uint32_t tid)
{
	struct record_build_id id = here(s, 1);
	id.pid = pid;
	id.tid = tid;
	record_build_fork(&s->b, &id, s->pid, s->tid);
}

static void exits(struct scene *s)
{
	struct record_build_id id = here(s, 1);
	record_build_exit(&s->b, &id, s->pid, s->pid);
}

/* Events 0 and 1 have ids 1 and 2; each sample has a period; the callchain is innermost first. */
static void samples(struct scene *s, uint32_t event, uint64_t period, const uint64_t *chain,
		    uint64_t n)
{
	struct record_build_id id = here(s, event + 1);
	bool kernel = chain[0] == (uint64_t)PERF_CONTEXT_KERNEL;
	record_build_sample(&s->b, &id, kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
			    chain[1], period, chain, n);
}
#define USER(...) (const uint64_t[]){ (uint64_t)PERF_CONTEXT_USER, __VA_ARGS__ }, \
	1 + sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t)
#define KERNEL_THEN(kernel_pc, ...) (const uint64_t[]){ (uint64_t)PERF_CONTEXT_KERNEL, kernel_pc, \
	(uint64_t)PERF_CONTEXT_USER, __VA_ARGS__ }, \
	3 + sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t)

static void begins(struct scene *s, const char *name)
{
	execs(s, name);
	mmaps(s, 0x400000, 0x10000, 0, 100, "/nowhere/bin/prog");
	mmaps(s, 0x7f0000000000, 0x10000, 0, 200, "/nowhere/lib/libc.so.6");
}

/* ---- the scenes ---------------------------------------------------------------------- */

static void fork_and_exec(struct scene *s)
{
	at(s, 100, 10, 10);
	begins(s, "prog");
	samples(s, 0, 1000, USER(0x401000, 0x402005));
	at(s, 200, 10, 10);
	forks(s, 10, 11);
	at(s, 210, 10, 11);
	is_named(s, "worker");
	samples(s, 0, 1000, USER(0x7f0000001000, 0x403005));
	samples(s, 0, 1000, USER(0x7f0000001000, 0x403005));
	at(s, 300, 10, 11);
	forks(s, 20, 20);
	at(s, 310, 20, 20);
	samples(s, 0, 1000, USER(0x404000, 0x402005));
	execs(s, "child");
	mmaps(s, 0x400000, 0x10000, 0, 300, "/nowhere/bin/child");
	at(s, 320, 20, 20);
	samples(s, 0, 1000, USER(0x404000, 0x402005));
	samples(s, 0, 1000, KERNEL_THEN(0xffffffff81000000, 0x404000, 0x402005));
	exits(s);
	samples(s, 0, 1000, USER(0x404000, 0x402005));
	at(s, 400, 10, 10);
	samples(s, 0, 1000, USER(0x401000, 0x402005));
}

static void dlopen_at_same_address(struct scene *s)
{
	at(s, 100, 10, 10);
	begins(s, "prog");
	for (unsigned i = 0; i < 4; i++) {
		at(s, 200 + i * 100, 10, 10);
		mmaps(s, 0x7e0000000000, 0x8000, 0x1000, 500 + i % 2,
		      i % 2 ? "/nowhere/lib/libodd.so" : "/nowhere/lib/libeven.so");
		at(s, 210 + i * 100, 10, 10);
		samples(s, 0, 1000 + i, USER(0x7e0000000100, 0x401005));
		/* a part of it is replaced by another mapping */
		mmaps(s, 0x7e0000004000, 0x1000, 0, 600, "/nowhere/lib/libpart.so");
		at(s, 220 + i * 100, 10, 10);
		samples(s, 0, 1000 + i, USER(0x7e0000004100, 0x7e0000005101, 0x401005));
	}
}

static void lost_and_throttled(struct scene *s)
{
	at(s, 100, 10, 10);
	begins(s, "prog");
	for (unsigned i = 0; i < 3; i++) {
		at(s, 200 + i, 10, 10);
		samples(s, 0, 1000, USER(0x401000));
	}
	struct record_build_id id = here(s, 1);
	record_build_lost(&s->b, &id, 7);
	record_build_throttle(&s->b, &id, true);
	at(s, 300, 10, 10);
	id = here(s, 1);
	record_build_throttle(&s->b, &id, false);
	record_build_lost(&s->b, &id, 2);
	samples(s, 0, 1000, USER(0x401000));
}

static void two_events(struct scene *s)
{
	at(s, 100, 10, 10);
	begins(s, "prog");
	for (unsigned i = 0; i < 6; i++) {
		s->cpu = i % 2;
		at(s, 200 + i, 10, 10);
		samples(s, 0, 1000, USER(0x401000 + i % 3, 0x402005));
		samples(s, 1, 1, KERNEL_THEN(0xffffffff81000000 + i % 2, 0x401000, 0x402005));
	}
}

static void out_of_order(struct scene *s)
{
	at(s, 100, 10, 10);
	begins(s, "prog");
	at(s, 300, 10, 10);
	samples(s, 0, 1000, USER(0x7e0000000100, 0x401005));
	at(s, 200, 10, 10);
	mmaps(s, 0x7e0000000000, 0x8000, 0, 500, "/nowhere/lib/liblate.so");
	at(s, 310, 10, 10);
	samples(s, 0, 1000, USER(0x7e0000000100, 0x401005));
	at(s, 305, 10, 10);
	is_named(s, "renamed");
	samples(s, 0, 1000, USER(0x7e0000000100, 0x401005));
}

/* Code without a file: cut stacks, unknown leaves, JIT code, the vdso. */
static void odd_addresses(struct scene *s)
{
	at(s, 100, 10, 10);
	begins(s, "prog");
	mmaps(s, 0x7d0000000000, 0x10000, 0, 0, "//anon");
	mmaps(s, 0x7ffff7fc0000, 0x2000, 0, 0, "[vdso]");
	mmaps(s, 0xffffffffff600000, 0x1000, 0, 0, "[vsyscall]");
	mmaps(s, 0x7c0000000000, 0x1000, 0, 700, "/nowhere/lib/gone.so (deleted)");
	at(s, 200, 10, 10);
	samples(s, 0, 1000, USER(0x7d0000000100, 0x401005));
	samples(s, 0, 1000, USER(0x7ffff7fc0100, 0x401005));
	samples(s, 0, 1000, USER(0x7c0000000100, 0x401005));
	samples(s, 0, 1000, USER(0x666000000000, 0x401005));
	samples(s, 0, 1000, USER(0x401000, 0x666000000000, 0x402005));
	samples(s, 0, 1000, KERNEL_THEN(0xffffffff81000000, 0x666000000000));
}

static const struct {
	const char *name;
	void (*write)(struct scene *s);
	uint32_t n_events;
} scenes[] = {
	{ "fork-and-exec", fork_and_exec, 1 },
	{ "dlopen-at-same-address", dlopen_at_same_address, 1 },
	{ "lost-and-throttled", lost_and_throttled, 1 },
	{ "two-events", two_events, 2 },
	{ "out-of-order", out_of_order, 1 },
	{ "odd-addresses", odd_addresses, 1 },
};
#define N_SCENES (sizeof(scenes) / sizeof(*scenes))

/* ---- from a stream to text ---------------------------------------------------------------- */

static void must(bool ok, const char *what)
{
	if (!ok) {
		printf("Bail out! %s\n", what);
		exit(1);
	}
}

/* The stream with its header, aligned by malloc. */
static char *make_stream(size_t i, size_t *ret_n)
{
	struct scene s = { 0 };
	struct record_format format = record_build_format();
	struct source_facts facts = { .kernel_release = "6.1.0", .arch = "x86_64", .n_cpus = 2 };
	struct replay_event events[EVENTS_MAX] = {
		{ .name = "cpu-clock", .id = 1, .event = 0, .is_clock = 1 },
		{ .name = "page-faults", .id = 2, .event = 1 },
	};
	char *text = NULL;
	struct err e = { 0 };
	FILE *f = open_memstream(&text, ret_n);
	must(f && replay_write_header(f, &format, &facts, events, scenes[i].n_events, &e) == 0,
	     e.what);
	scenes[i].write(&s);
	must(fwrite(s.b.v, s.b.n_bytes, 1, f) == 1 && fclose(f) == 0, "cannot write the stream");
	record_build_done(&s.b);
	return text;
}

static void write_losses(const struct engine *g, const struct source *source, FILE *f)
{
	const struct { uint64_t n; const char *what; } losses[] = {
		{ g->walk.stats.n_cut, "cut" }, { g->walk.stats.n_unknown, "unknown" },
		{ g->walk.stats.n_truncated, "truncated" }, { g->walk.stats.n_dropped, "dropped" },
		{ source->losses.n_out_of_order, "out of order" },
		{ source->losses.n_undecodable, "undecodable" },
		{ source->losses.n_unknown, "of unknown type" },
	};
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++)
		if (losses[i].n)
			fprintf(f, "%" PRIu64 " %s\n", losses[i].n, losses[i].what);
}

static void write_event(struct engine *g, uint32_t event, FILE *f)
{
	static const char *const type[EVENTS_MAX] = { "cpu", "page_faults" };
	static const char *const unit[EVENTS_MAX] = { "nanoseconds", "count" };
	const struct engine_event *ev = &g->event[event];
	if (ev->n_lost_records)
		engine_add_lost(g, event, ev->n_lost_records,
				ev->n_lost_records * (ev->value / ev->n_samples));
	struct export_info info = {
		.type = type[event], .unit = unit[event], .period = 1000, .time_ns = 1,
		.duration_ns = 1, .optional_labels = SAMPLELABELS_DEFAULT, .level = 1,
	};
	struct profile *p = profile_text_make(g, event, &info);
	must(p, "no profile");
	tap_int((long long)profile_text_errors(p), 0, "consumers take it");
	fprintf(f, "event %u: %" PRIu64 " samples, %" PRIu64 " lost, %" PRIu64 " throttles\n",
		event, ev->n_samples, ev->n_lost, ev->n_throttles);
	profile_text_write(p, f);
	profile_free(p);
}

static char *play(size_t i)
{
	size_t n_stream, n_text;
	char *stream = make_stream(i, &n_stream), *text = NULL;
	struct source *source;
	struct engine g;
	struct record r;
	struct err e = { 0 };
	struct engine_options o = { .n_events = scenes[i].n_events, .follow = true,
				    .labels = SAMPLELABELS_DEFAULT };
	must(replay_open_memory(stream, n_stream, &source, &e) == 0, e.what);
	must(engine_init(&g, &o, &e) == 0, e.what);
	targets_add_pid(&g.targets, 10);
	int code;
	while ((code = source_next(source, &r, &e)) == SOURCE_RECORD)
		engine_feed(&g, &r);
	tap_int(code, SOURCE_END, "the stream is read to its end");
	FILE *f = open_memstream(&text, &n_text);
	must(f, "no memory");
	for (uint32_t k = 0; k < scenes[i].n_events; k++)
		write_event(&g, k, f);
	write_losses(&g, source, f);
	must(fclose(f) == 0, "no memory");
	engine_done(&g);
	source_close(source);
	free(stream);
	return text;
}

static void show_difference(const char *got, const char *want)
{
	while (*got || *want) {
		size_t n = strcspn(got, "\n"), k = strcspn(want, "\n");
		if (n != k || strncmp(got, want, n) != 0)
			printf("#  got %.*s\n# want %.*s\n", (int)n, got, (int)k, want);
		got += n + (got[n] == '\n');
		want += k + (want[k] == '\n');
	}
}

int main(int argc, char **argv)
{
	const char *root = getenv("CPROF_SOURCE_ROOT");
	bool write = argc > 1 && strcmp(argv[1], "--write") == 0;
	for (size_t i = 0; i < N_SCENES; i++) {
		char path[4096], want[65536] = "";
		snprintf(path, sizeof(path), "%s/tests/golden/%s.txt", root ? root : ".",
			 scenes[i].name);
		char *got = play(i);
		FILE *f = fopen(path, write ? "w" : "r");
		if (f && write)
			fputs(got, f);
		else if (f)
			want[fread(want, 1, sizeof(want) - 1, f)] = '\0';
		if (f)
			fclose(f);
		if (!write && !tap_ok(strcmp(got, want) == 0, "%s", scenes[i].name))
			show_difference(got, want);
		free(got);
	}
	return tap_done();
}
