/* Which goroutine a sample belongs to, by registers and by threads, in a made-up program. */
#include "labels/goread.h"

#include "agg/labels.h"
#include "base/budget.h"
#include "base/clock.h"
#include "base/strtab.h"
#include "labels/appvalues.h"
#include "tests/unit/symbolize/golist.h"
#include "tests/unit/tap.h"

#include <stdlib.h>

#define SETS (GOMEMORY_HEAP + 0x10000u)
#define TEXTS (GOMEMORY_HEAP + 0x14000u)
#define M (GOMEMORY_HEAP + 0x18800u)
#define G0 (GOMEMORY_HEAP + 0x19000u)
#define TID 4711u

static struct golist list;
static struct budget budget;
static struct strtab strings;
static struct labels labels;
static struct appvalues values;
static struct goread r;
static struct gopieces pieces;
static const struct go_layout *layout;
static unsigned int n_reads;

static long read_counting(void *ctx, const struct iovec *local, size_t n_local,
			  const struct iovec *remote, size_t n_remote)
{
	n_reads++;
	return gomemory_read(ctx, local, n_local, remote, n_remote);
}

static struct runtime_memory from = { read_counting, &list.memory };

/* The set number i, with the one label handler=value. */
static uint64_t put_set(unsigned int i, const char *value)
{
	uint64_t at = SETS + 64 * i;
	gomemory_word(&list.memory, at, at + 24);
	gomemory_word(&list.memory, at + 8, 1);
	gomemory_word(&list.memory, at + 16, 1);
	gomemory_string(&list.memory, at + 24, TEXTS, "handler");
	gomemory_string(&list.memory, at + 40, TEXTS + 32 + 32 * i, value);
	return at;
}

static void set_g(unsigned int i, uint64_t set)
{
	gomemory_word(&list.memory, GOLIST_G(i) + layout->labels, set);
}

static const char *text_of(uint32_t set)
{
	uint32_t n;
	if (set == GOTIMES_UNKNOWN)
		return "?";
	const struct label *l = labels_get(&labels, set, &n);
	return n == 1 ? strtab_get(&strings, l->value) : n ? "several" : "";
}

static void is(const struct goread_sample *s, const char *want, uint64_t who, const char *what)
{
	struct gotimes_answer a;
	enum gotimes_how how = goread_at(&r, s, &a);
	tap_str(how == GOTIMES_NOTHING ? "-" : text_of(a.set), want, what);
	if (how != GOTIMES_NOTHING)
		tap_int((long long)a.who, (long long)who, "its goroutine");
}

static struct goread_sample in_go(unsigned int i)
{
	return (struct goread_sample){ .time_ns = clock_monotonic_ns(), .g = GOLIST_G(i),
				       .sp = GOLIST_STACK(i) + 0x400, .tid = TID };
}

static void start(void)
{
	goread_done(&r);
	golist_close(&list);
	if (!golist_open(&list, "go1.27.3", GOLIST_SYMBOLS))
		abort();
	layout = go_layout_known(0);
	goread_init(&r, &from, &pieces, layout);
	gosets_init(&r.sets, &values, &labels, GO_LABELS_SLICE);
	gomemory_word(&list.memory, M + layout->m_proc_id, TID);
	gomemory_word(&list.memory, M + layout->m_curg, GOLIST_G(1));
	gomemory_word(&list.memory, G0, 0xd000000000u);
	gomemory_word(&list.memory, G0 + 8, 0xd000010000u);
	gomemory_word(&list.memory, G0 + layout->m, M);
}

static void by_register(void)
{
	start();
	set_g(1, put_set(0, "anna"));
	struct goread_sample s = in_go(1);
	goread_all(&r);
	is(&s, "anna", 2, "the goroutine of the register");
	tap_ok(r.has_labels, "it has labels");
	s = in_go(2);
	is(&s, "", 3, "one without labels");
	s.g += 8;
	is(&s, "-", 0, "a register that is no goroutine");
	s.g = 0xdead0000;
	is(&s, "-", 0, "one that points nowhere");
	set_g(1, put_set(1, "bert"));
	s = in_go(1);
	goread_all(&r);
	is(&s, "bert", 2, "other labels");
	/* the collector has given the same memory to another set */
	put_set(1, "carl");
	s = in_go(1);
	goread_all(&r);
	is(&s, "carl", 2, "another set at the same address");
	goread_all(&r);
	n_reads = 0;
	goread_all(&r);
	tap_int(n_reads, 1, "all that is known is read at once");
	list.memory.is_gone = true;
	s = in_go(1);
	tap_ok(!goread_all(&r), "a program that is gone");
	list.memory.is_gone = false;
	is(&s, "-", 0, "a sample of it");
}

/* The same goroutine, later another one in its place. */
static void reused(void)
{
	start();
	set_g(1, put_set(0, "anna"));
	struct goread_sample s = in_go(1);
	is(&s, "anna", 2, "a goroutine");
	goread_all(&r);
	s = in_go(1);
	gomemory_word(&list.memory, GOLIST_G(1) + layout->goid, 99);
	goread_all(&r);
	is(&s, "-", 0, "a sample before another one took its place, perhaps");
}

