#include "base/host.h"
#include "proc/threadread.h"
#include "source/record.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const struct callregs_numbers x86 = { .sp = 7, .pc = 8, .arg = { 5, 4, 3 } };

static void test_lines(void)
{
	struct threadread_call c = { 0 };
	tap_ok(threadread_parse("230 0x5 0x0 0x7ffe 0x0 0x0 0x1 0x7ffd10 0x401000\n", &c),
	       "a thread in a system call");
	tap_ok(c.syscall == 230 && c.sp == 0x7ffd10 && c.pc == 0x401000, "its number, sp and pc");
	tap_ok(c.arg[0] == 5 && c.arg[2] == 0x7ffe && c.arg[5] == 1, "and its arguments");
	tap_ok(threadread_parse("-1 0x7ffd20 0x401010", &c), "one in a page fault");
	tap_ok(c.syscall == -1 && c.sp == 0x7ffd20 && c.pc == 0x401010 && !c.arg[0],
	       "has no number");
	static const char *const bad[] = {
		"running\n", "", "0\n", "0 0x1 0x2\n", "-1 0x1\n", "-1 0x 0x1\n", "-1 1 2\n",
		"-2 0x1 0x2\n", "-1 0x1 0x2 0x3\n", "-1 0x1ffffffffffffffff 0x2\n", "x 0x1 0x2\n",
		"99999999999999999999 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1\n",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		tap_ok(!threadread_parse(bad[i], &c), "bad line %zu", i);
}

static void test_states(void)
{
	tap_int(threadread_state("71 (a) b) D 1 71"), 'D',
		"the state, after a name with a parenthesis");
	tap_int(threadread_state("71 (a) "), 0, "it is missing");
	tap_int(threadread_state(""), 0, "so is everything");
}

static void test_times(void)
{
	struct threadread_times t = { 0 };
	tap_ok(threadread_parse_times("1047463 14600 3\n", &t), "a thread's account");
	tap_ok(t.run_ns == 1047463 && t.ready_ns == 14600 && t.n_runs == 3, "its three numbers");
	static const char *const bad[] = {
		"", "1 2\n", "1 2 \n", " 1 2 3\n", "1 2 3 4\n", "1 -2 3\n", "x 2 3",
		"99999999999999999999 2 3",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		tap_ok(!threadread_parse_times(bad[i], &t), "bad account %zu", i);
}

static long waiting_tid;

static void *wait_in_thread(void *unused)
{
	volatile char room[3 * THREADREAD_STACK_BYTES];
	memset((char *)room, 1, sizeof(room));
	(void)unused;
	__atomic_store_n(&waiting_tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	for (;;)
		pause();
	return NULL;
}

static void test_threads(const struct host *h)
{
	static struct threadread t;
	struct record r;
	pthread_t thread;
	uint32_t pid = (uint32_t)getpid();
	tap_int(threadread_look(h, pid, pid, &x86, &t, &r), -EAGAIN, "this thread goes on");
	tap_ok(!t.is_waiting && !r.sample.user_regs, "so it is not waiting");
	tap_int(threadread_look(h, pid, 999999999, &x86, &t, &r), -ENOENT, "there is no such one");
	tap_int(threadread_look(h, 999999999, 1, &x86, &t, &r), -ESRCH, "nor such a process");
	pthread_create(&thread, NULL, wait_in_thread, NULL);
	int code = 0;
	for (int i = 0; i < 1000; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		uint32_t tid = (uint32_t)__atomic_load_n(&waiting_tid, __ATOMIC_ACQUIRE);
		code = tid ? threadread_look(h, pid, tid, &x86, &t, &r) : -EAGAIN;
		if (code == 0 && t.is_waiting && t.call.syscall != SYS_futex)
			break;
	}
	tap_int(code, 0, "another one");
	tap_ok(t.is_waiting && !t.is_disk, "it waits");
	tap_ok(r.sample.user_regs_mask == 0x1b8 && r.sample.user_regs[4] == r.sample.ip &&
		       r.sample.user_regs[2] == t.call.arg[0] &&
		       r.sample.user_regs[0] == t.call.arg[2],
	       "its registers and those of the arguments, in the order of their numbers");
	tap_ok(r.sample.n_user_stack_bytes > 64 &&
		       r.sample.n_user_stack_bytes <= THREADREAD_STACK_BYTES &&
		       r.sample.user_stack, "the start of its stack");
	tap_ok(t.from_ns < t.to_ns && r.time_ns == t.to_ns, "two times");
	tap_int((long long)r.tid, waiting_tid, "its id");
	t.long_stack = true;
	tap_int(threadread_look(h, pid, (uint32_t)waiting_tid, &x86, &t, &r), 0, "more of it");
	tap_ok(r.sample.n_user_stack_bytes > 2 * THREADREAD_STACK_BYTES, "up to its root");
	t.has_records = true;
	tap_int(threadread_look(h, pid, (uint32_t)waiting_tid, &x86, &t, &r), 0,
		"where records tell whether it moves, it is read once");
	tap_ok(t.is_waiting, "and waits");
	uint64_t sp = t.call.sp;
	t.long_stack = true;
	tap_int((long long)threadread_stack(h, pid, (uint32_t)waiting_tid, sp, &t),
		(long long)r.sample.n_user_stack_bytes, "its stack alone");
	tap_int((long long)threadread_stack(h, pid, (uint32_t)waiting_tid, 0, &t), 0,
		"what is no stack");
	threadread_close(&t);
	threadread_close(&t);
	tap_int((long long)t.open_pid, 0, "no files stay open");
}

int main(void)
{
	struct host h;
	host_open(&h, NULL, NULL, NULL, NULL);
	test_lines();
	test_states();
	test_times();
	test_threads(&h);
	host_close(&h);
	return tap_done();
}
