#include "agg/stacks.h"
#include "base/budget.h"
#include "base/err.h"
#include "engine/engine-waits.h"
#include "engine/waits-looks.h"
#include "engine/waits-polls.h"
#include "engine/waits-pool.h"
#include "engine/waits.h"
#include "source/record.h"
#include "source/schedpoint.h"
#include "tests/unit/engine/engine-feed.h"
#include "tests/unit/tap.h"

#include <linux/perf_event.h>

/* ---- a replay: one thread per id, one stack per number ------------------------------------ */

static struct budget budget;
static char text[8192];
static uint64_t sum_ns, sum_n, waiting_ns[16], running_ns[16], torn_ns;

static void note_piece(void *ctx, const struct waits_piece *p)
{
	(void)ctx;
	char stack[16] = "?";
	if (p->at.stack != STACKS_NONE)
		snprintf(stack, sizeof(stack), "%u", p->at.stack);
	size_t len = strlen(text);
	snprintf(text + len, sizeof(text) - len, "%s%u:%s:%s:%llu*%llu", len ? " " : "", p->tid,
		 waits_state_name(p->state), stack, (unsigned long long)p->ns,
		 (unsigned long long)p->n);
	sum_ns += p->ns;
	sum_n += p->n;
	if (p->state == WAITS_RUNNING)
		running_ns[p->tid % 16] += p->ns;
	else
		waiting_ns[p->tid % 16] += p->ns;
	torn_ns += p->at.stack == STACKS_NONE ? p->ns : 0;
}

static void begin(struct waits *w)
{
	budget_init(&budget, 0);
	waits_init(w, &budget, note_piece, NULL);
	text[0] = '\0';
	sum_ns = sum_n = torn_ns = 0;
	memset(waiting_ns, 0, sizeof(waiting_ns));
	memset(running_ns, 0, sizeof(running_ns));
}

static void end(struct waits *w, const char *want, const char *name)
{
	tap_str(text, want, name);
	waits_done(w);
	tap_int((long long)budget.used_bytes, 0, "everything was released");
}

static void sample(struct waits *w, uint64_t time_ns, uint32_t tid, uint32_t stack)
{
	waits_sample(w, 7, tid, time_ns, (struct waits_place){ .stack = stack });
}

static struct record at(uint64_t time_ns, uint32_t type, uint32_t tid)
{
	feed_at(time_ns);
	return feed_record(type, 0, 7, tid);
}

static void out(struct waits *w, uint64_t time_ns, uint32_t tid, bool preempt)
{
	struct record r = at(time_ns, PERF_RECORD_SWITCH, tid);
	r.context_switch = (struct record_switch){ .out = true, .preempt = preempt };
	waits_feed(w, &r);
}

static void in(struct waits *w, uint64_t time_ns, uint32_t tid)
{
	struct record r = at(time_ns, PERF_RECORD_SWITCH, tid);
	waits_feed(w, &r);
}

static void wake(struct waits *w, uint64_t time_ns, uint8_t tid)
{
	const uint8_t raw[SCHEDPOINT_WAKE_BYTES] = { [SCHEDPOINT_WAKE_TID_AT] = tid };
	struct record r = at(time_ns, PERF_RECORD_SAMPLE, 7);
	r.sample.raw = raw;
	r.sample.n_raw_bytes = sizeof(raw);
	waits_note_wake(w, &r);
}

static void task(struct waits *w, uint64_t time_ns, uint32_t type, uint32_t tid)
{
	struct record r = at(time_ns, type, tid);
	if (type == PERF_RECORD_COMM)
		r.comm = (struct record_comm){ .comm = "new", .exec = true };
	else
		r.fork = (struct record_fork){ .ppid = 7, .ptid = 7, .time_ns = time_ns };
	waits_feed(w, &r);
}

static void lost(struct waits *w, uint64_t time_ns)
{
	struct record r = at(time_ns, PERF_RECORD_LOST, 0);
	waits_feed(w, &r);
}

static void look(struct waits *w, uint64_t from_ns, uint64_t to_ns, uint32_t tid, uint32_t stack)
{
	waits_looks_add(w, &(struct waits_look){
		.pid = 7, .tid = tid, .from_ns = from_ns, .to_ns = to_ns,
		.is_waiting = stack != STACKS_NONE, .at.stack = stack,
	});
}

/* ---- in order ------------------------------------------------------------------------------ */

