/* Waits of tasks, such as goroutines, as readings of a program's memory show them. */

#include "agg/stacks.h"
#include "base/budget.h"
#include "engine/waits-tasks.h"
#include "engine/waits.h"
#include "tests/unit/tap.h"

#include <math.h>
#include <string.h>

#define PID 7u
#define DSO 3u

static struct budget budget;
static struct waits w;
static struct waits_reading reading;
static char text[2048];

static void note_piece(void *ctx, const struct waits_piece *p)
{
	size_t len = strlen(text);
	snprintf(text + len, sizeof(text) - len, "%s%u:%s:%u:%llu*%llu%s", len ? " " : "", p->pid,
		 waits_state_name(p->state), p->at.stack, (unsigned long long)p->ns,
		 (unsigned long long)p->n, p->is_below ? " short" : "");
	tap_ok(p->task_rest_ns && p->tid == 0 && ctx == NULL, "it is of a task, not of a thread");
}

static void begin(void)
{
	budget_init(&budget, 0);
	waits_init(&w, &budget, note_piece, NULL);
	text[0] = '\0';
}

static void end(const char *want, const char *name)
{
	tap_str(text, want, name);
	waits_done(&w);
	tap_int((long long)budget.used_bytes, 0, "everything was released");
}

static void at(uint64_t from_ns, uint64_t now_ns)
{
	tap_ok(waits_tasks_begin(&w, PID, DSO, from_ns, now_ns, &reading), "a reading begins");
}

static void see(uint64_t id, uint8_t runs, enum waits_task_state state, uint32_t stack)
{
	if ((state == WAITS_TASK_LOCKED || state == WAITS_TASK_READY) &&
	    waits_tasks_continue(&reading, id, runs, state))
		return;
	waits_tasks_add(&reading, &(struct waits_task_seen){
		.id = id, .runs = runs, .state = state,
		.at = { .stack = stack, .reason = WAITS_FOR_LOCK },
	});
}

static void test_times(void)
{
	begin();
	at(100, 150);
	see(1, 9, WAITS_TASK_LOCKED, 4);
	waits_tasks_end(&reading);
	at(0, 200);
	see(1, 9, WAITS_TASK_LOCKED, 5);
	waits_tasks_end(&reading);
	at(0, 260);
	see(1, 10, WAITS_TASK_LOCKED, 5);
	waits_tasks_end(&reading);
	at(0, 300);
	see(1, 10, WAITS_TASK_RUNS, 0);
	waits_tasks_end(&reading);
	waits_settle(&w, 400);
	end("7:blocked:4:50*1 7:blocked:4:50*0 7:blocked:5:60*1",
	    "a wait keeps its place until the task has run; time is counted where it is seen");

	begin();
	at(0, 100);
	see(1, 0, WAITS_TASK_LOCKED, 4);
	waits_tasks_end(&reading);
	waits_settle(&w, 130);
	at(0, 150);
	see(1, 0, WAITS_TASK_LOCKED, 4);
	waits_tasks_end(&reading);
	waits_tasks_forget(&w, PID, 170);
	waits_settle(&w, 200);
	end("7:blocked:4:100*1 7:blocked:4:30*0 7:blocked:4:20*0 7:blocked:4:20*0",
	    "what goes on is counted up to any time, and up to the end of its process");

	begin();
	w.start_ns = 120;
	w.end_ns = 180;
	at(0, 110);
	see(1, 0, WAITS_TASK_LOCKED, 4);
	waits_tasks_end(&reading);
	at(0, 150);
	see(1, 0, WAITS_TASK_LOCKED, 4);
	waits_tasks_end(&reading);
	waits_settle(&w, 300);
	end("7:blocked:4:30*1 7:blocked:4:30*0", "only the window counts, and a wait in it once");
}

/* Few threads, or a busy machine: a task is ready for longer than it has waited. */
static void test_ready(void)
{
	begin();
	at(0, 100);
	see(1, 9, WAITS_TASK_LOCKED, 4);
	waits_tasks_end(&reading);
	at(0, 150);
	see(1, 9, WAITS_TASK_READY, 5);
	waits_tasks_end(&reading);
	at(0, 400);
	see(1, 9, WAITS_TASK_READY, 5);
	waits_tasks_end(&reading);
	waits_settle(&w, 410);
	at(0, 420);
	see(1, 9, WAITS_TASK_RUNS, 0);
	see(2, 3, WAITS_TASK_READY, 6);
	waits_tasks_end(&reading);
	at(0, 430);
	see(1, 10, WAITS_TASK_LOCKED, 4);
	see(2, 4, WAITS_TASK_LOCKED, 6);
	waits_tasks_end(&reading);
	end("7:blocked:4:100*1 7:runnable:4:50*0 7:runnable:4:250*0 7:runnable:4:10*0 "
	    "7:runnable:6:10*1 7:blocked:4:10*1 7:blocked:6:10*1",
	    "its wait lasts until it runs, at one place, and is one");
}