static void by_thread(void)
{
	start();
	set_g(1, put_set(0, "anna"));
	struct goread_sample s = { .time_ns = clock_monotonic_ns(), .g = G0, .sp = 0xd000008000u,
				   .tid = TID };
	is(&s, "anna", 2, "the stack of a thread's own: the goroutine that it runs");
	s.time_ns = clock_monotonic_ns();
	s.g = 0x1234;
	is(&s, "anna", 2, "C code of the same thread");
	s.time_ns = clock_monotonic_ns();
	s.tid = TID + 1;
	is(&s, "-", 0, "another thread");
	s.tid = TID;
	s.time_ns = clock_monotonic_ns();
	gomemory_word(&list.memory, M + layout->m_curg, 0);
	struct gotimes_answer a;
	goread_all(&r);
	tap_ok(goread_at(&r, &s, &a) == GOTIMES_NOTHING, "a thread that runs none any more");
	s.time_ns = clock_monotonic_ns();
	tap_ok(goread_at(&r, &s, &a) == GOTIMES_NOTHING && a.is_nobody, "nor one now");
	/* C code before any Go code */
	start();
	set_g(1, put_set(0, "anna"));
	s = (struct goread_sample){ .time_ns = clock_monotonic_ns(), .g = 0x1234, .sp = 16,
				    .tid = TID };
	gomemory_word(&list.memory, GOLIST_G(1) + layout->m, M);
	is(&s, "-", 0, "C code of a thread that is not known");
	tap_ok(r.wants_allgs, "the list of goroutines would help");
	r.allgs = GOLIST_ALLGS;
	is(&s, "anna", 2, "with the list it is known");
	/* a thread that waits, of which only the stack pointer is known */
	s = (struct goread_sample){ .time_ns = clock_monotonic_ns(),
				    .sp = GOLIST_STACK(1) + 0x400, .tid = TID };
	is(&s, "anna", 2, "a thread that waits on its goroutine's stack");
	s.time_ns = clock_monotonic_ns();
	s.sp = 0x7fff0000;
	is(&s, "-", 0, "one that waits elsewhere");
}

static uint64_t change_to;

static void change(void *ctx, struct goread *of)
{
	(void)ctx;
	of->reported_ns = 1;
	if (change_to)
		goread_change(of, &(struct goread_changed){ .g = GOLIST_G(1),
			.time_ns = clock_monotonic_ns() - 5000000, .labels = change_to });
	change_to = 0;
}

static void reported(void)
{
	start();
	r.changes = change;
	set_g(1, put_set(0, "anna"));
	struct goread_sample first = in_go(1), before, after;
	is(&first, "anna", 2, "the first reading");
	usleep(3000);
	before = in_go(1);
	usleep(3000);
	change_to = put_set(1, "bert");
	set_g(1, change_to);
	usleep(8000);
	after = in_go(1);
	after.time_ns -= 1000000;
	goread_all(&r);
	is(&before, "anna", 2, "before a change");
	is(&after, "bert", 2, "after it");
	struct gotimes_answer a;
	tap_int(goread_at(&r, &after, &a), GOTIMES_EXACT, "which is exact");
	after.g = G0;
	gomemory_word(&list.memory, G0 + layout->m, M);
	is(&after, "bert", 2, "on another stack");
	tap_int(goread_at(&r, &after, &a), GOTIMES_LATE, "which is not exact");
	set_g(1, put_set(2, "carl"));
	goread_all(&r);
	tap_int((long long)r.n_missed, 1, "a change that was not reported is noticed");
}

/* A goroutine that has entered by pprof.Do, and has ended before it is read. */
static void by_stack(void)
{
	uint64_t stack[8] = { 0 }, slot = GOLIST_STACK(1) + 0x420;
	start();
	r.changes = change;
	r.code = (struct goread_code){ .do_at = 0x5000, .do_end = 0x5100, .goexit = 0x6000 };
	set_g(1, 0);
	struct goread_sample s = in_go(1);
	s.g = 0x1234;           /* assembly uses the register for other things */
	s.stack = (const uint8_t *)stack;
	s.n_stack_bytes = sizeof(stack);
	stack[4] = 0x5010;
	goread_change(&r, &(struct goread_changed){ .g = GOLIST_G(1), .time_ns = s.time_ns - 1000,
						    .labels = put_set(0, "anna"), .slot = slot });
	is(&s, "anna", 0, "the frame of pprof.Do proves the goroutine");
	stack[2] = 0x6001;
	is(&s, "-", 0, "but not a frame on the next stack");
	stack[2] = 0;
	goread_change(&r, &(struct goread_changed){ .g = GOLIST_G(1), .time_ns = s.time_ns - 500 });
	struct gotimes_answer a;
	tap_ok(goread_at(&r, &s, &a) != GOTIMES_EXACT, "a goroutine that has left proves nothing");
}

static void hostile(void)
{
	start();
	set_g(1, 0x10);
	struct goread_sample s = in_go(1);
	is(&s, "-", 0, "labels that cannot be read");
	uint64_t at = put_set(0, "anna");
	gomemory_word(&list.memory, at + 8, 1ull << 40);
	set_g(1, at);
	s = in_go(1);
	goread_all(&r);
	is(&s, "-", 0, "a set of very many labels");
	for (unsigned int i = 0; i < 200; i++)
		goread_change(&r, &(struct goread_changed){ .g = GOLIST_G(1) + 8 * i,
			.time_ns = clock_monotonic_ns(), .labels = SETS + 8 * i });
	goread_trim(&r, clock_monotonic_ns());
	tap_ok(r.gs.v.n == 0 && goread_n_bytes(&r) < 4096, "everything can be forgotten");
	s = in_go(2);
	goread_all(&r);
	is(&s, "", 3, "and read again");
}

int main(void)
{
	budget_init(&budget, 0);
	strtab_init(&strings, &budget);
	labels_init(&labels, &budget);
	appvalues_init(&values, &strings);
	by_register();
	reused();
	by_thread();
	reported();
	by_stack();
	hostile();
	goread_done(&r);
	gopieces_done(&pieces);
	golist_close(&list);
	appvalues_done(&values);
	labels_done(&labels);
	strtab_done(&strings);
	return tap_done();
}