static void test_waits(void)
{
	struct waits w;
	begin(&w);
	in(&w, 100, 8);
	sample(&w, 200, 8, 1);
	out(&w, 205, 8, false);
	in(&w, 1200, 8);
	sample(&w, 1300, 8, 2);
	out(&w, 1301, 8, true);
	in(&w, 1400, 8);
	waits_settle(&w, 1500);
	end(&w, "8:blocked:1:1000*1 8:preempted:2:100*1", "a wait begins with its sample");

	begin(&w);
	task(&w, 50, PERF_RECORD_FORK, 9);
	in(&w, 80, 9);
	sample(&w, 90, 9, 3);
	out(&w, 91, 9, false);
	waits_settle(&w, 100);
	waits_settle(&w, 120);
	in(&w, 130, 9);
	end(&w, "9:runnable:?:30*0 9:blocked:3:10*1 9:blocked:3:20*0 9:blocked:3:10*0",
	    "a new thread waits for its CPU; settling splits a wait and counts it once");

	begin(&w);
	task(&w, 0, PERF_RECORD_FORK, 9);
	in(&w, 80, 9);
	struct record r = at(90, PERF_RECORD_SWITCH, 9);
	r.context_switch = (struct record_switch){ .out = true, .disk = true };
	waits_feed(&w, &r);
	in(&w, 110, 9);
	out(&w, 120, 9, false);
	in(&w, 125, 9);
	end(&w, "9:disk:?:20*1 9:blocked:?:5*1",
	    "a record of perf about an old thread is no birth; the source knows of disk");

	begin(&w);
	sample(&w, 100, 8, 1);
	out(&w, 101, 8, false);
	wake(&w, 400, 8);
	wake(&w, 450, 8);
	waits_settle(&w, 500);
	in(&w, 600, 8);
	wake(&w, 650, 8);
	sample(&w, 700, 8, 2);
	out(&w, 701, 8, true);
	wake(&w, 750, 8);
	in(&w, 800, 8);
	sample(&w, 900, 8, 3);
	out(&w, 901, 8, false);
	in(&w, 1000, 8);
	end(&w, "8:blocked:1:300*1 8:runnable:1:100*0 8:runnable:1:100*0 8:preempted:2:100*1 "
	    "8:blocked:3:100*1", "since its wake-up a thread waits for a CPU only");

	begin(&w);
	w.is_thinned = true;
	sample(&w, 100, 8, 1);
	out(&w, 101, 8, false);
	wake(&w, 400, 8);
	in(&w, 20000000, 8);
	end(&w, "8:blocked:1:19999900*1", "not while only some wake-ups are known");

	begin(&w);
	w.start_ns = 1000;
	w.end_ns = 2000;
	sample(&w, 500, 8, 1);
	out(&w, 501, 8, false);
	in(&w, 1500, 8);
	sample(&w, 1600, 8, 2);
	out(&w, 1601, 8, false);
	in(&w, 2500, 8);
	end(&w, "8:blocked:1:500*1 8:blocked:2:400*1", "only time in the window counts");
}

static void test_runs(void)
{
	struct waits w;
	const struct waits_place clock = { .stack = 5 };
	begin(&w);
	w.has_clock = true;
	in(&w, 100, 8);
	sample(&w, 300, 8, 1);
	out(&w, 301, 8, false);
	in(&w, 400, 8);
	waits_clock(&w, 7, 8, 450, clock);
	sample(&w, 500, 8, 1);
	out(&w, 501, 8, false);
	in(&w, 600, 8);
	task(&w, 610, PERF_RECORD_EXIT, 8);
	tap_int((long long)sum_ns, 510, "the pieces of a thread are its life");
	end(&w, "8:blocked:1:100*1 8:running:5:250*1 8:blocked:1:100*1 8:running:5:60*0",
	    "a sample of the clock stands for the run since the last one, across waits");
}

/* ---- what is missing ----------------------------------------------------------------------- */

