#include "base/err.h"
#include "proc/targetcheck.h"
#include "tests/unit/event/machine.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static struct machine m;
static struct err e;

static void put_task(int id, int leader, const char *name, char state, unsigned flags,
		     int n_threads)
{
	char path[64], text[512];
	snprintf(path, sizeof(path), "proc/%d/stat", id);
	snprintf(text, sizeof(text), "%d (%s) %c 41 1 1 0 -1 %u 0 0 0 0 1 2 3 4 20 0 %d 0 99\n", id,
		 name, state, flags, n_threads);
	machine_file(&m, path, text);
	snprintf(path, sizeof(path), "proc/%d/status", id);
	snprintf(text, sizeof(text), "Name:\t%s\nState:\t%c\nTgid:\t%d\nPid:\t%d\nPPid:\t41\n"
		 "Threads:\t%d\n", name, state, leader, id, n_threads);
	machine_file(&m, path, text);
}

static void test_folder(void)
{
	machine_open(&m);
	put_task(100, 100, "plain", 'S', 0x400000, 2);
	put_task(101, 100, "thread", 'R', 0x400040, 2);
	put_task(102, 102, "evil) Z 1 (", 'R', 0x400000, 1);
	put_task(103, 103, "dead", 'Z', 0x400000, 1);
	put_task(104, 104, "kworker/0:1", 'I', 0x4208060, 1);
	put_task(105, 105, "main ended", 'Z', 0x400000, 3);

	tap_int(targetcheck(&m.host, 100, false, &e), TARGETCHECK_USER, "a process");
	tap_int(targetcheck(&m.host, 101, true, &e), TARGETCHECK_USER, "a thread");
	tap_int(targetcheck(&m.host, 100, true, &e), TARGETCHECK_USER, "a main thread");
	tap_int(targetcheck(&m.host, 102, false, &e), TARGETCHECK_USER, "a name that looks like a "
		"state");
	tap_int(targetcheck(&m.host, 104, false, &e), TARGETCHECK_KERNEL, "a kernel thread");

	tap_int(targetcheck(&m.host, 101, false, &e), -EINVAL, "a thread given as a process");
	tap_str(e.what, "101 is a thread of process 100, not a process", "with a message");
	tap_ok(strstr(e.hint, "-t 101") && strstr(e.hint, "-p 100"), "with both remedies");
	tap_int(targetcheck(&m.host, 103, false, &e), -EINVAL, "a zombie");
	tap_ok(strstr(e.what, "zombie") && strstr(e.what, "41"), "is reported, with its parent");
	tap_int(targetcheck(&m.host, 105, false, &e), TARGETCHECK_USER,
		"a process whose main thread has ended, but not the others");
	tap_int(targetcheck(&m.host, 105, true, &e), -EINVAL, "but not that thread alone");
	tap_int(targetcheck(&m.host, 999, false, &e), -ESRCH, "nobody");
	tap_ok(strstr(e.what, "no process 999"), "with a message");
	tap_int(targetcheck(&m.host, 999, true, &e), -ESRCH, "no thread");
	tap_ok(strstr(e.what, "no thread 999") && strstr(e.hint, "ps -eL"), "with a message");
	machine_close(&m);
}

static void *end_main(void *ctx)
{
	(void)ctx;
	sleep(30);
	return NULL;
}

static void test_this_machine(void)
{
	struct host h;
	if (host_open(&h, NULL, NULL, NULL, &e) < 0)
		return;
	tap_int(targetcheck(&h, getpid(), false, &e), TARGETCHECK_USER, "this process");
	tap_int(targetcheck(&h, (pid_t)syscall(SYS_gettid), true, &e), TARGETCHECK_USER,
		"this thread");

	pid_t dead = fork();
	if (dead == 0)
		_exit(0);
	siginfo_t info;
	waitid(P_PID, (id_t)dead, &info, WEXITED | WNOWAIT);
	tap_int(targetcheck(&h, dead, false, &e), -EINVAL, "a child that has ended");
	waitpid(dead, NULL, 0);
	tap_int(targetcheck(&h, dead, false, &e), -ESRCH, "and was collected");

	pid_t headless = fork();
	if (headless == 0) {
		pthread_t t;
		pthread_create(&t, NULL, end_main, NULL);
		syscall(SYS_exit, 0);
	}
	int code = 0;
	for (int i = 0; i < 200; i++) {
		char path[64], text[256] = "";
		usleep(10000);
		snprintf(path, sizeof(path), "/proc/%d/stat", headless);
		FILE *f = fopen(path, "r");
		if (f && fgets(text, sizeof(text), f) && strstr(text, ") Z ")) {
			code = 1;
			i = 200;
		}
		if (f)
			fclose(f);
	}
	tap_int(code, 1, "a child whose main thread has ended looks like a zombie");
	tap_int(targetcheck(&h, headless, false, &e), TARGETCHECK_USER, "but is a process");
	tap_ok(!targetcheck_is_stopped(&h, headless) && !targetcheck_is_stopped(&h, getpid()),
	       "and not stopped, nor is this one");
	kill(headless, SIGKILL);
	waitpid(headless, NULL, 0);
	pid_t stopped = fork();
	if (stopped == 0) {
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(stopped, NULL, WUNTRACED);
	tap_ok(targetcheck_is_stopped(&h, stopped), "a child that is stopped");
	kill(stopped, SIGKILL);
	waitpid(stopped, NULL, 0);
	tap_ok(!targetcheck_is_stopped(&h, stopped), "a process that is gone is not");
	host_close(&h);
}

int main(void)
{
	test_folder();
	test_this_machine();
	return tap_done();
}
