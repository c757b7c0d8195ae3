/*
 * Pitfalls of measuring waits, one scene each: a stream of raw kernel records, which passes through
 * the replay source and the engine, and what must be counted.  Times are in ns; each recording
 * begins at 0 and ends at 1000.
 *
 *	pitfall                                    scene, or another test
 *	switches without samples                   unsampled (exclude_kernel, a lost sample)
 *	only some switches are sampled             thinned, every_second
 *	switches of other tasks, of the idle task  foreign
 *	a wait at the start, at the end            at_start, at_end
 *	a wait that a file of a series cuts        cut
 *	exit, exec and death during a wait         exits, execs, killed
 *	switches of a task that has exited         after_exit
 *	EXIT of a task that lives on               set_user_id
 *	an id that is used again, EXIT lost        id_again
 *	in before out, from another CPU            reordered, migrated
 *	lost records: in, out, or both             lost_in, lost_out, lost_all
 *	preempted is not blocked                   preempted
 *	throttled by a cgroup, then stopped        throttled; tests/live/waits-limits.sh
 *	a new thread waits for its CPU             born
 *	fork inherits, vfork blocks the parent     vforks, forks; tests/live/waits-lives.sh
 *	an interrupt, or a signal, as the waker    wakers
 *	io_uring, containers                       tests/live/waits-lives.sh, waits-limits.sh
 *	an event that opens and never samples      tests/live/waits.sh
 *	timers, idle pools, totals beyond time     tests/live/waits.sh, waits-idle.sh
 */

#include "base/err.h"
#include "engine/engine-waits.h"
#include "tests/tools/replay.h"
#include "tests/unit/engine/engine-result.h"
#include "tests/unit/source/record-build.h"
#include "tests/unit/tap.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/mman.h>

#define END_NS 1000
#define SAMPLE_TYPE (RECORD_BUILD_SAMPLE_TYPE | PERF_SAMPLE_RAW)

/* Code of the kernel: of locks, of clone(2), and other. */
#define LOCKS UINT64_C(0xffffffff81000010)
#define CLONES UINT64_C(0xffffffff81001010)
#define OTHER UINT64_C(0xffffffff82000010)

/* Places in the program. */
enum { READS = 0x401000, LOCKS_IT = 0x402000, UNLOCKS = 0x403000, NEXT = 0x404000 };

enum { EVENT_OFF, EVENT_WAKE, N_EVENTS };

struct scene {
	struct record_build b;
	uint64_t time_ns;
	uint32_t pid, tid, cpu;
};

/* ---- the words of scenes ------------------------------------------------------------- */

/* From now on that thread acts, at that time. */
static void at(struct scene *s, uint64_t time_ns, uint32_t pid, uint32_t tid)
{
	s->time_ns = time_ns;
	s->pid = pid;
	s->tid = tid;
}

static struct record_build_id here(const struct scene *s, uint64_t event)
{
	return (struct record_build_id){ .pid = s->pid, .tid = s->tid, .time_ns = s->time_ns,
					 .id = event + 1, .stream_id = event + 1, .cpu = s->cpu };
}

static void put_sample(struct scene *s, uint64_t event, uint64_t kernel, uint64_t user,
		       const uint8_t *raw, uint32_t n_raw)
{
	const uint64_t chain[] = { PERF_CONTEXT_KERNEL, kernel, PERF_CONTEXT_USER, user };
	const struct record_build_id id = here(s, event);
	record_build_sample(&s->b, &id, PERF_RECORD_MISC_KERNEL, kernel, 1, chain, 4);
	/* The raw data follow: their size, a multiple of 8 less 4. */
	record_build_bytes(&s->b, &n_raw, sizeof(n_raw));
	record_build_bytes(&s->b, raw, n_raw);
	record_build_end(&s->b);
}

static void put_switch(struct scene *s, uint16_t misc)
{
	const struct record_build_id id = here(s, EVENT_OFF);
	record_build_begin(&s->b, PERF_RECORD_SWITCH, misc);
	record_build_finish(&s->b, &id);
}

static void out(struct scene *s)
{
	put_switch(s, PERF_RECORD_MISC_SWITCH_OUT);
}

static void in(struct scene *s)
{
	put_switch(s, 0);
}

/* It begins to wait. */
static void waits_in(struct scene *s, uint64_t kernel, uint64_t user)
{
	static const uint8_t none[4];
	put_sample(s, EVENT_OFF, kernel, user, none, sizeof(none));
	out(s);
}