static void test_lost(void)
{
	struct waits w;
	begin(&w);
	in(&w, 100, 8);
	out(&w, 200, 8, false);
	in(&w, 300, 8);
	end(&w, "8:blocked:?:100*1", "out without sample");

	begin(&w);
	sample(&w, 100, 8, 1);
	out(&w, 101, 8, false);
	out(&w, 200, 8, false);
	in(&w, 300, 8);
	end(&w, "8:blocked:?:100*1 8:blocked:?:100*1", "in and a sample are lost: no old stack");

	begin(&w);
	sample(&w, 100, 8, 1);
	out(&w, 101, 8, false);
	sample(&w, 200, 8, 2);
	out(&w, 201, 8, false);
	in(&w, 300, 8);
	end(&w, "8:blocked:?:100*1 8:blocked:2:100*1", "in is lost: where it ended is unknown");

	begin(&w);
	sample(&w, 100, 8, 1);
	in(&w, 300, 8);
	in(&w, 400, 8);
	tap_int((long long)w.n_torn, 1, "an in without its out is counted as torn");
	end(&w, "8:blocked:1:200*1", "in without out");

	begin(&w);
	sample(&w, 100, 8, 1);
	out(&w, 101, 8, false);
	lost(&w, 200);
	in(&w, 300, 8);
	sample(&w, 400, 8, 2);
	out(&w, 401, 8, false);
	in(&w, 500, 8);
	end(&w, "8:blocked:?:200*1 8:blocked:2:100*1", "a wait across a loss may be another one");

	begin(&w);
	sample(&w, 100, 8, 1);
	out(&w, 101, 8, false);
	lost(&w, 200);
	look(&w, 210, 220, 8, 4);
	in(&w, 300, 8);
	end(&w, "8:blocked:4:200*1", "unless it was looked at since then");
}

static void test_ends(void)
{
	struct waits w;
	begin(&w);
	sample(&w, 100, 8, 1);
	out(&w, 101, 8, false);
	sample(&w, 120, 9, 2);
	out(&w, 121, 9, false);
	task(&w, 200, PERF_RECORD_EXIT, 8);
	in(&w, 220, 9);
	task(&w, 230, PERF_RECORD_EXIT, 9);
	waits_settle(&w, 300);
	tap_int((long long)w.thread.n, 0, "ended threads are forgotten");
	end(&w, "8:blocked:?:100*1 9:blocked:2:100*1", "exit while a wait is open: in was lost");

	begin(&w);
	sample(&w, 100, 7, 1);
	out(&w, 101, 7, false);
	sample(&w, 110, 8, 2);
	out(&w, 111, 8, false);
	in(&w, 150, 8);
	task(&w, 200, PERF_RECORD_COMM, 7);
	sample(&w, 300, 7, 3);
	out(&w, 301, 7, false);
	in(&w, 400, 7);
	end(&w, "8:blocked:2:40*1 7:blocked:?:100*1 7:blocked:3:100*1",
	    "exec by another thread ends all others, and the id goes on");

	begin(&w);
	sample(&w, 100, 8, 1);
	struct record r = at(150, PERF_RECORD_SWITCH, 8);
	r.pid = 6;
	waits_feed(&w, &r);
	sample(&w, 200, UINT32_MAX, 1);
	sample(&w, 200, 0, 1);
	tap_int((long long)w.thread.n, 1, "neither the idle task nor one without ids is a thread");
	end(&w, "", "an id that is used again has no wait of its old owner");
}

/* ---- several threads ------------------------------------------------------------------------ */

/* A record of another process than 7. */
static void other(struct waits *w, uint64_t time_ns, uint32_t type, uint32_t pid, bool is_out)
{
	struct record r = at(time_ns, type, pid);
	r.pid = pid;
	if (type == PERF_RECORD_COMM)
		r.comm = (struct record_comm){ .comm = "new", .exec = true };
	else if (type == PERF_RECORD_FORK)
		r.fork = (struct record_fork){ .ppid = 7, .ptid = 7, .time_ns = time_ns };
	else
		r.context_switch.out = is_out;
	waits_feed(w, &r);
}

