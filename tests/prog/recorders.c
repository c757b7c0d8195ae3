/*
 * A program that records itself with libcprof, for tests/live/library.sh.  Prints "PROMISE: yes" or
 * "PROMISE: no, because ..." and writes profiles.
 */
#include <cprof.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "prog.h"

static struct cprof_error e;

static void promise(int kept, const char *name)
{
	if (kept)
		printf("%s: yes\n", name);
	else
		printf("%s: no (%s)\n", name, e.what);
	fflush(stdout);
}

static unsigned long long cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

static volatile unsigned sum;

#define SPIN(ms) \
	for (unsigned long long end = cpu_ns() + (ms) * 1000000ull; cpu_ns() < end;) \
		for (unsigned i = 0; i < 5000; i++) \
			sum += i

PROG_NOINLINE static void work_a(unsigned ms) { SPIN(ms); sum += 1; }
PROG_NOINLINE static void work_b(unsigned ms) { SPIN(ms); sum += 2; }
PROG_NOINLINE static void work_child(unsigned ms) { SPIN(ms); sum += 3; }

static struct cprof_recorder *begin(const struct cprof_config *c)
{
	struct cprof_recorder *r = NULL;
	if (cprof_recorder_new(c, &r, &e) < 0 || cprof_recorder_start(r, &e) < 0) {
		printf("begin: no (%s)\n", e.what);
		exit(1);
	}
	return r;
}

/* window ROUNDS MS: A is not recorded, B is */
static void window(int rounds, unsigned ms, const char *path, enum cprof_self self)
{
	const struct cprof_config c = { .self = self, .start_paused = true };
	struct cprof_recorder *r = begin(&c);
	int ok = 1;
	for (int i = 0; i < rounds; i++) {
		work_a(ms);
		ok &= cprof_recorder_resume(r, CPROF_ALL_EVENTS, &e) == 0;
		work_b(ms);
		ok &= cprof_recorder_pause(r, CPROF_ALL_EVENTS, &e) == 0;
		ok &= cprof_recorder_step(r, 0, NULL, 0, NULL, &e) == CPROF_RUNNING;
	}
	promise(ok, "pauses and resumes");
	promise(cprof_recorder_stop(r, &e) == 0 && cprof_recorder_write_file(r, 0, path, &e) == 0,
		"a profile of the windows");
	cprof_recorder_free(r);
}

/* Three recorders with different rates record the same CPU time. */
static void rates(void)
{
	static const char *const rate[] = { "199", "499", "1999" };
	struct cprof_recorder *r[3];
	struct cprof_event_stats ev;
	char path[64];
	for (int i = 0; i < 3; i++) {
		struct cprof_config c = { .self = CPROF_SELF_THREAD, .freq = rate[i],
					  .ring_bytes = 16 << 20 };
		r[i] = begin(&c);
	}
	work_b(1500);
	for (int i = 0; i < 3; i++) {
		int ok = cprof_recorder_stop(r[i], &e) == 0;
		cprof_recorder_event_stats(r[i], 0, &ev);
		snprintf(path, sizeof(path), "rate-%s.pb.gz", rate[i]);
		ok &= cprof_recorder_write_file(r[i], 0, path, &e) == 0;
		promise(ok && cprof_recorder_n_events(r[i]) == 1, "a recorder of its own rate");
		cprof_recorder_free(r[i]);
	}
}

static int swallow(void *ctx, const void *data, size_t n_bytes)
{
	(void)data;
	*(size_t *)ctx += n_bytes;
	return 0;
}

static int refuse(void *ctx, const void *data, size_t n_bytes)
{
	(void)ctx, (void)data, (void)n_bytes;
	return -EDQUOT;
}

