#include "base/host.h"
#include "proc/cputime.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000ull

/* Uses CPU time, by the caller's own clock. */
static void burn(uint64_t ns)
{
	struct timespec ts;
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	while ((uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec < ns);
}

static void *sleep_in_thread(void *ret_tid)
{
	__atomic_store_n((long *)ret_tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	for (;;)
		pause();
	return NULL;
}

/* A child that burns 50 ms and becomes a zombie. */
static void test_zombie(const struct host *h)
{
	uint64_t before = 0, ns = 0, children = 0;
	tap_int(cputime_children_ns(h, getpid(), &before), 0, "children before");
	pid_t pid = fork();
	if (pid == 0) {
		burn(50 * MS);
		_exit(0);
	}
	siginfo_t info;
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	tap_int(cputime_process_ns(pid, &ns), 0, "a zombie's clock can be read");
	tap_ok(ns >= 50 * MS && ns < 500 * MS, "it used 50 ms (%.1f)", (double)ns / 1e6);
	waitpid(pid, NULL, 0);
	ns = 0;
	tap_int(cputime_process_ns(pid, &ns), -ESRCH, "not when it was reaped");
	tap_ok(ns == 0, "and nothing is returned");
	tap_int(cputime_children_ns(h, getpid(), &children), 0, "children after");
	/* In ticks; utime and stime are both rounded down. */
	tap_ok(children - before >= 20 * MS && children - before < 500 * MS,
	       "they used about 50 ms more (%.1f)", (double)(children - before) / 1e6);
}

static void test_threads(const struct host *h)
{
	uint64_t ns = 0, more = 0;
	burn(20 * MS);
	tap_int(cputime_thread_ns(h, getpid(), getpid(), &ns), 0, "own thread");
	burn(60 * MS);
	tap_ok(cputime_thread_ns(h, getpid(), getpid(), &more) == 0 && more >= ns,
	       "its time only grows");
	tap_int(cputime_process_ns(getpid(), &ns), 0, "own process");
	tap_ok(ns >= 60 * MS, "used at least the CPU time that was burnt");

	int fds[2];
	if (pipe(fds) < 0)
		return;
	pid_t pid = fork();
	if (pid == 0) {
		static long tid;
		pthread_t thread;
		if (pthread_create(&thread, NULL, sleep_in_thread, &tid))
			_exit(1);
		while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
			usleep(100);
		burn(50 * MS);
		if (write(fds[1], &tid, sizeof(tid)) != sizeof(tid))
			_exit(1);
		for (;;)
			pause();
	}
	long tid = 0;
	uint64_t busy = 0, idle = UINT64_MAX;
	if (read(fds[0], &tid, sizeof(tid)) != sizeof(tid))
		tap_ok(false, "child");
	usleep(20000);
	tap_int(cputime_thread_ns(h, pid, pid, &busy), 0, "busy thread of another process");
	tap_int(cputime_thread_ns(h, pid, (pid_t)tid, &idle), 0, "idle thread of another process");
	tap_ok(busy >= 40 * MS && idle < 10 * MS, "they are distinguished (%.1f, %.1f)",
	       (double)busy / 1e6, (double)idle / 1e6);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	tap_int(cputime_thread_ns(h, pid, (pid_t)tid, &idle), -ESRCH, "a thread that is gone");
	tap_int(cputime_process_ns(-5, &idle), -ESRCH, "no such pid");
	close(fds[0]);
	close(fds[1]);
}

static void put(const char *dir, const char *name, const char *text)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		tap_ok(false, "cannot write %s", path);
	close(fd);
}

static void test_fixture(void)
{
	char dir[] = "/tmp/test-cputime-XXXXXX", path[600];
	static const char *const folder[] = { "7", "7/task", "7/task/8" };
	static const char *const file[] = { "7/stat", "7/task/8/stat" };
	struct host h;
	uint64_t ns = 0, tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	if (!mkdtemp(dir))
		return;
	for (size_t i = 0; i < sizeof(folder) / sizeof(*folder); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, folder[i]);
		mkdir(path, 0700);
	}
	if (host_open(&h, NULL, dir, dir, NULL) < 0)
		return;
	put(dir, file[0], "7 (ev) il 1 2) S 1 2 3 4 5 6 7 8 9 10 11 12 130 14 15\n");
	put(dir, file[1], "8 (t) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n");
	tap_ok(cputime_children_ns(&h, 7, &ns) == 0 && ns == (130 + 14) * tick_ns,
	       "fields 16 and 17 after a malicious name");
	tap_ok(cputime_thread_ns(&h, 7, 8, &ns) == 0 && ns == (11 + 12) * tick_ns,
	       "fields 14 and 15 without schedstat");
	put(dir, file[0], "7 (x) S 1 2\n");
	tap_int(cputime_children_ns(&h, 7, &ns), -EINVAL, "a short stat file");
	host_close(&h);
	for (size_t i = 0; i < sizeof(file) / sizeof(*file); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, file[i]);
		remove(path);
	}
	for (size_t i = sizeof(folder) / sizeof(*folder); i-- > 0;) {
		snprintf(path, sizeof(path), "%s/%s", dir, folder[i]);
		remove(path);
	}
	rmdir(dir);
}

int main(void)
{
	struct host h;
	if (host_open(&h, NULL, NULL, NULL, NULL) < 0)
		return 1;
	test_zombie(&h);
	test_threads(&h);
	test_fixture();
	host_close(&h);
	return tap_done();
}
