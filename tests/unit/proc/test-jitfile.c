#include "tests/unit/tap.h"

#include "base/err.h"
#include "base/host.h"
#include "proc/jitfile.h"
#include "proc/jitread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/*
 * A /proc made of files: process 7, which is number 3 in its own PID namespace, whose root is a
 * folder, and whose user is the one that runs this test.
 */

static char machine[] = "/tmp/test-jitfile-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[256];
	snprintf(path, sizeof(path), "%s/%s", machine, name);
	return path;
}

static void __attribute__((format(printf, 2, 3))) put(const char *name, const char *fmt, ...)
{
	FILE *f = fopen(path_of(name), "w");
	va_list ap;
	va_start(ap, fmt);
	if (!f || vfprintf(f, fmt, ap) < 0 || fclose(f))
		tap_ok(false, "cannot write %s", name);
	va_end(ap);
}

static void put_status(unsigned uid, unsigned euid, const char *ns_line)
{
	put("proc/7/status", "Name:\tx\nUid:\t%u\t%u\t%u\t%u\n%s", uid, euid, euid, euid, ns_line);
}

/* Started that many seconds ago; its name is hard to parse. */
static void put_stat(long age_s)
{
	struct timespec boot;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	long long ticks = (boot.tv_sec - age_s) * sysconf(_SC_CLK_TCK);
	put("proc/7/stat", "7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 %lld 1 1 1\n",
	    ticks < 0 ? 0 : ticks);
}

static int outcome(const struct jitfile_process *p)
{
	int fd = -1;
	int o = (int)jitfile_open_map(p, &fd);
	tap_ok((o == JITFILE_OPENED) == (fd >= 0), "a descriptor only with OPENED");
	if (fd >= 0)
		close(fd);
	return o;
}

static void test_process(const struct host *h)
{
	struct jitfile_process p;
	tap_int(jitfile_process_init(&p, h, 8), -ENOENT, "a process that has ended");
	put_status(1, 2, "NSpid:\t7\t5\t3\n");
	tap_int(jitfile_process_init(&p, h, 7), 0, "a living one");
	tap_int(p.ns_pid, 3, "its number in the innermost namespace");
	tap_ok(p.uid == 1 && p.euid == 2, "its users");
	tap_ok(p.tmp_fd >= 0 && p.start_realtime_ns > 0, "its folder, and when it began");
	jitfile_process_done(&p);
	tap_int(p.tmp_fd, -1, "the descriptor is closed");
	put_status(1, 1, "");
	tap_int(jitfile_process_init(&p, h, 7), 0, "a kernel without NSpid");
	tap_int(p.ns_pid, 7, "its number is the one here");
	jitfile_process_done(&p);
	put("proc/7/status", "Name:\tUid\n");
	tap_int(jitfile_process_init(&p, h, 7), -EINVAL, "a status without users");
	put_status(getuid(), getuid(), "NSpid:\t7\t3\n");
}

static void test_map(const struct host *h)
{
	struct jitfile_process p;
	if (jitfile_process_init(&p, h, 7) < 0) {
		tap_ok(false, "process");
		return;
	}
	tap_int(outcome(&p), JITFILE_ABSENT, "no map");
	put("root/tmp/perf-7.map", "0 10 other\n");
	tap_int(outcome(&p), JITFILE_ABSENT, "one of another number");
	put("root/tmp/perf-3.map", "0 10 own\n");
	tap_int(outcome(&p), JITFILE_OPENED, "its own");
	p.uid = p.euid = getuid() + 1;
	tap_int(outcome(&p), JITFILE_NOT_OWNED, "another user's");
	p.euid = getuid();
	tap_int(outcome(&p), JITFILE_OPENED, "its effective user's");
	p.uid = getuid();

	const struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
	utimensat(AT_FDCWD, path_of("root/tmp/perf-3.map"), old, 0);
	tap_int(outcome(&p), JITFILE_STALE, "older than the process");
	int64_t began_ns = p.start_realtime_ns;
	p.start_realtime_ns = 0;
	tap_int(outcome(&p), JITFILE_OPENED, "if its start is unknown, age does not matter");
	p.start_realtime_ns = began_ns;

	unlink(path_of("root/tmp/perf-3.map"));
	put("root/tmp/target", "0 10 evil\n");
	tap_int(symlink("target", path_of("root/tmp/perf-3.map")), 0, "a link is made");
	tap_int(outcome(&p), JITFILE_LINK, "a symbolic link");
	unlink(path_of("root/tmp/perf-3.map"));
	tap_int(mkfifo(path_of("root/tmp/perf-3.map"), 0600), 0, "a FIFO is made");
	tap_int(outcome(&p), JITFILE_NOT_REGULAR, "a FIFO, without waiting for its writer");
	unlink(path_of("root/tmp/perf-3.map"));
	tap_int(mkdir(path_of("root/tmp/perf-3.map"), 0700), 0, "a folder is made");
	tap_int(outcome(&p), JITFILE_NOT_REGULAR, "a folder");
	rmdir(path_of("root/tmp/perf-3.map"));
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const char *path = path_of("root/tmp/perf-3.map");
	memcpy(a.sun_path, path, strnlen(path, sizeof(a.sun_path) - 1));
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	tap_int(bind(s, (struct sockaddr *)&a, sizeof(a)), 0, "a socket is made");
	tap_int(outcome(&p), JITFILE_NOT_REGULAR, "a socket");
	close(s);
	unlink(path_of("root/tmp/perf-3.map"));
	jitfile_process_done(&p);
}

