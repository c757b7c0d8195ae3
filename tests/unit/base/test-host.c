#include "base/host.h"

#include "base/err.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/cprof-test-host-XXXXXX";

static const char *inside(const char *name)
{
	static char path[4][256];
	static unsigned turn;
	char *p = path[turn++ % 4];
	snprintf(p, 256, "%s/%s", dir, name);
	return p;
}

static void make_file(const char *name, const char *text, size_t n)
{
	FILE *f = fopen(inside(name), "w");
	if (!f || fwrite(text, 1, n, f) != n)
		abort();
	fclose(f);
}

static void make_tree(void)
{
	static const char *const folders[] = { "proc", "proc/7", "proc/7/task",
					       "proc/7/task/7", "proc/7/task/8", "proc/7/task/9",
					       "sys", "root" };
	if (!mkdtemp(dir))
		abort();
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (mkdir(inside(folders[i]), 0777) < 0)
			abort();
	make_file("proc/7/comm", "cat\n", 4);
	make_file("proc/empty", "", 0);
	make_file("proc/nul", "a\0b", 3);
	make_file("sys/number", "-12\n", 4);
	make_file("sys/word", "max\n", 4);
	make_file("sys/huge", "99999999999999999999\n", 21);
	char *large = malloc(100000);
	memset(large, 'x', 100000);
	make_file("root/large", large, 100000);
	free(large);
}

