/* Memory of other processes: of our user, of another one, and such that never answers. */
#include "base/remotemem.h"
#include "base/clock.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u
#define PAGES 600u               /* more than one answer holds */
#define NOBODY 65534

/* In all processes of this test: page i is filled with i, and the last one is missing. */
static uint8_t *pages;
static uint8_t copy[PAGES * PAGE];

static pid_t start_process(unsigned uid, int (*prepare)(void))
{
	int ready[2];
	char byte = 0;
	if (pipe2(ready, O_CLOEXEC) < 0)
		exit(1);
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		int r = prepare ? prepare() : 0;
		if (uid && setresuid(uid, uid, uid) < 0)
			r = -1;
		if (write(ready[1], r < 0 ? "n" : "y", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1 || byte != 'y')
		byte = 0;
	close(ready[0]);
	if (byte)
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The page in the middle waits for somebody to fill it. */
static int hide_page(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { (uintptr_t)pages + 2 * PAGE, PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	return fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0 &&
	       ioctl(fd, UFFDIO_REGISTER, &range) == 0 &&
	       madvise(pages + 2 * PAGE, PAGE, MADV_DONTNEED) == 0 ? 0 : -1;
}

static long read_pages(struct remotemem *m, pid_t pid, size_t first, size_t n_bytes)
{
	const struct iovec local = { copy, n_bytes };
	const struct iovec remote = { pages + first * PAGE, n_bytes };
	memset(copy, 0xff, sizeof(copy));
	return remotemem_read(m, (uint32_t)pid, &local, 1, &remote, 1);
}

static bool is_copied(size_t first, size_t n_bytes)
{
	return memcmp(copy, pages + first * PAGE, n_bytes) == 0;
}

static const char *name(const char *whose, const char *what)
{
	static char text[80];
	snprintf(text, sizeof(text), "%s: %s", whose, what);
	return text;
}

static void test_reads(struct remotemem *m, pid_t pid, const char *whose)
{
	tap_int(read_pages(m, pid, 1, 100), 100, name(whose, "a piece"));
	tap_ok(is_copied(1, 100), "%s: its bytes", whose);
	const struct iovec local[] = { { copy, 10 }, { copy + 10, 0 }, { copy + 10, PAGE + 10 } };
	const struct iovec remote[] = {
		{ pages + 3 * PAGE, PAGE }, { pages, 0 }, { pages + 5 * PAGE - 20, 20 },
	};
	memset(copy, 0xff, sizeof(copy));
	tap_int(remotemem_read(m, (uint32_t)pid, local, 3, remote, 3), PAGE + 20,
		name(whose, "several pieces, with other borders on each side"));
	tap_ok(is_copied(3, PAGE) && copy[PAGE] == 4 && copy[PAGE + 19] == 4,
	       "%s: one after the other", whose);
	tap_int(read_pages(m, pid, 0, PAGES * PAGE), (PAGES - 1) * PAGE,
		name(whose, "up to the first page that is missing"));
	tap_ok(is_copied(0, (PAGES - 1) * PAGE), "%s: all of it", whose);
	tap_int(read_pages(m, pid, PAGES - 1, 8), -EFAULT, name(whose, "no memory"));
	memset(copy, 0xff, sizeof(copy));
	tap_int(remotemem_read_file(m, (uint32_t)pid, copy, 50, (uintptr_t)pages + PAGE), 50,
		name(whose, "by the file"));
	tap_ok(is_copied(1, 50), "%s: the same bytes", whose);
	tap_int(remotemem_read_file(m, (uint32_t)pid, copy, 50, 16), -EIO,
		name(whose, "no memory there"));
}

static void test_ended(struct remotemem *m, pid_t pid)
{
	tap_int(read_pages(m, pid, 1, 8), -ESRCH, "a process that has ended");
	tap_int(remotemem_read_file(m, (uint32_t)pid, copy, 8, (uintptr_t)pages), -ENOENT,
		"by the file");
	tap_int(remotemem_stats(m).n_stuck, 0, "nothing is stuck");
}

/* Each of them holds up a read once. */
static void test_stuck(struct remotemem *m, pid_t other)
{
	pid_t stuck[10];
	size_t n = sizeof(stuck) / sizeof(*stuck);
	for (size_t i = 0; i < n; i++) {
		stuck[i] = start_process(NOBODY, hide_page);
		if (!stuck[i]) {
			tap_skip("memory that does not answer", "userfaultfd(2) is not allowed");
			while (i-- > 0)
				end_process(stuck[i]);
			return;
		}
	}
	tap_int(read_pages(m, stuck[0], 1, 8), 8, "beside the memory that does not answer");
	tap_int(read_pages(m, stuck[0], 2, 8), -ETIMEDOUT, "memory that does not answer");
	tap_int(remotemem_stats(m).n_stuck, 1, "it counts");
	tap_int(read_pages(m, stuck[0], 1, 8), -ETIMEDOUT, "this process is not read again");
	tap_int(read_pages(m, other, 1, 8), 8, "others are");
	for (size_t i = 1; i < n; i++)
		tap_int(read_pages(m, stuck[i], 2, 8), -ETIMEDOUT, "one more");
	tap_int(remotemem_stats(m).n_stuck, 8, "after some no helper is started");
	tap_ok(remotemem_stats(m).n_refused > 0, "refused reads count");
	tap_int(read_pages(m, other, 1, 8), -ETIMEDOUT, "nor for other processes");
	for (size_t i = 0; i < n; i++)
		end_process(stuck[i]);
}

static void become_nobody(int signal_number)
{
	(void)signal_number;
	if (setresuid(NOBODY, NOBODY, NOBODY) < 0)
		_exit(1);
}

static void enter_namespace(int signal_number)
{
	(void)signal_number;
	if (unshare(CLONE_NEWUSER) < 0)
		_exit(1);
}

static int prepare_changes(void)
{
	signal(SIGUSR1, become_nobody);
	signal(SIGUSR2, enter_namespace);
	return 0;
}

/* A process that was trusted, and is checked in turns with another one, becomes another user's. */
static void test_changed(struct remotemem *m, int how, const char *what)
{
	pid_t pid = start_process(0, prepare_changes), beside = start_process(0, NULL);
	bool is_direct = true;
	for (int i = 0; i < 5; i++, usleep(3000))
		is_direct &= remotemem_is_direct(m, (uint32_t)pid) &&
			     remotemem_is_direct(m, (uint32_t)beside);
	tap_ok(is_direct, "two processes of this user stay trusted");
	kill(pid, how);
	uint64_t end_ns = clock_monotonic_ns() + 10000000000u;
	bool is_alive = true;
	while (is_direct && is_alive && clock_monotonic_ns() < end_ns) {
		is_direct = remotemem_is_direct(m, (uint32_t)pid);
		is_alive = waitpid(pid, NULL, WNOHANG) == 0;
	}
	if (is_alive)
		tap_ok(!is_direct, "until it %s", what);
	else
		tap_skip(what, "it may not");
	tap_ok(remotemem_is_direct(m, (uint32_t)beside), "the other one does not");
	if (is_alive)
		end_process(pid);
	end_process(beside);
}

int main(void)
{
	int proc = open("/proc", O_PATH | O_CLOEXEC);
	struct remotemem *m = remotemem_new(proc);
	pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (!m || pages == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < PAGES; i++)
		memset(pages + i * PAGE, (int)(i % 251), PAGE);
	munmap(pages + (PAGES - 1) * PAGE, PAGE);

	test_reads(m, getpid(), "this process");
	pid_t own = start_process(0, NULL);
	test_reads(m, own, "another process of this user");
	if (getuid() == 0) {
		pid_t other = start_process(NOBODY, NULL);
		test_reads(m, other, "another user's process");
		test_changed(m, SIGUSR1, "becomes another user's");
		if (access("/proc/self/ns/user", F_OK) == 0)
			test_changed(m, SIGUSR2, "enters another user namespace");
		test_stuck(m, other);
		end_process(other);
	} else {
		tap_skip("another user's process", "needs root");
	}
	remotemem_free(m);
	m = remotemem_new(proc);
	end_process(own);
	test_ended(m, own);
	remotemem_free(m);
	tap_int(read_pages(NULL, getpid(), 0, 8), -ENOMEM, "without memory nothing is read");
	close(proc);
	return tap_done();
}
