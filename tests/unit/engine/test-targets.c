#include "engine/targets.h"
#include "source/record.h"
#include "tests/unit/tap.h"

#include <linux/perf_event.h>
#include <stdlib.h>

static bool fork_to(struct targets *t, uint32_t ppid, uint32_t ptid, uint32_t pid, uint32_t tid)
{
	struct record r = { .type = PERF_RECORD_FORK, .pid = pid, .tid = tid,
			    .fork = { .ppid = ppid, .ptid = ptid } };
	return targets_feed(t, &r);
}

static bool exit_of(struct targets *t, uint32_t pid, uint32_t tid)
{
	struct record r = { .type = PERF_RECORD_EXIT, .pid = pid, .tid = tid };
	return targets_feed(t, &r);
}

static bool comm_of(struct targets *t, uint32_t pid, uint32_t tid, bool exec)
{
	struct record r = { .type = PERF_RECORD_COMM, .pid = pid, .tid = tid,
			    .comm = { .comm = "x", .exec = exec } };
	return targets_feed(t, &r);
}

static bool mmap_of(struct targets *t, uint32_t pid)
{
	struct record r = { .type = PERF_RECORD_MMAP2, .pid = pid, .tid = pid };
	return targets_feed(t, &r);
}

static void test_processes(void)
{
	struct targets t;
	targets_init(&t, true);
	tap_ok(!targets_has(&t, 10, 10) && !targets_has(&t, 0, 0), "initially nothing is a target");
	tap_ok(!mmap_of(&t, 10), "and no records are wanted");
	tap_int(targets_add_pid(&t, 10), 0, "a process");
	tap_ok(targets_has(&t, 10, 10) && targets_has(&t, 10, 11), "all its threads are targets");
	tap_ok(!targets_has(&t, 11, 11), "another process is not");
	tap_ok(!targets_has(&t, 0, 0), "the idle task never is");
	tap_ok(mmap_of(&t, 10) && !mmap_of(&t, 11), "its maps are wanted, others' are not");

	tap_ok(fork_to(&t, 10, 10, 20, 20), "a target's fork is relevant");
	tap_ok(targets_has(&t, 20, 20), "the child is followed");
	tap_ok(fork_to(&t, 20, 20, 30, 30) && targets_has(&t, 30, 30), "and its child");
	tap_ok(!fork_to(&t, 11, 11, 40, 40) && !targets_has(&t, 40, 40), "another's child is not");
	tap_ok(exit_of(&t, 20, 20), "its exit is relevant");
	tap_ok(targets_has(&t, 20, 20), "samples during exit still count");
	tap_ok(targets_has(&t, 10, 10) && targets_has(&t, 30, 30),
	       "its relatives are still targets");
	tap_ok(!fork_to(&t, 11, 11, 20, 20), "another process forks a child with a reused id");
	tap_ok(!targets_has(&t, 20, 20) && !targets_has(&t, 20, 21), "which is not a target");
	tap_ok(fork_to(&t, 30, 30, 20, 20) && targets_has(&t, 20, 20), "unless a target forks it");
	targets_done(&t);

	targets_init(&t, false);
	targets_add_pid(&t, 10);
	tap_ok(fork_to(&t, 10, 10, 20, 20) && !targets_has(&t, 20, 20),
	       "without following, a child is not a target");
	tap_ok(!mmap_of(&t, 20), "nor are its maps wanted");
	targets_done(&t);
}