static void test_processes(void)
{
	struct waits w;
	begin(&w);
	in(&w, 0, 7);
	other(&w, 100, PERF_RECORD_FORK, 20, false);
	sample(&w, 110, 7, 1);
	out(&w, 111, 7, false);
	other(&w, 130, PERF_RECORD_SWITCH, 20, false);
	other(&w, 150, PERF_RECORD_COMM, 20, false);
	in(&w, 170, 7);
	end(&w, "20:runnable:?:30*0 7:blocked:1:60*1",
	    "the parent of a vfork waits until its child executes, which ends no wait of it");

	begin(&w);
	in(&w, 0, 8);
	sample(&w, 100, 8, 1);
	out(&w, 101, 8, true);
	in(&w, 200, 8);
	sample(&w, 210, 8, 2);
	out(&w, 211, 8, false);
	in(&w, 5000, 8);
	end(&w, "8:preempted:1:100*1 8:blocked:2:4790*1",
	    "throttled by its cgroup, then stopped: two kinds of waits");

	begin(&w);
	sample(&w, 200, 8, 1);
	in(&w, 150, 8);
	out(&w, 201, 8, false);
	in(&w, 300, 8);
	sample(&w, 290, 8, 2);
	out(&w, 320, 8, false);
	in(&w, 310, 8);
	waits_settle(&w, 400);
	tap_ok(sum_ns <= 400, "records that arrive too late invent no time");
	waits_done(&w);

	begin(&w);
	in(&w, 100, 8);
	out(&w, 90, 8, false);
	out(&w, 200, 8, false);
	out(&w, 200, 8, false);
	in(&w, 250, 8);
	in(&w, 250, 8);
	tap_ok(sum_ns <= 250, "nor do those that arrive twice");
	waits_done(&w);
}

/* ---- looks --------------------------------------------------------------------------------- */

static uint32_t unread[8], n_unread, unread_max;

static bool note_unread(void *ctx, uint32_t pid, uint32_t tid)
{
	(void)ctx, (void)pid;
	unread[n_unread++] = tid;
	return n_unread < unread_max;
}

static uint32_t count_unread(struct waits *w, uint64_t before_ns, uint32_t max)
{
	n_unread = 0;
	unread_max = max;
	waits_looks_each(w, before_ns, note_unread, NULL);
	return n_unread;
}

static void keep_cut(struct waits *w, uint32_t tid)
{
	const uint64_t reg[] = { 0x7000, 0x10010 };
	struct record r = at(0, PERF_RECORD_SAMPLE, tid);
	r.sample = (struct record_sample){
		.user_regs = reg, .user_abi = PERF_SAMPLE_REGS_ABI_64, .user_regs_mask = 3u << 7,
	};
	waits_keep_cut(w, tid, &r);
}

static void test_looks(void)
{
	struct waits w;
	begin(&w);
	w.start_ns = 1000;
	for (uint32_t tid = 8; tid < 12; tid++)
		waits_add_thread(&w, 7, tid);
	look(&w, 1010, 1020, 8, 1);
	look(&w, 1010, 1020, 9, 1);
	look(&w, 1010, 1020, 10, STACKS_NONE);
	in(&w, 1005, 9);
	out(&w, 1200, 10, true);
	in(&w, 1300, 8);
	waits_settle(&w, 1500);
	end(&w, "9:blocked:?:5*1 8:blocked:1:300*1 10:preempted:?:300*1 11:blocked:?:500*1",
	    "threads that existed: a wait's look, a look too late, a run, no record at all");

	begin(&w);
	out(&w, 100, 8, false);
	in(&w, 200, 8);
	look(&w, 250, 260, 8, 6);
	out(&w, 240, 8, false);
	in(&w, 300, 8);
	end(&w, "8:blocked:?:100*1 8:blocked:6:60*1", "a look is of the wait that contains it");

	begin(&w);
	waits_sample(&w, 7, 8, 100, (struct waits_place){ .stack = 1, .is_partial = true });
	out(&w, 101, 8, false);
	tap_int(count_unread(&w, 150, 8), 1, "an incomplete stack may be completed by a look");
	look(&w, 200, 210, 8, 2);
	waits_settle(&w, 300);
	end(&w, "8:blocked:2:200*1", "which it then is");

	begin(&w);
	waits_sample(&w, 7, 8, 100, (struct waits_place){ .stack = 1, .is_partial = true });
	keep_cut(&w, 8);
	out(&w, 101, 8, true);
	tap_int(count_unread(&w, 90, 8), 1, "also of a preempted thread, with its registers");
	look(&w, 200, 210, 8, 2);
	in(&w, 300, 8);
	waits_sample(&w, 7, 8, 400, (struct waits_place){ .stack = 1, .is_partial = true });
	out(&w, 401, 8, true);
	tap_int(count_unread(&w, 500, 8), 0, "which are those of one wait");
	in(&w, 500, 8);
	end(&w, "8:preempted:2:200*1 8:preempted:1:100*1", "and it is, at once");

	begin(&w);
	out(&w, 100, 8, false);
	out(&w, 110, 9, false);
	out(&w, 120, 10, true);
	sample(&w, 130, 11, 1);
	tap_int(count_unread(&w, 50, 8), 0, "young waits are not looked at");
	tap_int(count_unread(&w, 105, 8), 1, "old ones without a stack are");
	tap_int(unread[0], 8, "the first");
	tap_int(count_unread(&w, 200, 1), 1, "the second, not the preempted one");
	tap_int(unread[0], 9, "which is blocked");
	tap_int(count_unread(&w, 200, 8), 0, "each is looked at once");
	lost(&w, 250);
	tap_int(count_unread(&w, 200, 1), 1, "after a loss, again");
	tap_int(count_unread(&w, 200, 8), 2, "the rest later, also with a sample");
	waits_done(&w);

	begin(&w);
	w.start_ns = 1000;
	waits_add_thread(&w, 7, 8);
	waits_add_thread(&w, 7, 9);
	look(&w, 1010, 1020, 8, 1);
	in(&w, 1030, 9);
	lost(&w, 1200);
	tap_int(count_unread(&w, 1300, 8), 1, "after a loss, a thread without any record, too");
	tap_int(unread[0], 8, "which may wait all the time");
	look(&w, 1310, 1320, 8, 2);
	waits_settle(&w, 1500);
	end(&w, "9:blocked:?:30*1 8:blocked:2:500*1", "and does");
}

