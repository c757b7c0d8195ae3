#include "base/budget.h"
#include "base/err.h"
#include "base/host.h"
#include "base/strtab.h"
#include "cprof.h"
#include "proc/procs.h"
#include "recorder/coverage.h"
#include "source/record.h"
#include "tests/unit/tap.h"

#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static struct host host;
static struct strtab strings;
static struct dso_table dsos;
static struct procs procs;

static void burn_ms(uint64_t ms)
{
	struct timespec t;
	uint64_t now, end = 0;
	do {
		for (volatile int i = 0; i < 20000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
		end = end ? end : now + ms * MS;
	} while (now < end);
}

/* A child that burns ms, again when told to, then reports that and waits for its end. */
struct child {
	pid_t pid;
	int go, done;
};

static struct child start_child(uint64_t ms, void (*work)(void))
{
	struct child c;
	int go[2], done[2];
	char byte;
	if (pipe(go) < 0 || pipe(done) < 0)
		exit(1);
	c.pid = fork();
	if (c.pid == 0) {
		close(go[1]);
		burn_ms(ms);
		while (write(done[1], "", 1) == 1 && read(go[0], &byte, 1) == 1)
			work();
		_exit(0);
	}
	close(go[0]);
	close(done[1]);
	c.go = go[1];
	c.done = done[0];
	if (read(c.done, &byte, 1) != 1)
		exit(1);
	return c;
}

static void let_work(struct child *c)
{
	char byte;
	if (write(c->go, "", 1) != 1 || read(c->done, &byte, 1) != 1)
		exit(1);
}

static void end_child(struct child *c)
{
	close(c->go);
	close(c->done);
	waitpid(c->pid, NULL, 0);
}

static void work_100(void)
{
	burn_ms(100);
}

static void work_in_child(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		burn_ms(200);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static bool about(uint64_t ns, uint64_t ms)
{
	bool ok = ns >= ms * MS - 15 * MS && ns <= ms * MS + 60 * MS;
	if (!ok)
		printf("# %llu us, want about %llu ms\n", (unsigned long long)ns / 1000,
		       (unsigned long long)ms);
	return ok;
}

static void test_process(void)
{
	struct coverage c;
	struct child child = start_child(150, work_100);
	tap_int(coverage_init(&c, &host, &child.pid, 1, NULL, 0, 0, true, NULL), 0, "one process");
	coverage_start(&c);
	let_work(&child);
	coverage_stop(&c, &procs);
	tap_ok(c.known && about(c.used_ns, 100), "what it used since the start, and not before");
	coverage_done(&c);

	coverage_init(&c, &host, &child.pid, 1, NULL, 0, 0, false, NULL);
	coverage_start(&c);
	coverage_stop(&c, &procs);
	tap_ok(!c.known, "without later threads it is unknown");
	coverage_done(&c);

	coverage_init(&c, &host, &child.pid, 1, NULL, 0, 0, true, NULL);
	coverage_start(&c);
	end_child(&child);
	coverage_stop(&c, &procs);
	tap_ok(!c.known, "it is unknown for a process that has ended");
	coverage_done(&c);
}

static void test_children(void)
{
	struct coverage c;
	struct child child = start_child(1, work_in_child);
	coverage_init(&c, &host, &child.pid, 1, NULL, 0, 0, true, NULL);
	coverage_start(&c);
	let_work(&child);
	coverage_stop(&c, &procs);
	tap_ok(c.known && about(c.used_ns, 200), "a child that it waited for");
	coverage_done(&c);

	/* A living child is known by its FORK. */
	struct child grandchild = start_child(100, work_100);
	struct record r = { .type = PERF_RECORD_FORK, .pid = (uint32_t)grandchild.pid,
			    .tid = (uint32_t)grandchild.pid,
			    .fork = { .ppid = (uint32_t)child.pid, .ptid = (uint32_t)child.pid } };
	coverage_init(&c, &host, &child.pid, 1, NULL, 0, 0, true, NULL);
	coverage_start(&c);
	procs_feed(&procs, &r, true);
	coverage_stop(&c, &procs);
	tap_ok(c.known && about(c.used_ns, 100), "a living child, from its birth");
	coverage_done(&c);
	end_child(&grandchild);
	end_child(&child);
}

static struct child inner;  /* of the child, from before the recording */

static void start_or_end_inner(void)
{
	if (inner.pid)
		end_child(&inner);
	else
		inner = start_child(100, work_100);
}

static void test_child_from_before(void)
{
	struct coverage c;
	struct child child = start_child(1, start_or_end_inner);
	let_work(&child);
	coverage_init(&c, &host, &child.pid, 1, NULL, 0, 0, true, NULL);
	coverage_start(&c);
	coverage_stop(&c, &procs);
	tap_ok(c.known && c.used_ns < 30 * MS, "a child from before the recording has no part");
	uint64_t ns;
	tap_ok(coverage_used(&c, &procs, &ns), "until it ends the sum is known");
	let_work(&child);
	coverage_stop(&c, &procs);
	tap_ok(!c.known, "its end adds its time to the parent's account, so the sum is unknown");
	coverage_done(&c);
	end_child(&child);
}

static void test_command(void)
{
	struct coverage c;
	struct child child = start_child(50, work_100);
	coverage_init(&c, &host, NULL, 0, NULL, 0, child.pid, true, NULL);
	coverage_start(&c);
	let_work(&child);
	close(child.go);
	close(child.done);
	struct rusage use;
	wait4(child.pid, NULL, 0, &use);
	coverage_command_used(
		&c, (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000 * MS +
			    (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1000);
	coverage_stop(&c, &procs);
	tap_ok(c.known && about(c.used_ns, 100), "a command that has ended, by wait4");
	coverage_done(&c);
}

static int let_thread[2], thread_did[2];
static pid_t thread_id;

static void *thread_main(void *ctx)
{
	char byte;
	(void)ctx;
	thread_id = (pid_t)syscall(SYS_gettid);
	burn_ms(50);
	if (write(thread_did[1], "", 1) == 1 && read(let_thread[0], &byte, 1) == 1) {
		burn_ms(100);
		if (write(thread_did[1], "", 1) == 1 && read(let_thread[0], &byte, 1) == 1)
			return NULL;
	}
	return NULL;
}

static void test_thread(void)
{
	struct coverage c;
	pthread_t t;
	char byte;
	if (pipe(let_thread) < 0 || pipe(thread_did) < 0 ||
	    pthread_create(&t, NULL, thread_main, NULL) != 0 || read(thread_did[0], &byte, 1) != 1)
		exit(1);
	coverage_init(&c, &host, NULL, 0, &thread_id, 1, 0, false, NULL);
	coverage_start(&c);
	burn_ms(50);
	tap_ok(write(let_thread[1], "", 1) == 1 && read(thread_did[0], &byte, 1) == 1,
	       "a thread works");
	coverage_stop(&c, &procs);
	tap_ok(c.known && about(c.used_ns, 100), "a thread alone, not its process");
	coverage_done(&c);
	coverage_init(&c, &host, NULL, 0, &thread_id, 1, 0, true, NULL);
	coverage_start(&c);
	coverage_stop(&c, &procs);
	tap_ok(!c.known, "the CPU time of a thread's children is unknown");
	coverage_done(&c);
	if (write(let_thread[1], "", 1) == 1)
		pthread_join(t, NULL);
}

static struct cprof_config config;
static struct cprof_stats stats;
static struct cprof_event_stats event;

/* A recording of two seconds by a clock, all of it covered. */
static void begin(void)
{
	config = (struct cprof_config){ .n_events = 0 };
	stats = (struct cprof_stats){ .cpu_used_known = true, .cpu_used_ns = 2000000000 };
	event = (struct cprof_event_stats){
		.name = "cpu-clock", .is_clock = true, .value = 2000000000,
	};
}

static void test_percent(void)
{
	begin();
	event.value = 500000000;
	tap_int((int)coverage_percent(&config, &stats, &event), 25,
		"a quarter is covered");
	stats.cpu_used_known = false;
	tap_ok(coverage_percent(&config, &stats, &event) < 0, "unknown CPU time");
	stats.cpu_used_known = true;
	stats.cpu_used_ns = 0;
	tap_ok(coverage_percent(&config, &stats, &event) < 0, "no CPU time");
	begin();
	config.only_user = true;
	tap_ok(coverage_percent(&config, &stats, &event) < 0, "user code only");
	begin();
	config.only_kernel = true;
	tap_ok(coverage_percent(&config, &stats, &event) < 0, "kernel");
	begin();
	event.given_up_kernel = true;
	tap_ok(coverage_percent(&config, &stats, &event) < 0, "kernel code given up");
	begin();
	event.is_clock = false;
	event.counted = 4000000000;
	tap_ok(coverage_percent(&config, &stats, &event) < 0, "a counter of all tasks");
	event.counted_target = true;
	tap_int((int)coverage_percent(&config, &stats, &event), 50, "a counter of the target");
	begin();
	event.name = "cpu-clock:u";
	tap_ok(coverage_percent(&config, &stats, &event) < 0, "one side by the event's modifier");
}

int main(void)
{
	struct err e;
	if (host_open(&host, NULL, NULL, NULL, &e) < 0 || strtab_init(&strings, NULL) < 0 ||
	    dso_table_init(&dsos, NULL) < 0 ||
	    procs_init(&procs, NULL, &strings, &dsos, NULL) < 0) {
		printf("Bail out! no memory\n");
		return 1;
	}
	test_process();
	test_children();
	test_child_from_before();
	test_command();
	test_thread();
	test_percent();
	procs_done(&procs);
	dso_table_done(&dsos);
	strtab_done(&strings);
	host_close(&host);
	return tap_done();
}
