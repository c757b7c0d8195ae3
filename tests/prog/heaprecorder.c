/*
 * Records the memory of another process with libcprof: heaprecorder LIBRARY.  The process is this
 * program with the library in LD_PRELOAD; it keeps and frees blocks when it is asked to.
 *
 * Files: before.pb.gz (a snapshot), after.pb.gz (from there to the end), changes.pb.gz (the same
 * with delta), alloc.pb.gz (allocations only).  Prints "PROMISE: yes" or "PROMISE: no (...)".
 */
#include <cprof.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "prog.h"

#define MIB ((size_t)1 << 20)

static struct cprof_error e;
static int to[2], from[2];
static pid_t pid;

static void promise(int kept, const char *name)
{
	printf("%s: %s %s\n", name, kept ? "yes" : "no", kept ? "" : e.what);
}

/* ---- the process ---------------------------------------------------------------------------- */

static void *volatile first, *volatile second;

PROG_NOINLINE static void keep_first(void)
{
	first = malloc(MIB);
	PROG_KEEP_FRAME();
}

PROG_NOINLINE static void keep_second(void)
{
	second = malloc(2 * MIB);
	PROG_KEEP_FRAME();
}

static int serve(void)
{
	char c;
	while (read(0, &c, 1) == 1) {
		if (c == '1')
			keep_first();
		if (c == '2')
			keep_second();
		if (c == 'f') {
			free(first);
			first = NULL;
		}
		if (write(1, &c, 1) != 1)
			return 1;
	}
	return 0;
}

/* ---- its recorders -------------------------------------------------------------------------- */

static int begin(const char *self, const char *library)
{
	if (pipe(to) < 0 || pipe(from) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		close(to[1]);
		setenv("LD_PRELOAD", library, 1);
		execl(self, self, (char *)NULL);
		_exit(127);
	}
	return pid;
}

static void ask(const char *what)
{
	char c;
	for (; *what; what++)
		if (write(to[1], what, 1) != 1 || read(from[0], &c, 1) != 1)
			exit(1);
}

static struct cprof_recorder *start(const struct cprof_kind *kind, int delta)
{
	const struct cprof_config config = {
		.kind = kind, .pid = &pid, .n_pids = 1, .period = "4096", .delta = delta,
	};
	struct cprof_recorder *r = NULL;
	if (cprof_recorder_new(&config, &r, &e) < 0 || cprof_recorder_start(r, &e) < 0) {
		cprof_recorder_free(r);
		return NULL;
	}
	return r;
}

static int save(struct cprof_recorder *r, const char *path)
{
	return cprof_recorder_write_file(r, 0, path, &e) >= 0;
}

static void record_heap(int delta, const char *after)
{
	struct cprof_recorder *r = start(cprof_heap_recorder(), delta);
	promise(r != NULL, "a heap recorder starts");
	if (!r)
		return;
	ask("1");
	promise(cprof_recorder_snapshot(r, &e) >= 0 && save(r, "before.pb.gz") &&
		cprof_recorder_clear(r, &e) >= 0, "a snapshot is written");
	struct cprof_recorder *other = start(cprof_heap_recorder(), 0);
	promise(!other, "the process has one recorder at a time");
	cprof_recorder_free(other);
	ask("2f");
	promise(cprof_recorder_stop(r, &e) >= 0 && save(r, after), "it stops");
	cprof_recorder_free(r);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return serve();
	if (begin(argv[0], argv[1]) < 0)
		return 1;
	ask("x");
	record_heap(0, "after.pb.gz");
	record_heap(1, "changes.pb.gz");
	struct cprof_recorder *r = start(cprof_alloc_recorder(), 0);
	promise(r != NULL, "an alloc recorder starts");
	ask("12f");
	promise(r && cprof_recorder_stop(r, &e) >= 0 && save(r, "alloc.pb.gz"), "and stops");
	cprof_recorder_free(r);
	kill(pid, SIGKILL);
	return waitpid(pid, NULL, 0) == pid ? 0 : 1;
}