/* ---- functions ----------------------------------------------------------------------------- */

static bool note_native(void *ctx, const struct waits_thread *t, struct waits_place native)
{
	(void)ctx;
	unread[n_unread++] = t->tid * 100 + native.stack;
	return n_unread < unread_max;
}

static uint32_t count_native(struct waits *w, size_t *from, uint64_t before_ns, uint32_t max)
{
	n_unread = 0;
	unread_max = max;
	waits_looks_each_native(w, from, before_ns, note_native, NULL);
	return n_unread;
}

static void functions(struct waits *w, uint64_t from_ns, uint64_t to_ns, uint32_t tid,
		      uint32_t native, uint32_t stack)
{
	waits_looks_add_functions(w, tid, from_ns, to_ns, (struct waits_place){ .stack = native },
				  (struct waits_place){ .stack = stack });
}

static void test_functions(void)
{
	struct waits w;
	size_t from = 0;
	begin(&w);
	sample(&w, 100, 8, 1);
	functions(&w, 150, 160, 8, 1, 5);
	in(&w, 200, 8);
	sample(&w, 300, 8, 1);
	in(&w, 400, 8);
	sample(&w, 500, 8, 1);
	functions(&w, 490, 510, 8, 1, 5);
	in(&w, 600, 8);
	sample(&w, 700, 8, 1);
	functions(&w, 790, 810, 8, 1, 5);
	in(&w, 800, 8);
	sample(&w, 900, 8, 2);
	functions(&w, 910, 920, 8, 1, 5);
	in(&w, 1000, 8);
	sample(&w, 1100, 8, 1);
	functions(&w, 1110, 1120, 8, 1, STACKS_NONE);
	in(&w, 1200, 8);
	end(&w, "8:blocked:5:100*1 8:blocked:1:100*1 8:blocked:1:100*1 8:blocked:1:100*1 "
	    "8:blocked:2:100*1 8:blocked:1:100*1",
	    "functions that were read during the wait, for its stack, replace it");

	begin(&w);
	sample(&w, 100, 8, 1);
	sample(&w, 110, 9, 2);
	sample(&w, 120, 10, 3);
	out(&w, 125, 10, true);
	in(&w, 130, 11);
	sample(&w, 140, 12, 4);
	out(&w, 150, 13, false);
	tap_int(count_native(&w, &from, 50, 8), 0, "young waits have no functions yet");
	tap_int(count_native(&w, &from, 200, 1), 1, "one of the others");
	tap_int(unread[0], 801, "with its place");
	tap_int(count_native(&w, &from, 200, 8), 3, "the next call goes on from there");
	tap_ok(unread[0] == 902 && unread[1] == 1204 && unread[2] == 801,
	       "not those that are preempted, run, or have no stack");
	functions(&w, 210, 220, 8, 1, 5);
	functions(&w, 210, 220, 9, 2, STACKS_NONE);
	from = 0;
	tap_int(count_native(&w, &from, 300, 8), 1, "each wait is read once");
	waits_done(&w);
}