static void is_preempted(struct scene *s, uint64_t user)
{
	static const uint8_t none[4];
	put_sample(s, EVENT_OFF, OTHER, user, none, sizeof(none));
	put_switch(s, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
}

/* It is current while tid is woken; flags say whether in an interrupt. */
static void wakes(struct scene *s, uint32_t tid, uint64_t kernel, uint8_t flags)
{
	uint8_t raw[36] = { [2] = flags };
	memcpy(raw + 24, &tid, sizeof(tid));
	put_sample(s, EVENT_WAKE, kernel, UNLOCKS, raw, sizeof(raw));
}

static void execs_unmapped(struct scene *s, const char *name)
{
	const struct record_build_id id = here(s, EVENT_OFF);
	record_build_comm(&s->b, &id, name, true);
}

static void maps(struct scene *s)
{
	const struct record_build_id id = here(s, EVENT_OFF);
	const struct record_mmap m = {
		.start = 0x400000, .len = 0x10000, .maj = 8, .min = 1, .ino = 100,
		.prot = PROT_READ | PROT_EXEC, .flags = MAP_PRIVATE, .filename = "/nowhere/prog",
	};
	record_build_mmap2(&s->b, &id, &m);
}

static void executes(struct scene *s, const char *name)
{
	execs_unmapped(s, name);
	maps(s);
}

static void creates(struct scene *s, uint32_t pid, uint32_t tid)
{
	struct record_build_id id = here(s, EVENT_OFF);
	id.pid = pid;
	id.tid = tid;
	record_build_fork(&s->b, &id, s->pid, s->tid);
}

static void ends(struct scene *s)
{
	const struct record_build_id id = here(s, EVENT_OFF);
	record_build_exit(&s->b, &id, s->pid, s->pid);
}

static void loses(struct scene *s)
{
	const struct record_build_id id = here(s, EVENT_OFF);
	record_build_lost(&s->b, &id, 3);
}

/* A wait of one time to another, of thread 11. */
static void waits_from_to(struct scene *s, uint64_t from_ns, uint64_t to_ns, uint64_t user)
{
	at(s, from_ns, 10, 11);
	waits_in(s, OTHER, user);
	at(s, to_ns, 10, 11);
	in(s);
}

/* ---- the scenes ------------------------------------------------------------------------ */

static void unsampled(struct scene *s)
{
	at(s, 100, 10, 11);
	out(s);
	at(s, 300, 10, 11);
	in(s);
}

static void every_second(struct scene *s)
{
	waits_from_to(s, 100, 200, READS);
	at(s, 300, 10, 11);
	out(s);
	at(s, 350, 10, 11);
	in(s);
}

static void foreign(struct scene *s)
{
	at(s, 100, 99, 99);
	waits_in(s, OTHER, READS);
	at(s, 110, 0, 0);
	in(s);
	out(s);
	at(s, 150, 10, 11);
	waits_in(s, OTHER, READS);
	at(s, 160, 99, 99);
	in(s);
	out(s);
	at(s, 200, 10, 11);
	in(s);
}

static void at_start(struct scene *s)
{
	at(s, 400, 10, 10);
	in(s);
}

static void at_end(struct scene *s)
{
	at(s, 900, 10, 11);
	waits_in(s, OTHER, READS);
}

static void exits(struct scene *s)
{
	at(s, 100, 10, 11);
	waits_in(s, OTHER, READS);
	at(s, 400, 10, 11);
	ends(s);
}

static void execs(struct scene *s)
{
	at(s, 100, 10, 10);
	waits_in(s, OTHER, READS);
	at(s, 150, 10, 12);
	waits_in(s, OTHER, NEXT);
	at(s, 300, 10, 10);
	in(s);
	at(s, 310, 10, 10);
	ends(s);
	at(s, 320, 10, 12);
	in(s);
	ends(s);
	/* Thread 11 executes, and has the id of the first one from then on. */
	at(s, 350, 10, 10);
	executes(s, "next");
	at(s, 400, 10, 10);
	waits_in(s, OTHER, NEXT);
	at(s, 500, 10, 10);
	in(s);
}

static void killed(struct scene *s)
{
	at(s, 100, 10, 11);
	waits_in(s, LOCKS, LOCKS_IT);
	at(s, 700, 10, 10);
	wakes(s, 11, OTHER, 0);
	at(s, 705, 10, 11);
	in(s);
	at(s, 710, 10, 11);
	ends(s);
	at(s, 712, 10, 11);
	out(s);
}

static void after_exit(struct scene *s)
{
	at(s, 100, 10, 11);
	ends(s);
	at(s, 110, 10, 11);
	put_switch(s, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	at(s, 200, 10, 11);
	in(s);
	at(s, 210, 10, 11);
	waits_in(s, OTHER, READS);
}

static void set_user_id(struct scene *s)
{
	at(s, 100, 10, 10);
	execs_unmapped(s, "su");
	at(s, 110, 10, 10);
	ends(s);
	at(s, 120, 10, 10);
	maps(s);
	at(s, 200, 10, 10);
	waits_in(s, OTHER, READS);
	at(s, 500, 10, 10);
	in(s);
}

static void id_again(struct scene *s)
{
	at(s, 100, 10, 11);
	waits_in(s, OTHER, READS);
	/* Its end is lost; another process gets a thread with that id. */
	at(s, 300, 10, 10);
	creates(s, 20, 11);
	at(s, 320, 20, 11);
	in(s);
	at(s, 400, 20, 11);
	waits_in(s, OTHER, NEXT);
	at(s, 500, 20, 11);
	in(s);
}

static void reordered(struct scene *s)
{
	at(s, 210, 10, 11);
	in(s);
	at(s, 200, 10, 11);
	waits_in(s, OTHER, READS);
	at(s, 300, 10, 11);
	in(s);
	at(s, 290, 10, 11);
	in(s);
}

static void migrated(struct scene *s)
{
	s->cpu = 0;
	at(s, 100, 10, 11);
	waits_in(s, OTHER, READS);
	s->cpu = 1;
	at(s, 200, 10, 11);
	in(s);
	at(s, 300, 10, 11);
	waits_in(s, OTHER, NEXT);
	s->cpu = 0;
	at(s, 350, 10, 11);
	in(s);
}

static void lost_in(struct scene *s)
{
	at(s, 100, 10, 11);
	waits_in(s, OTHER, READS);
	at(s, 300, 10, 11);
	waits_in(s, OTHER, NEXT);
	at(s, 400, 10, 11);
	in(s);
}

static void lost_out(struct scene *s)
{
	waits_from_to(s, 100, 200, READS);
	at(s, 400, 10, 11);
	in(s);
	waits_from_to(s, 500, 600, NEXT);
}

static void lost_all(struct scene *s)
{
	at(s, 100, 10, 11);
	waits_in(s, OTHER, READS);
	/* What follows is lost, until it waits again. */
	at(s, 300, 10, 10);
	loses(s);
	at(s, 400, 10, 11);
	in(s);
	waits_from_to(s, 500, 600, NEXT);
}

static void preempted(struct scene *s)
{
	at(s, 100, 10, 11);
	is_preempted(s, READS);
	at(s, 300, 10, 11);
	in(s);
	waits_from_to(s, 400, 450, READS);
}

static void throttled(struct scene *s)
{
	at(s, 100, 10, 11);
	is_preempted(s, READS);
	at(s, 180, 10, 11);
	in(s);
	waits_from_to(s, 200, 800, READS);
}

static void born(struct scene *s)
{
	at(s, 100, 10, 10);
	creates(s, 10, 12);
	at(s, 140, 10, 12);
	in(s);
	at(s, 200, 10, 12);
	waits_in(s, OTHER, READS);
	at(s, 300, 10, 12);
	in(s);
	ends(s);
}

static void vforks(struct scene *s)
{
	at(s, 100, 10, 10);
	creates(s, 20, 20);
	waits_in(s, CLONES, READS);
	at(s, 110, 20, 20);
	in(s);
	at(s, 200, 20, 20);
	waits_in(s, OTHER, NEXT);
	at(s, 350, 20, 20);
	in(s);
	executes(s, "child");
	at(s, 360, 10, 10);
	in(s);
	at(s, 400, 20, 20);
	ends(s);
}

/* The first child runs before its parent waits; the second one is created by another call than the
 * one in which the parent waits next. */
static void forks(struct scene *s)
{
	at(s, 100, 10, 10);
	creates(s, 20, 20);
	at(s, 110, 20, 20);
	in(s);
	at(s, 120, 10, 10);
	waits_in(s, CLONES, READS);
	at(s, 150, 10, 10);
	in(s);
	at(s, 200, 10, 10);
	creates(s, 21, 21);
	waits_in(s, OTHER, NEXT);
	at(s, 230, 10, 10);
	in(s);
	waits_in(s, CLONES, READS);
	at(s, 240, 21, 21);
	in(s);
	at(s, 400, 10, 10);
	in(s);
}

static void wakers(struct scene *s)
{
	at(s, 100, 10, 11);
	waits_in(s, LOCKS, LOCKS_IT);
	/* The tick, a softirq, a signal; then the one that holds the lock. */
	at(s, 150, 10, 10);
	wakes(s, 11, LOCKS, 0x08);
	wakes(s, 11, LOCKS, 0x10);
	wakes(s, 11, OTHER, 0);
	at(s, 200, 10, 10);
	wakes(s, 11, LOCKS, 0);
	at(s, 210, 10, 11);
	in(s);
	at(s, 300, 10, 11);
	waits_in(s, OTHER, READS);
	at(s, 350, 10, 10);
	wakes(s, 11, LOCKS, 0);
	at(s, 360, 10, 11);
	in(s);
}

/* Counts of the first event, then "by" those of the wakers: tid, state, the innermost frame of the
 * program, ns * n; in the order of the alphabet. */
static const struct {
	const char *name;
	void (*write)(struct scene *s);
	const char *want;
	bool is_thinned;
	uint64_t cut_ns;
} scenes[] = {
	{ "unsampled", unsampled, "11 blocked [no stack] 200*1" },
	{ "every_second", every_second, "11 blocked [no stack] 50*1, 11 blocked reads 100*1" },
	{ "thinned", every_second, "11 blocked reads 150*2", .is_thinned = true },
	{ "foreign", foreign, "11 blocked reads 50*1" },
	{ "at_start", at_start, "10 blocked [no stack] 400*1" },
	{ "at_end", at_end, "11 blocked reads 100*1" },
	{ "cut", at_end, "11 blocked reads 100*1", .cut_ns = 950 },
	{ "exits", exits, "11 blocked [no stack] 300*1" },
	{ "execs", execs, "10 blocked next 100*1, 10 blocked reads 200*1, 12 blocked next 170*1" },
	{ "killed", killed, "11 blocked locks it 600*1, 11 runnable locks it 5*0" },
	{ "after_exit", after_exit, "" },
	{ "set_user_id", set_user_id, "10 blocked reads 300*1" },
	{ "id_again", id_again, "11 blocked next 100*1, 11 runnable [no stack] 20*0" },
	{ "reordered", reordered, "11 blocked reads 100*1" },
	{ "migrated", migrated, "11 blocked next 50*1, 11 blocked reads 100*1" },
	{ "lost_in", lost_in, "11 blocked [no stack] 200*1, 11 blocked next 100*1" },
	{ "lost_out", lost_out, "11 blocked next 100*1, 11 blocked reads 100*1" },
	{ "lost_all", lost_all, "11 blocked [no stack] 300*1, 11 blocked next 100*1" },
	{ "preempted", preempted, "11 blocked reads 50*1, 11 preempted reads 200*1" },
	{ "throttled", throttled, "11 blocked reads 600*1, 11 preempted reads 80*1" },
	{ "born", born, "12 blocked reads 100*1, 12 runnable [no stack] 40*0" },
	{ "vforks", vforks, "10 blocked reads 260*1, 20 blocked next 150*1, "
	  "20 runnable reads 10*0" },
	{ "forks", forks, "10 blocked next 30*1, 10 blocked reads 200*2, "
	  "20 runnable [no stack] 10*0, 21 runnable [no stack] 40*0" },
	{ "wakers", wakers, "11 blocked locks it 50*1, 11 blocked reads 50*1, "
	  "11 runnable locks it 60*0, 11 runnable reads 10*0, by 10 unlocks 110*1" },
};
#define N_SCENES (sizeof(scenes) / sizeof(*scenes))

/* ---- from a stream to text --------------------------------------------------------------- */

static void must(bool ok, const char *what)
{
	if (!ok) {
		printf("Bail out! %s\n", what);
		exit(1);
	}
}

/* Thread 10 existed before; 11 runs from the first record on. */
static void begin(struct scene *s)
{
	at(s, 1, 10, 10);
	executes(s, "prog");
	creates(s, 10, 11);
	at(s, 1, 10, 11);
	in(s);
}

static char *make_stream(size_t i, size_t *ret_n)
{
	static const struct replay_event events[N_EVENTS] = {
		{ .name = "off-cpu", .id = EVENT_OFF + 1, .event = EVENT_OFF },
		{ .name = "mutex", .id = EVENT_WAKE + 1, .event = EVENT_WAKE },
	};
	struct scene s = { 0 };
	struct record_format format = record_build_format();
	struct source_facts facts = { .kernel_release = "6.1.0", .arch = "x86_64", .n_cpus = 2 };
	char *text = NULL;
	struct err e = { 0 };
	format.sample_type = SAMPLE_TYPE;
	FILE *f = open_memstream(&text, ret_n);
	must(f && replay_write_header(f, &format, &facts, events, N_EVENTS, &e) == 0, e.what);
	if (strcmp(scenes[i].name, "at_start") != 0)
		begin(&s);
	scenes[i].write(&s);
	must(fwrite(s.b.v, s.b.n_bytes, 1, f) == 1 && fclose(f) == 0, "cannot write the stream");
	record_build_done(&s.b);
	return text;
}

static const char *place_text(const char *stack)
{
	static const struct { const char *frame, *name; } places[] = {
		{ "prog+0x1000", "reads" }, { "prog+0x2000", "locks it" },
		{ "prog+0x3000", "unlocks" }, { "prog+0x4000", "next" },
	};
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (strncmp(stack, places[i].frame, strlen(places[i].frame)) == 0)
			return places[i].name;
	return stack;
}

static const char *label_of(const struct engine *g, uint32_t set, const char *key)
{
	uint32_t n;
	const struct label *l = labels_get(&g->labels, set, &n);
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(strtab_get(&g->strings, l[i].key), key) == 0)
			return strtab_get(&g->strings, l[i].value);
	return "";
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void counts_text(const struct engine *g, char *text, size_t n_text)
{
	char line[32][128];
	size_t n = 0, len = 0;
	for (uint32_t i = 0; i < g->counts.n && n < 32; i++) {
		const struct count *c = &g->counts.v[i];
		const char *state = label_of(g, c->labels, "state");
		snprintf(line[n++], sizeof(line[0]), "%s%s%s%s %s %llu*%llu",
			 c->event == EVENT_WAKE ? "by " : "", label_of(g, c->labels, "tid"),
			 *state ? " " : "", state, place_text(feed_stack_text(g, c->stack)),
			 (unsigned long long)c->value, (unsigned long long)c->n_samples);
	}
	qsort(line, n, sizeof(line[0]), compare_lines);
	text[0] = '\0';
	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, n_text - len, "%s%s", i ? ", " : "", line[i]);
}

static void play(size_t i)
{
	static const uint8_t roles[N_EVENTS] = {
		WAITS_SOURCE | WAITS_OFF, WAITS_WAKE | WAITS_WAKERS,
	};
	const struct engine_options o = { .n_events = N_EVENTS, .follow = true, .waits = roles,
					  .labels = SAMPLELABEL_TID };
	size_t n_stream;
	char *stream = make_stream(i, &n_stream), text[4096];
	struct source *source;
	struct engine g;
	struct record r;
	struct err e = { 0 };
	int code;
	must(replay_open_memory(stream, n_stream, &source, &e) == 0, e.what);
	must(engine_init(&g, &o, &e) == 0, e.what);
	targets_add_pid(&g.targets, 10);
	g.waits.code[0] = (struct waits_code){ LOCKS - 0x10, LOCKS + 0x100, WAITS_FOR_LOCK };
	g.waits.code[1] = (struct waits_code){ CLONES - 0x10, CLONES + 0x100, WAITS_FOR_CHILD };
	g.waits.is_thinned = scenes[i].is_thinned;
	if (strcmp(scenes[i].name, "at_start") == 0)
		waits_add_thread(&g.waits, 10, 10);
	while ((code = source_next(source, &r, &e)) == SOURCE_RECORD)
		engine_feed(&g, &r);
	must(code == SOURCE_END, e.what);
	if (scenes[i].cut_ns)
		engine_settle(&g, scenes[i].cut_ns);
	engine_settle(&g, END_NS);
	counts_text(&g, text, sizeof(text));
	tap_str(text, scenes[i].want, scenes[i].name);
	tap_ok(!procs_find(&g.procs, 99), "%s: other tasks leave no trace", scenes[i].name);
	engine_done(&g);
	source_close(source);
	free(stream);
}

int main(void)
{
	for (size_t i = 0; i < N_SCENES; i++)
		play(i);
	return tap_done();
}