static void test_numbers(void)
{
	begin();
	at(0, 10);
	see(1, 250, WAITS_TASK_RUNS, 0);
	see(2, 5, WAITS_TASK_ELSEWHERE, 0);
	waits_tasks_end(&reading);
	at(0, 20);
	see(1, 252, WAITS_TASK_RUNS, 0);
	see(2, 8, WAITS_TASK_LOCKED, 6);
	waits_tasks_end(&reading);
	at(0, 30);
	see(1, 2, WAITS_TASK_LOCKED, 4);
	see(2, 12, WAITS_TASK_ELSEWHERE, 0);
	see(3, 0, WAITS_TASK_LOCKED, 5);
	waits_tasks_end(&reading);
	at(0, 40);
	see(2, 13, WAITS_TASK_LOCKED, 6);
	waits_tasks_end(&reading);
	end("7:blocked:6:10*1 7:blocked:4:10*1 7:blocked:5:10*1 7:blocked:6:10*3",
	    "waits that no reading has met count where they are likely; counters wrap");

	begin();
	w.min_ns = 15;
	at(0, 10);
	see(1, 0, WAITS_TASK_LOCKED, 4);
	waits_tasks_end(&reading);
	at(0, 30);
	see(1, 0, WAITS_TASK_LOCKED, 4);
	waits_tasks_end(&reading);
	end("7:blocked:4:10*1 short 7:blocked:4:20*0", "how long it has been seen waiting");
}

static uint64_t n_counted[3];

static void sum_pieces(void *ctx, const struct waits_piece *p)
{
	(void)ctx;
	n_counted[p->at.stack] += p->n;
}

/* Exponential; a negative mean: all are that long. */
static double random_length(uint64_t *seed, double mean)
{
	if (mean < 0)
		return -mean;
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return -mean * log(((double)(*seed >> 11) + 0.5) / 9007199254740992.0);
}

#define APART_NS 1000u

/* One task waits in turn at 1, for something else, and at 2, and its means are these; it leaves its
 * thread n_calls times in each turn without waiting.  Returns how many turns it had. */
static uint64_t simulate(double first, double elsewhere, double second, unsigned n_calls)
{
	const double mean[3] = { first, elsewhere, second };
	uint64_t seed = 1, n_turns = 0;
	uint8_t runs = 0;
	double end_ns = 0;
	unsigned what = 2;
	begin();
	w.count = sum_pieces;
	memset(n_counted, 0, sizeof(n_counted));
	for (uint64_t now_ns = APART_NS; now_ns < 4000u * APART_NS; now_ns += APART_NS) {
		while (end_ns < (double)now_ns) {
			what = (what + 1) % 3;
			n_turns += what == 0;
			runs += (uint8_t)(1 + (what == 0 ? n_calls : 0));
			end_ns += random_length(&seed, mean[what]);
		}
		waits_tasks_begin(&w, PID, DSO, 0, now_ns, &reading);
		see(1, runs, what == 1 ? WAITS_TASK_ELSEWHERE : WAITS_TASK_LOCKED,
		    what == 0 ? 1 : 2);
		waits_tasks_end(&reading);
	}
	waits_done(&w);
	return n_turns;
}

static void is_near(uint64_t got, uint64_t want, double part, const char *name)
{
	tap_ok(fabs((double)got / (double)want - 1) < part, "%s: %llu of %llu", name,
	       (unsigned long long)got, (unsigned long long)want);
}

static void test_estimates(void)
{
	uint64_t n = simulate(7000, 3000, 2000, 0);
	is_near(n_counted[1], n, 0.1, "long waits");
	is_near(n_counted[2], n, 0.1, "others in the same turn");
	n = simulate(2000, 600, 1000, 20);
	is_near(n_counted[1], n, 0.1, "system calls do not count as waits");
	is_near(n_counted[2], n, 0.15, "nor elsewhere");
	n = simulate(-1300, 600, 1000, 20);
	is_near(n_counted[1], n, 0.1, "waits of equal length are all met");
	n = simulate(5000, 10, 5000, 0);
	is_near(n_counted[1], n, 0.1, "hardly any were not met");
	n = simulate(100, 2000, 100, 0);
	tap_ok(n_counted[1] + n_counted[2] <= 3 * n, "short waits: no more than there can be");
}

static void move_place(void *ctx, struct waits_place *place)
{
	(void)ctx;
	place->stack += 100;
}

static void test_processes(void)
{
	uint32_t dso = 0;
	begin();
	tap_ok(!waits_tasks_has(&w, PID, &dso), "no tasks of the process are read");
	at(0, 10);
	see(1, 0, WAITS_TASK_LOCKED, 4);
	see(2, 0, WAITS_TASK_RUNS, 4);
	waits_tasks_end(&reading);
	tap_ok(waits_tasks_has(&w, PID, &dso) && dso == DSO && w.has_tasks, "then they are");
	tap_ok(waits_tasks_begin(&w, PID + 1, DSO, 0, 12, &reading), "another process");
	see(1, 0, WAITS_TASK_LOCKED, 5);
	waits_tasks_end(&reading);
	waits_each_place(&w, move_place, NULL);
	waits_settle(&w, 20);
	waits_tasks_forget(&w, PID, 20);
	waits_tasks_forget(&w, PID, 30);
	waits_settle(&w, 40);
	tap_ok(!waits_tasks_has(&w, PID, &dso) && waits_tasks_has(&w, PID + 1, &dso),
	       "the other one goes on");
	end("7:blocked:4:10*1 8:blocked:5:12*1 7:blocked:104:10*0 8:blocked:105:8*0 "
	    "8:blocked:105:20*0", "places get the new ids of their stacks");
}

int main(void)
{
	test_times();
	test_ready();
	test_numbers();
	test_estimates();
	test_processes();
	return tap_done();
}