static void poll(struct waits *w, uint64_t since_ns, uint64_t to_ns, uint64_t run_ns,
		 uint64_t ready_ns, uint32_t stack)
{
	waits_polls_add(w, &(struct waits_look){
		.pid = 7, .tid = 8, .is_poll = true, .since_ns = since_ns, .from_ns = to_ns,
		.to_ns = to_ns, .run_ns = run_ns, .ready_ns = ready_ns, .n_runs = run_ns ? 2 : 0,
		.is_waiting = stack != STACKS_NONE, .at.stack = stack,
	});
}

static void test_polls(void)
{
	struct waits w;
	begin(&w);
	w.has_clock = true;
	w.start_ns = 1000;
	poll(&w, 1000, 1000, 0, 0, 9);
	poll(&w, 1500, 1500, 0, 0, 1);
	poll(&w, 2000, 2100, 30, 10, 2);
	poll(&w, 2100, 2200, 500, 10, STACKS_NONE);
	waits_settle(&w, 2300);
	tap_int((long long)sum_ns, 1300, "polls cover all of the time");
	end(&w, "8:blocked:1:1000*1 8:running:?:30*0 8:runnable:2:10*0 8:blocked:1:30*0 "
	    "8:blocked:2:30*2 8:running:?:100*0 8:running:?:100*0",
	    "a poll divides what was blocked, and no more time than there was");
}

/* ---- only some waits have a stack ----------------------------------------------------------- */

static uint64_t count_of(const char *piece)
{
	const char *at = strstr(text, piece);
	return at ? strtoull(at + strlen(piece), NULL, 10) : 0;
}

static void wait_once(struct waits *w, uint64_t from_ns, uint64_t to_ns, uint32_t stack)
{
	if (stack)
		sample(w, from_ns, 8, stack);
	out(w, from_ns, 8, false);
	in(w, to_ns, 8);
}

static void test_thinned(void)
{
	struct waits w;
	begin(&w);
	w.is_thinned = true;
	in(&w, 0, 8);
	wait_once(&w, 100, 200, 1);
	wait_once(&w, 300, 330, 0);
	wait_once(&w, 400, 701, 2);
	wait_once(&w, 800, 871, 0);
	wait_once(&w, 900, 900 + WAITS_LONG_NS, 3);
	uint64_t now = 1000 + WAITS_LONG_NS;
	wait_once(&w, now, now + WAITS_LONG_NS, 0);
	tap_str(text, "8:blocked:3:10000000*1 8:blocked:?:10000000*1",
		"long waits stand for themselves");
	waits_settle(&w, now + WAITS_LONG_NS);
	tap_str(strstr(text, " 8:blocked:1:"), " 8:blocked:1:125*2 8:blocked:2:377*2",
		"the time of short ones is divided in proportion, and so is their number");
	tap_int((long long)sum_ns, 502 + 2 * WAITS_LONG_NS, "the sum is exact");
	waits_done(&w);

	begin(&w);
	w.is_thinned = true;
	in(&w, 0, 8);
	wait_once(&w, 100, 150, 0);
	out(&w, 200, 8, true);
	in(&w, 260, 8);
	wait_once(&w, 300, 310, 4);
	task(&w, 400, PERF_RECORD_EXIT, 8);
	end(&w, "8:blocked:4:60*2 8:preempted:?:60*1",
	    "a thread that ends is counted; preempted waits are of another kind");

	begin(&w);
	w.is_thinned = true;
	in(&w, 0, 8);
	for (uint32_t i = 1; i <= WAITS_POOL_ENTRIES_MAX + 1; i++)
		wait_once(&w, i * 100, i * 100 + 10, i);
	tap_int((long long)sum_n, WAITS_POOL_ENTRIES_MAX, "a pool that is full is divided");
	w.min_ns = 50;
	wait_once(&w, 20000, 20040, 1);
	wait_once(&w, 21000, 21060, 1);
	text[0] = '\0';
	waits_settle(&w, 22000);
	tap_int((long long)count_of("8:blocked:65:"), 10, "and filled again");
	tap_int((long long)sum_ns, 10 * (WAITS_POOL_ENTRIES_MAX + 1) + 100,
		"waits below the minimum are kept apart");
	waits_done(&w);
	tap_int((long long)budget.used_bytes, 0, "all pools were released");
}

