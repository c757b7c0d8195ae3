/*
 * A process whose creation has begun when events are opened on its creator: it is sampled once,
 * whether it appears before the events are enabled or after.  And threads that have two sets of
 * events, and what these create.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "event/evparse.h"
#include "event/evspec.h"
#include "source/live/live-private.h"
#include "source/source.h"
#include "tests/unit/tap.h"

#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAPPINGS 50000u
#define WORK_MS 300u

static struct err e;
static struct host host;
static struct evspec_list events;

/* ---- the target: its fork(2) takes long, because of its many mappings ------------------- */

static pid_t target;
static int target_fd;             /* says when it is ready; then, when the child works */
static bool is_told;

static void wait_for_signal(int number)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, number);
	sigwait(&set, &number);
}

static _Noreturn void target_main(int fd)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, MAPPINGS * page_bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (size_t i = 0; p != MAP_FAILED && i < MAPPINGS; i++) {
		p[i * page_bytes] = 1;
		if (i % 2)
			mprotect(p + i * page_bytes, page_bytes, PROT_READ);
	}
	if (write(fd, "r", 1) != 1)
		_exit(1);
	wait_for_signal(SIGUSR1);
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(fd, "w", 1) != 1)
			_exit(1);
		uint64_t end_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) +
				  WORK_MS * UINT64_C(1000000);
		while (clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns)
			for (volatile int i = 0; i < 20000; i++)
				;
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	_exit(0);
}

static bool start_target(void)
{
	int fd[2];
	char c;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (pipe(fd) < 0)
		return false;
	is_told = false;
	target = fork();
	if (target == 0)
		target_main(fd[1]);
	close(fd[1]);
	target_fd = fd[0];
	return read(target_fd, &c, 1) == 1;
}

static int state_of_target(void)
{
	char path[64], text[512] = { 0 };
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)target);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f)
		fclose(f);
	const char *p = n ? strrchr(text, ')') : NULL;
	return p ? p[2] : 0;
}

/* Before its first event is opened, the target begins to fork. */
static int open_during_fork(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
			    unsigned long flags)
{
	if (pid == target && !is_told) {
		is_told = true;
		while (state_of_target() == 'R')
			usleep(1000);
		kill(target, SIGUSR1);
		while (state_of_target() == 'S')
			;
		usleep(1000);
	}
	return evopen_syscall(attr, pid, cpu, group_fd, flags);
}

/* ---- recording ------------------------------------------------------------------------ */

static uint64_t drain(struct source *s)
{
	struct record r;
	uint64_t sum = 0;
	while (source_next(s, &r, &e) == SOURCE_RECORD)
		if (r.type == PERF_RECORD_SAMPLE && r.pid != (uint32_t)target)
			sum += r.sample.period;
	return sum;
}