static void test_threads(void)
{
	struct targets t;
	targets_init(&t, true);
	tap_int(targets_add_tid(&t, 10, 11), 0, "a single thread");
	tap_ok(targets_has(&t, 10, 11) && !targets_has(&t, 10, 10) && !targets_has(&t, 10, 12),
	       "only that thread is a target");
	tap_ok(mmap_of(&t, 10), "its process's maps are wanted");
	tap_ok(comm_of(&t, 10, 10, false), "and its process's names");
	tap_ok(fork_to(&t, 10, 11, 10, 13) && targets_has(&t, 10, 13),
	       "a thread that it creates is followed");
	fork_to(&t, 10, 10, 10, 14);
	tap_ok(!targets_has(&t, 10, 14), "a thread that another one creates is not");
	tap_ok(fork_to(&t, 10, 11, 20, 20) && targets_has(&t, 20, 20) && targets_has(&t, 20, 22),
	       "a process that it forks is, with all its threads");
	exit_of(&t, 10, 11);
	tap_ok(!targets_has(&t, 10, 11), "after its exit it is not a target");
	fork_to(&t, 10, 10, 10, 11);
	tap_ok(!targets_has(&t, 10, 11), "nor is a thread that gets its id");
	targets_done(&t);

	targets_init(&t, false);
	targets_add_tid(&t, 10, 11);
	fork_to(&t, 10, 11, 10, 13);
	tap_ok(!targets_has(&t, 10, 13), "without following, its threads are not targets");
	fork_to(&t, 50, 50, 60, 11);
	tap_ok(!targets_has(&t, 60, 11), "a reused id elsewhere is not a target");
	targets_done(&t);
}

static void test_command(void)
{
	struct targets t;
	targets_init(&t, true);
	targets_add_command(&t, 10);
	tap_ok(!targets_has(&t, 10, 10), "a waiting command is not a target");
	tap_ok(!mmap_of(&t, 10) && !comm_of(&t, 10, 10, false), "nor are its records wanted");
	tap_ok(!comm_of(&t, 11, 11, true), "the exec of another process changes nothing");
	tap_ok(!targets_has(&t, 10, 10), "it is still waiting");
	tap_ok(comm_of(&t, 10, 10, true), "its exec is relevant");
	tap_ok(targets_has(&t, 10, 10) && targets_has(&t, 10, 12) && mmap_of(&t, 10),
	       "from then on it is a target");
	tap_ok(comm_of(&t, 10, 10, true) && targets_has(&t, 10, 10),
	       "a second exec changes nothing");
	fork_to(&t, 10, 10, 20, 20);
	tap_ok(targets_has(&t, 20, 20), "and its children are");
	targets_done(&t);

	targets_init(&t, false);
	targets_add_command(&t, 10);
	comm_of(&t, 10, 10, true);
	fork_to(&t, 10, 10, 20, 20);
	fork_to(&t, 10, 10, 10, 12);
	tap_ok(targets_has(&t, 10, 10), "without following: the command");
	tap_ok(!targets_has(&t, 20, 20), "not its children");
	tap_ok(!targets_has(&t, 10, 12), "not its later threads");
	targets_done(&t);

	targets_init(&t, true);
	t.all = true;
	targets_add_command(&t, 10);
	tap_ok(!targets_has(&t, 10, 10) && targets_has(&t, 5, 5),
	       "if the kernel filters, everything but the waiting command is a target");
	tap_ok(comm_of(&t, 10, 10, true) && targets_has(&t, 10, 10), "until its exec");
	targets_done(&t);
}

/* The set compared with an array of flags. */
static void test_set(void)
{
	static bool want[4096];
	struct targets t;
	bool same = true;
	targets_init(&t, true);
	srand(7);
	for (int i = 0; i < 40000; i++) {
		uint32_t pid = 1 + (uint32_t)rand() % 4095;
		if (rand() % 2) {
			targets_add_pid(&t, pid);
			want[pid] = true;
		} else {
	/* pid 5000 is never a target, so its child loses the id */
			fork_to(&t, 5000, 5000, pid, pid);
			want[pid] = false;
		}
		if (i % 500 == 0)
			for (uint32_t k = 1; k < 4096; k++)
				same &= targets_has(&t, k, 9999) == want[k];
	}
	tap_ok(same, "40000 additions and removals leave the right ids");
	uint32_t n = 0;
	for (uint32_t k = 1; k < 4096; k++)
		n += want[k];
	tap_int(t.pids.n, n, "and their number");
	targets_done(&t);
}

static void test_all(void)
{
	struct targets t;
	targets_init(&t, true);
	t.all = true;
	tap_ok(targets_has(&t, 0, 0), "all tasks: the idle one, too");
	t.no_idle = true;
	tap_ok(!targets_has(&t, 0, 0) && targets_has(&t, 1, 1) && targets_has(&t, 2, 2),
	       "all tasks but the idle one");
	targets_done(&t);
}

int main(void)
{
	test_all();
	test_processes();
	test_threads();
	test_command();
	test_set();
	return tap_done();
}