static void remove_tree(void)
{
	static const char *const names[] = { "proc/7/comm", "proc/7/status", "proc/7/task/7/status",
					     "proc/7/task/8/status", "proc/7/task/9/status",
					     "proc/7/task/7", "proc/7/task/8", "proc/7/task/9",
					     "proc/7/task", "proc/empty", "proc/nul", "sys/number",
					     "sys/word", "sys/huge", "root/large", "proc/7", "proc",
					     "sys", "root", "" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (remove(inside(names[i])) < 0)
			perror(names[i]);
}

static void test_read(const struct host *h)
{
	char *text = NULL;
	size_t n = 99;
	tap_int(host_read_file(h, HOST_PROC, &text, &n, "%d/comm", 7), 0, "read a file");
	tap_ok(n == 4 && text && !strcmp(text, "cat\n"), "its text");
	free(text);
	tap_int(host_read_file(h, HOST_PROC, &text, NULL, "empty"), 0, "an empty file");
	tap_str(text, "", "is an empty string");
	free(text);
	host_read_file(h, HOST_PROC, &text, &n, "nul");
	tap_ok(n == 3 && !memcmp(text, "a\0b", 4), "a NUL inside, and one after the end");
	free(text);
	host_read_file(h, HOST_ROOT, &text, &n, "large");
	tap_ok(n == 100000 && strlen(text) == 100000, "a large file");
	free(text);
	text = NULL;
	tap_int(host_read_file(h, HOST_PROC, &text, &n, "8/comm"), -ENOENT, "no such file");
	tap_int(host_read_file(h, HOST_PROC, &text, &n, "7"), -EISDIR, "a folder");
	tap_ok(!text && n == 100000, "a failure does not change the outputs");
	char long_name[5000];
	memset(long_name, 'x', sizeof(long_name));
	long_name[4999] = '\0';
	tap_int(host_read_file(h, HOST_PROC, &text, &n, "%s", long_name), -ENAMETOOLONG,
		"a path that is too long");
}

static void test_long(const struct host *h)
{
	long value = 5;
	tap_int(host_read_long(h, HOST_SYS, &value, "%s", "number"), 0, "read a number");
	tap_int(value, -12, "its value");
	tap_int(host_read_long(h, HOST_SYS, &value, "word"), -EINVAL, "a word is not a number");
	tap_int(host_read_long(h, HOST_PROC, &value, "empty"), -EINVAL, "nor is an empty file");
	tap_int(host_read_long(h, HOST_SYS, &value, "huge"), -EINVAL,
		"nor a number too large for long");
	tap_int(host_read_long(h, HOST_SYS, &value, "none"), -ENOENT, "no such file");
	tap_int(value, -12, "a failure does not change the value");
}

static void put_state(const char *name, const char *status)
{
	make_file(name, status, strlen(status));
}

static void test_live_thread(const struct host *h)
{
	put_state("proc/7/status", "Name:\ta) Z\nState:\tR (running)\n");
	tap_int(host_live_thread(h, 7), 7, "a process whose main thread runs");
	put_state("proc/7/status", "Name:\ta) R\nState:\tZ (zombie)\n");
	put_state("proc/7/task/7/status", "Name:\ta) R\nState:\tZ (zombie)\n");
	put_state("proc/7/task/8/status", "Name:\tb\nState:\tX (dead)\n");
	put_state("proc/7/task/9/status", "Name:\tc\nState:\tS (sleeping)\n");
	tap_int(host_live_thread(h, 7), 9, "then the thread that still runs");
	put_state("proc/7/task/9/status", "Name:\tc\nState:\tZ (zombie)\n");
	tap_int(host_live_thread(h, 7), 7, "no thread runs: the process itself");
	tap_int(host_live_thread(h, 6), 6, "no such process");
}

static void test_find_live(const struct host *h)
{
	struct host_live l;
	put_state("proc/7/status", "Name:\ta\nState:\tR (running)\nUid:\t1\t2\t3\t4\n"
		  "NSpid:\t7\t70\n");
	host_find_live(h, 7, &l);
	tap_ok(l.tid == 7 && l.own_tid == 70 && l.uid == 2, "its main thread, and its user");
	put_state("proc/7/status", "Name:\ta\nState:\tZ (zombie)\nUid:\t1\t2\t3\t4\n");
	put_state("proc/7/task/9/status", "Name:\tc\nState:\tS (sleeping)\nNSpid:\t9\t90\n");
	host_find_live(h, 7, &l);
	tap_ok(l.tid == 9 && l.own_tid == 90 && l.uid == UINT32_MAX, "or another thread");
	host_find_live(h, 6, &l);
	tap_ok(l.tid == 6 && l.own_tid == 0 && l.uid == UINT32_MAX, "or nothing");
}

int main(void)
{
	struct host h = { .fd = { 7, 7, 7 } };
	struct err e = { 0 };
	make_tree();
	char want[512];
	snprintf(want, sizeof(want), "cannot open '%s': No such file or directory", inside("none"));
	tap_int(host_open(&h, inside("root"), inside("none"), NULL, &e), -ENOENT, "no /proc");
	tap_str(e.what, want, "and its message");
	tap_ok(h.fd[0] == 7 && h.fd[2] == 7, "a failure does not change the host");
	tap_int(host_open(&h, inside("root"), inside("proc"), inside("sys"), &e), 0, "open");
	tap_str(h.path[HOST_SYS], inside("sys"), "names are stored");
	test_read(&h);
	test_long(&h);
	test_live_thread(&h);
	test_find_live(&h);
	int fd = host_open_file(&h, HOST_PROC, O_RDONLY, "%d/%s", 7, "comm");
	tap_ok(fd >= 0 && fcntl(fd, F_GETFD) & FD_CLOEXEC, "a descriptor, closed on exec");
	close(fd);
	host_close(&h);
	host_close(&h);
	tap_int(host_open_file(&h, HOST_PROC, O_RDONLY, "7/comm"), -ENOENT, "closed");
	long value;
	tap_int(host_open(&h, inside("root"), inside("proc"), inside("none"), &e), 0,
		"a missing /sys is allowed");
	tap_int(host_read_long(&h, HOST_SYS, &value, "number"), -ENOENT, "and it is empty");
	host_close(&h);
	tap_int(host_open(&h, NULL, NULL, NULL, &e), 0, "the machine itself");
	char *text = NULL;
	tap_int(host_read_file(&h, HOST_PROC, &text, NULL, "self/comm"), 0, "its /proc");
	tap_str(text, "test-host\n", "names the reading process");
	free(text);
	host_close(&h);
	remove_tree();
	return tap_done();
}