static bool has_ended(void)
{
	siginfo_t info = { 0 };
	return waitid(P_PID, (id_t)target, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid;
}

/* appears: the child does so before the events are enabled. */
static void test_fork(bool appears)
{
	const char *name = appears ? "it has appeared before events are enabled"
				   : "it appears afterwards";
	struct source *s = NULL;
	char c;
	if (!start_target()) {
		tap_ok(false, "%s: the target starts", name);
		return;
	}
	const struct live_options o = {
		.event = events.v, .n_events = events.n, .scope = LIVE_TASK,
		.attr = { .inherit = true, .only_user = true, .rate_default_hz = 1000,
			  .rate_max_hz = 10000 },
		.open = { .fn = open_during_fork, .host = &host, .allow_user_only = true },
		.pid = &target, .n_pids = 1,
	};
	if (live_open(&o, &s, &e) < 0) {
		tap_skip(name, e.what);
		kill(target, SIGKILL);
	} else {
		uint64_t sum = 0;
		bool was_in_fork = state_of_target() == 'R' || state_of_target() == 'D';
		if (appears)
			was_in_fork &= read(target_fd, &c, 1) == 1;
		if (!was_in_fork)
			printf("# fork(2) was over before events were opened\n");
		source_enable(s, &e);
		while (!has_ended()) {
			source_wait(s, 20, NULL, 0, NULL);
			sum += drain(s);
		}
		source_disable(s);
		sum += drain(s);
		unsigned long percent = sum / (WORK_MS * 10000u);
		tap_ok(percent > 50 && percent < 105,
		       "%s: %lu %% of the child's time is sampled", name, percent);
		source_close(s);
	}
	waitpid(target, NULL, 0);
	close(target_fd);
}

/* ---- two sets of events ----------------------------------------------------------------- */

enum { CREATOR = 100, LATE = 101, CHILD = 102, OF_CREATOR = 1, OF_LATE = 2 };

static void test_double(void)
{
	struct live l = { .options = { .scope = LIVE_TASK } };
	struct live_ring ring = { 0 };
	const struct live_id of_creator = { .id = OF_CREATOR, .tid = CREATOR };
	struct live_id of_late = { .id = OF_LATE, .tid = LATE };
	VEC_PUSH(&l.late, ((struct live_late){ .tid = LATE }));
	tap_ok(live_awaits_proof(&l, &ring, &of_late, LATE) &&
	       !live_awaits_proof(&l, &ring, &of_late, LATE) &&
	       !live_awaits_proof(&l, &ring, &of_late, CHILD), "one sample does not count");
	tap_ok(!live_is_double(&l, &ring, &of_late, LATE) &&
	       !live_is_double(&l, &ring, &of_late, CHILD), "a thread's own events count at first");
	tap_ok(!live_is_double(&l, &ring, &of_creator, LATE), "and those that it has inherited");
	tap_ok(live_is_double(&l, &ring, &of_late, LATE), "which make its own ones superfluous");
	tap_ok(live_is_double(&l, &ring, &of_late, CHILD), "also in what it has created");
	tap_ok(!live_is_double(&l, &ring, &of_creator, CHILD), "which has both");
	VEC_FREE(&l.late);
}

static struct record fork_of(uint32_t ptid, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	return (struct record){ .type = PERF_RECORD_FORK, .pid = pid, .tid = tid,
				.time_ns = time_ns,
				.fork = { .ppid = CREATOR, .ptid = ptid } };
}

static void test_note(void)
{
	struct live l = { .options = { .scope = LIVE_TASK } };
	struct live_id id = { .id = OF_CREATOR, .tid = CREATOR };
	struct record r = fork_of(CREATOR, CREATOR, LATE, 1000);
	livebirth_note(&l, &id, &r);
	tap_int((long)l.births.next.n, 0, "before events are enabled, nothing is noted");
	l.births.since_ns = 500;
	r = fork_of(LATE, CREATOR, CHILD, 1000);
	livebirth_note(&l, &id, &r);
	livebirth_note(&l, NULL, &r);
	tap_int((long)l.births.next.n, 0, "what a younger thread creates has inherited events");
	r = fork_of(CREATOR, CREATOR, LATE, 1000);
	livebirth_note(&l, &id, &r);
	livebirth_note(&l, &id, &r);
	tap_ok(l.births.next.n == 1 && l.births.next.v[0].tid == LATE,
	       "the first thread that another one creates is noted");
	id.has_created = false;
	r = fork_of(CREATOR, CREATOR, LATE, 500 + 2 * CLOCK_SECOND_NS);
	livebirth_note(&l, &id, &r);
	tap_int((long)l.births.next.n, 1, "but not after some time");
	id.has_created = false;
	r = fork_of(CREATOR, LATE, LATE, 500 + 2 * CLOCK_SECOND_NS);
	livebirth_note(&l, &id, &r);
	tap_int((long)l.births.next.n, 2, "a process may need more of it");
	livebirth_done(&l);
}

int main(void)
{
	test_double();
	test_note();
	if (host_open(&host, NULL, NULL, NULL, &e) < 0 ||
	    evparse_list(&events, NULL, "task-clock/period=1000000/", &e) < 0) {
		tap_skip("events are opened during fork(2)", e.what);
		return tap_done();
	}
	test_fork(false);
	test_fork(true);
	evspec_list_done(&events);
	host_close(&host);
	return tap_done();
}