static void errors(void)
{
	static const char *const nonsense[] = { "no-such-event" };
	struct cprof_config c = { .event = nonsense, .n_events = 1, .self = CPROF_SELF_THREAD };
	struct { struct cprof_config known; long more; } newer = {
		.known.self = CPROF_SELF_THREAD,
	};
	struct cprof_recorder *r = NULL;
	pid_t pid = getpid();
	size_t n = 0;
	int pipe_fd[2], full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	promise(cprof_recorder_new(&c, &r, &e) == -EINVAL && e.is_usage && !r && e.hint[0],
		"an unknown event is refused, with a hint");
	c = (struct cprof_config){ .self = CPROF_SELF_THREAD, .pid = &pid, .n_pids = 1 };
	promise(cprof_recorder_new(&c, &r, &e) == -EINVAL && !r,
		"two kinds of targets are refused");
	c = (struct cprof_config){ .n_pids = 0 };
	promise(cprof_recorder_new(&c, &r, &e) == -EINVAL && !r, "no target is refused");
	newer.more = 1;
	promise(cprof_recorder_new_sized(&newer.known, sizeof(newer), &r, &e) == -E2BIG && !r,
		"what this library does not know is refused");
	newer.more = 0;
	promise(cprof_recorder_new_sized(&newer.known, sizeof(newer), &r, &e) == 0,
		"a newer configuration without new requests is accepted");
	promise(cprof_recorder_stop(r, &e) == -EINVAL, "stop before start fails");
	promise(cprof_recorder_snapshot(r, &e) == -EINVAL, "a snapshot before start fails");
	promise(cprof_recorder_start(r, &e) == 0, "start");
	promise(cprof_recorder_start(r, &e) == -EALREADY, "a second start fails");
	promise(cprof_recorder_pause(r, CPROF_ALL_EVENTS, &e) == -EINVAL,
		"a pause that was not prepared fails");
	promise(cprof_recorder_write(r, 0, swallow, &n, &e) == -EINVAL, "no write before stop");
	work_b(100);
	promise(cprof_recorder_stop(r, &e) == 0 && cprof_recorder_stop(r, &e) == -EINVAL,
		"a second stop fails");
	promise(cprof_recorder_write_fd(r, 0, full, &e) == -ENOSPC && e.what[0],
		"a full disk is reported");
	promise(cprof_recorder_write_file(r, 0, "/nonexistent/x.pb.gz", &e) == -ENOENT,
		"a missing folder is reported");
	promise(cprof_recorder_write(r, 0, refuse, NULL, &e) == -EDQUOT,
		"the callback's own failure is handed on");
	promise(cprof_recorder_write(r, 7, swallow, &n, &e) == -EINVAL, "no event 7");
	promise(cprof_recorder_write(r, 0, swallow, &n, &e) == 0 && n > 100, "a callback gets all");
	signal(SIGPIPE, SIG_IGN);
	promise(pipe(pipe_fd) == 0 && close(pipe_fd[0]) == 0 &&
		cprof_recorder_write_fd(r, 0, pipe_fd[1], &e) == -EPIPE,
		"a closed pipe is reported");
	struct { struct cprof_stats known; unsigned char more[16]; } st;
	memset(&st, 0xff, sizeof(st));
	cprof_recorder_stats_sized(r, &st.known, sizeof(st));
	promise(st.more[0] == 0 && st.known.duration_ns > 50000000,
		"statistics for a newer program");
	unsigned char few[16 + 8];
	memset(few, 0xff, sizeof(few));
	cprof_recorder_stats_sized(r, (void *)few, 16);
	promise(few[16] == 0xff && few[8] != 0xff, "statistics for an older program");
	cprof_recorder_free(r);
	promise(strcmp(cprof_kind_name(cprof_cpu_recorder()), "cpu") == 0, "the kind's name");
}