static void read_at(struct waits *w, uint64_t from_ns, uint32_t stack)
{
	waits_looks_add(w, &(struct waits_look){
		.pid = 7, .tid = 8, .from_ns = from_ns, .to_ns = from_ns + 1000,
		.is_waiting = true, .is_reading = true, .at.stack = stack,
	});
}

static bool count_short(void *ctx, uint32_t pid, uint32_t tid)
{
	uint32_t *n = ctx;
	n[0] += pid == 7 && tid == 8;
	return true;
}

/* Two sites wait for the same time, one of them three times as often, and each is read once. */
static void test_readings(void)
{
	struct waits w;
	uint32_t n_short = 0;
	begin(&w);
	w.has_readings = true;
	in(&w, 0, 8);
	for (uint64_t i = 0; i < 3; i++) {
		out(&w, 1000000 + i * 200000, 8, false);
		if (i == 1)
			read_at(&w, 1000000 + i * 200000 + 10000, 1);
		in(&w, 1100000 + i * 200000, 8);
	}
	out(&w, 2000000, 8, false);
	read_at(&w, 2200000, 2);
	in(&w, 2300000, 8);
	waits_looks_each_short(&w, count_short, &n_short);
	waits_looks_each_short(&w, count_short, &n_short);
	tap_int(n_short, 1, "a thread with short waits is to be read, once");
	out(&w, 3000000, 8, false);
	look(&w, 3010000, 3020000, 8, 3);
	in(&w, 3100000, 8);
	out(&w, 4000000, 8, false);
	read_at(&w, 4100000, 4);
	in(&w, 6000000, 8);
	tap_str(text, "8:blocked:4:2000000*1", "a wait that is looked at anyway counts for itself");
	waits_settle(&w, 6000000);
	tap_str(strstr(text, " 8:blocked:1:"), " 8:blocked:1:350000*3 8:blocked:2:350000*2",
		"each reading stands for the same time; a look at a longer wait for none");
	tap_int((long long)sum_ns, 2700000, "the sum is exact");
	waits_done(&w);

	begin(&w);
	w.has_readings = true;
	in(&w, 0, 8);
	wait_once(&w, 1000, 2000, 0);
	out(&w, 3000, 8, true);
	in(&w, 4000, 8);
	task(&w, 5000, PERF_RECORD_EXIT, 8);
	end(&w, "8:preempted:?:1000*1 8:blocked:?:1000*1", "without a reading no stack is known");
	tap_int((long long)budget.used_bytes, 0, "all pools were released");
}

/* ---- any order ----------------------------------------------------------------------------- */

/* Random records: time is neither lost nor invented, and nothing reads outside of a table. */
static void test_random(void)
{
	bool ok = true;
	uint64_t x = 88172645463325252u;
	const struct waits_place clock = { .stack = 2 };
	for (int round = 0; round < 300; round++) {
		struct waits w;
		begin(&w);
		w.has_clock = true;
		w.is_thinned = round & 1;
		w.start_ns = 1000;
		uint64_t now = 900;
		for (uint32_t tid = 1; tid < 8; tid++)
			waits_add_thread(&w, 7, tid);
		for (int i = 0; i < 300; i++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			uint32_t tid = (uint32_t)(x >> 8) % 7 + 1;
			now += x >> 40 & 31;
			switch (x >> 16 & 7) {
			case 0: sample(&w, now, tid, 1); break;
			case 1: out(&w, now, tid, x >> 30 & 1); break;
			case 2: in(&w, now, tid); break;
			case 3: waits_clock(&w, 7, tid, now, clock); break;
			case 4: lost(&w, now); break;
			case 5: look(&w, now - 5, now, tid, 3); break;
			case 6: count_unread(&w, now, 4); break;
			default: waits_settle(&w, now); break;
			}
		}
		waits_settle(&w, now);
		for (uint32_t tid = 1; tid < 8; tid++)
			ok &= waiting_ns[tid] + running_ns[tid] <= now - 1000;
		ok &= sum_ns <= 7 * (now - 1000) && (w.n_torn || sum_ns == 7 * (now - 1000));
		waits_done(&w);
	}
	tap_ok(ok, "no thread has more time than has passed");
}

int main(void)
{
	test_waits();
	test_runs();
	test_lost();
	test_ends();
	test_processes();
	test_looks();
	test_functions();
	test_polls();
	test_thinned();
	test_readings();
	test_random();
	return tap_done();
}