static void test_replaced(const struct host *h)
{
	struct jitfile_process p;
	int fd = -1;
	put("root/tmp/perf-3.map", "0 10 first\n");
	if (jitfile_process_init(&p, h, 7) < 0 || jitfile_open_map(&p, &fd) != JITFILE_OPENED) {
		tap_ok(false, "process");
		return;
	}
	tap_ok(!jitfile_is_replaced(&p, fd), "the same file");
	put("root/tmp/next", "0 10 second\n");
	char next[256];
	snprintf(next, sizeof(next), "%s", path_of("root/tmp/next"));
	rename(next, path_of("root/tmp/perf-3.map"));
	tap_ok(jitfile_is_replaced(&p, fd), "another file replaced it");
	unlink(path_of("root/tmp/perf-3.map"));
	tap_ok(!jitfile_is_replaced(&p, fd), "a deleted file is not replaced");
	close(fd);
	jitfile_process_done(&p);
}

/* A container's /tmp may be a link, which must not lead out of its root. */
static void test_tmp_link(const struct host *h)
{
	struct jitfile_process p;
	char moved[256];
	snprintf(moved, sizeof(moved), "%s/root/real", machine);
	tap_int(rename(path_of("root/tmp"), moved), 0, "/tmp moves");
	put("root/real/perf-3.map", "0 10 inside\n");
	tap_int(symlink("/real", path_of("root/tmp")), 0, "/tmp is an absolute link");
	tap_int(jitfile_process_init(&p, h, 7), 0, "the process");
	if (p.tmp_fd >= 0)
		tap_int(outcome(&p), JITFILE_OPENED, "it leads to the folder inside");
	else
		tap_skip("it leads to the folder inside", "no openat2 here");
	jitfile_process_done(&p);
	unlink(path_of("root/tmp"));
	tap_int(symlink("../../../../../../tmp", path_of("root/tmp")), 0, "a link to outside");
	tap_int(jitfile_process_init(&p, h, 7), 0, "the process");
	if (p.tmp_fd >= 0)
		jitfile_process_done(&p);
	unlink(path_of("root/tmp"));
	tap_int(jitfile_process_init(&p, h, 7), 0, "a process without /tmp");
	tap_int(p.tmp_fd, -1, "has no folder");
	tap_int(outcome(&p), JITFILE_ABSENT, "and no map");
	jitfile_process_done(&p);
}

static void test_no_descriptor(const struct host *h)
{
	struct jitread r;
	struct rlimit limit, few;
	put("root/tmp/perf-3.map", "0 10 own\n");
	jitread_init(&r, NULL);
	getrlimit(RLIMIT_NOFILE, &limit);
	few = (struct rlimit){ 3, limit.rlim_max };
	setrlimit(RLIMIT_NOFILE, &few);
	jitread_open(&r, h, 7);
	setrlimit(RLIMIT_NOFILE, &limit);
	tap_ok(r.map_outcome == JITFILE_NO_DESCRIPTOR && jitread_lacks_descriptor(&r),
	       "no descriptor for a process: known as such");
	jitread_done(&r);

	jitread_init(&r, NULL);
	tap_int(jitfile_process_init(&r.process, h, 7), 0, "the process");
	setrlimit(RLIMIT_NOFILE, &few);
	tap_int(outcome(&r.process), JITFILE_NO_DESCRIPTOR, "no descriptor for its map");
	setrlimit(RLIMIT_NOFILE, &limit);
	tap_int(outcome(&r.process), JITFILE_OPENED, "later there is one");
	jitread_done(&r);

	int file = open(path_of("root/tmp/perf-3.map"), O_RDONLY | O_CLOEXEC);
	jitread_init(&r, NULL);
	jitread_open(&r, h, 7);
	setrlimit(RLIMIT_NOFILE, &few);
	jitread_set_dump(&r, file, "jit-3.dump");
	setrlimit(RLIMIT_NOFILE, &limit);
	tap_ok(r.dump_outcome == JITFILE_NO_DESCRIPTOR && jitread_lacks_descriptor(&r),
	       "no descriptor for a jitdump");
	jitread_done(&r);
	close(file);
	unlink(path_of("root/tmp/perf-3.map"));
}

static void test_words(void)
{
	for (int o = JITFILE_LINK; o <= JITFILE_NO_DESCRIPTOR; o++)
		tap_ok(jitfile_why((enum jitfile_outcome)o) != NULL, "refusal %d has a text", o);
	tap_ok(!jitfile_why(JITFILE_OPENED) && !jitfile_why(JITFILE_ABSENT), "other outcomes "
	       "have no text");
}

int main(void)
{
	struct host h;
	struct err e;
	char proc[64];
	if (!mkdtemp(machine))
		return 1;
	mkdir(path_of("proc"), 0700);
	mkdir(path_of("proc/7"), 0700);
	mkdir(path_of("root"), 0700);
	mkdir(path_of("root/tmp"), 0700);
	tap_int(symlink("../../root", path_of("proc/7/root")), 0, "the process has a root");
	snprintf(proc, sizeof(proc), "%s/proc", machine);
	if (host_open(&h, NULL, proc, NULL, &e) < 0)
		return 1;
	put_stat(5);
	test_process(&h);
	test_map(&h);
	test_replaced(&h);
	test_no_descriptor(&h);
	test_tmp_link(&h);
	test_words();
	host_close(&h);
	char command[96];
	snprintf(command, sizeof(command), "rm -rf %s", machine);
	tap_int(system(command), 0, "clean");
	return tap_done();
}