/* Hardware breakpoints are few: if one recorder has them all, another cannot get one. */
static void conflict(void)
{
	static long place[8];
	static char text[8][64];
	const char *event[8];
	struct cprof_recorder *r[3] = { NULL };
	int code = 0, n = 0;
	for (int i = 0; i < 8; i++) {
		snprintf(text[i], sizeof(text[i]), "mem:%p/8:w:u", (void *)&place[i]);
		event[i] = text[i];
	}
	while (n < 3 && code == 0) {
		struct cprof_config c = { .self = CPROF_SELF_THREAD, .event = event + 2 * n,
					  .n_events = 2, .period = "1" };
		code = cprof_recorder_new(&c, &r[n], &e);
		n += code == 0;
	}
	if (n == 0)
		printf("breakpoints: none (%s)\n", e.what);
	else
		promise(code < 0 && e.what[0] && e.hint[0],
			"two recorders cannot have more breakpoints than there are");
	printf("said: %s / %s\n", e.what, e.hint);
	for (int i = 0; i < n; i++)
		cprof_recorder_free(r[i]);
}

static int has_perf_fd(void)
{
	char path[64], link[256];
	int any = 0;
	for (int fd = 3; fd < 256; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		ssize_t n = readlink(path, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = '\0';
		any |= strstr(link, "perf_event") != NULL;
	}
	return any;
}

static void in_child(struct cprof_recorder *parents)
{
	struct cprof_recorder *own;
	const struct cprof_config c = { .self = CPROF_SELF_THREAD };
	promise(cprof_recorder_stop(parents, &e) == -ECHILD &&
		cprof_recorder_step(parents, 0, NULL, 0, NULL, &e) == -ECHILD &&
		cprof_recorder_clear(parents, &e) == -ECHILD &&
		cprof_recorder_fd(parents, &e) == -ECHILD,
		"the parent's recorder is not the child's");
	cprof_recorder_free(parents);
	promise(!has_perf_fd(), "but the child can close it");
	own = begin(&c);
	work_child(300);
	promise(cprof_recorder_stop(own, &e) == 0 &&
		cprof_recorder_write_file(own, 0, "child.pb.gz", &e) == 0,
		"the child's own profile");
	cprof_recorder_free(own);
}

static void forks(char **argv)
{
	const struct cprof_config c = { .self = CPROF_SELF_PROCESS };
	struct cprof_recorder *r = begin(&c);
	pid_t pid = fork();
	if (pid == 0) {
		in_child(r);
		exit(0);
	}
	waitpid(pid, NULL, 0);
	pid = fork();
	if (pid == 0) {
		execl("/proc/self/exe", argv[0], "executed", (char *)NULL);
		_exit(127);
	}
	while (waitpid(pid, NULL, WNOHANG) == 0)
		cprof_recorder_step(r, 20, NULL, 0, NULL, &e);
	work_b(300);
	promise(cprof_recorder_stop(r, &e) == 0 &&
		cprof_recorder_write_file(r, 0, "family.pb.gz", &e) == 0,
		"the parent's goes on, and has the children in it");
	cprof_recorder_free(r);
}

static long count_lines(const char *path)
{
	FILE *f = fopen(path, "re");
	long n = 0;
	for (int c; f && (c = getc(f)) != EOF;)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

static long count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	long n = 0;
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static void cycles(int n)
{
	struct cprof_config c = { .self = CPROF_SELF_THREAD, .ring_bytes = 65536 };
	size_t before_bytes = 0;
	long fds = 0, maps = 0;
	struct cprof_recorder *r;
	for (int i = 0; i < n + 105; i++) {
		size_t n_bytes = 0;
		if (i == 105) {  /* things that are created once now exist */
			before_bytes = mallinfo2().uordblks;
			fds = count_fds();
			maps = count_lines("/proc/self/maps");
		}
		r = begin(&c);
		sum += (unsigned)i;
		if (cprof_recorder_stop(r, &e) < 0 ||
		    (i % 100 == 0 && cprof_recorder_write(r, 0, swallow, &n_bytes, &e) < 0))
			promise(0, "stop and write");
		cprof_recorder_free(r);
	}
	promise(count_fds() == fds, "no descriptor is left");
	promise(count_lines("/proc/self/maps") <= maps + 2, "no mapping is left");
	long grown = (long)mallinfo2().uordblks - (long)before_bytes;
	snprintf(e.what, sizeof(e.what), "%ld bytes", grown);
	promise(grown < 65536, "no memory is left");
}

/* One thread starts a recorder and ends; another thread uses it. */
static void *make_one(void *arg)
{
	const struct cprof_config c = { .self = CPROF_SELF_PROCESS };
	*(struct cprof_recorder **)arg = begin(&c);
	return NULL;
}

static void handover(void)
{
	struct cprof_recorder *r = NULL;
	pthread_t t;
	int n_steps = 0;
	pthread_create(&t, NULL, make_one, &r);
	pthread_join(t, NULL);
	for (unsigned long long before = cpu_ns(); n_steps < 20; n_steps++) {
		cprof_recorder_step(r, 20, NULL, 0, NULL, &e);
		if (n_steps == 19)
			promise(cpu_ns() - before < 200000000,
				"a step waits although its maker is gone");
	}
	work_b(200);
	promise(cprof_recorder_stop(r, &e) == 0 &&
		cprof_recorder_write_file(r, 0, "handover.pb.gz", &e) == 0, "handed over");
	cprof_recorder_free(r);
}

static void library(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		printf("dlopen: no (%s)\n", dlerror());
	work_b(200);
	promise(lib && dlclose(lib) == 0, "a library that records from its constructor on");
}

/* Median of rounds, in CPU time. */
static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void bench(void)
{
	static const char *const name[] = { "", "process", "thread" };
	for (int self = CPROF_SELF_PROCESS; self <= CPROF_SELF_THREAD; self++) {
		const struct cprof_config c = { .self = (enum cprof_self)self, .pausable = true };
		struct cprof_recorder *r = begin(&c);
		double us[51];
		for (int k = 0; k < 51; k++) {
			struct timespec a, b;
			clock_gettime(CLOCK_MONOTONIC, &a);
			for (int i = 0; i < 100; i++) {
				cprof_recorder_pause(r, CPROF_ALL_EVENTS, &e);
				cprof_recorder_resume(r, CPROF_ALL_EVENTS, &e);
			}
			clock_gettime(CLOCK_MONOTONIC, &b);
			us[k] = ((double)(b.tv_sec - a.tv_sec) * 1e9 +
				 (double)(b.tv_nsec - a.tv_nsec)) / 1e3 / 100;
		}
		qsort(us, 51, sizeof(us[0]), compare);
		printf("pause and resume, own %s: %.1f us (best %.1f)\n", name[self],
		       us[25], us[0]);
		cprof_recorder_free(r);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (strcmp(what, "window") == 0 && argc == 5)
		window(atoi(argv[2]), (unsigned)atoi(argv[3]), argv[4], CPROF_SELF_THREAD);
	else if (strcmp(what, "window-process") == 0 && argc == 5)
		window(atoi(argv[2]), (unsigned)atoi(argv[3]), argv[4], CPROF_SELF_PROCESS);
	else if (strcmp(what, "rates") == 0)
		rates();
	else if (strcmp(what, "errors") == 0)
		errors();
	else if (strcmp(what, "conflict") == 0)
		conflict();
	else if (strcmp(what, "fork") == 0)
		forks(argv);
	else if (strcmp(what, "executed") == 0) {
		promise(!has_perf_fd(), "no descriptor comes through an exec");
		work_child(300);
	} else if (strcmp(what, "cycles") == 0 && argc == 3)
		cycles(atoi(argv[2]));
	else if (strcmp(what, "handover") == 0)
		handover();
	else if (strcmp(what, "dlopen") == 0 && argc == 3)
		library(argv[2]);
	else if (strcmp(what, "bench") == 0)
		bench();
	else
		return 64;
	return 0;
}
