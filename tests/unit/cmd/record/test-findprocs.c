/* Processes by name, in a /proc that is a temporary folder. */
#include "cmd/record/findprocs.h"

#include "base/err.h"
#include "base/host.h"
#include "tests/unit/tap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void put_state(int pid, int parent, const char *comm, const char *exe, char state)
{
	char path[64];
	snprintf(path, sizeof(path), "%d", pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%d/status", pid);
	FILE *f = fopen(path, "w");
	if (f) {
		fprintf(f, "Name:\t%s\nUmask:\t0022\nState:\t%c\nPid:\t%d\nPPid:\t%d\n", comm,
			state, pid, parent);
		fclose(f);
	}
	snprintf(path, sizeof(path), "%d/exe", pid);
	if (exe)
		tap_ok(symlink(exe, path) == 0, "process %d has an executable", pid);
}

static void put_process(int pid, int parent, const char *comm, const char *exe)
{
	put_state(pid, parent, comm, exe, 'S');
}

/* As "1 2 3". */
static const char *found(const struct findprocs_ids *ids)
{
	static char text[128];
	size_t n = 0;
	text[0] = '\0';
	for (size_t i = 0; i < ids->pids.n; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%d", i ? " " : "",
				      (int)ids->pids.v[i]);
	return text;
}

static int ascending(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static void finds(const struct findprocs *f, const char *name, uid_t uid, const char *want,
		  const char *title)
{
	struct findprocs_ids ids = { 0 };
	tap_ok(findprocs_add_named(f, name, 99, uid, &ids), "%s: has memory", title);
	if (ids.pids.n)
		qsort(ids.pids.v, ids.pids.n, sizeof(*ids.pids.v), ascending);
	tap_str(found(&ids), want, title);
	VEC_FREE(&ids.pids);
}

static void test_names(struct findprocs *f)
{
	finds(f, "postgres", 0, "10 11", "the name of two processes, but not of the caller");
	finds(f, "a (b) c", 0, "12", "a name with blanks and parentheses");
	finds(f, "a\\b\nc", 0, "15", "a name that the kernel escapes");
	finds(f, "averyveryverylongname", 0, "13", "a name longer than the kernel keeps");
	finds(f, "averyveryverylo", 0, "13", "and its first 15 characters");
	finds(f, "python3.11", 0, "14", "the name of the executable");
	finds(f, "kworker", 0, "", "a kernel thread is not found");
	finds(f, "nothing", 0, "", "a name that no process has");
	for (size_t i = 0; i < f->processes.n; i++)
		f->processes.v[i].uid = f->processes.v[i].pid == 11 ? 7 : 8;
	finds(f, "postgres", 7, "11", "a user's own processes");
	finds(f, "postgres", 9, "10 11", "or those of others, if the user has none");
	finds(f, "postgres", 0, "10 11", "root gets those of all users");
}

static void test_children(const struct findprocs *f)
{
	struct findprocs_ids ids = { 0 };
	tap_ok(VEC_PUSH(&ids.pids, 10) && findprocs_add_children(f, &ids), "has memory");
	qsort(ids.pids.v, ids.pids.n, sizeof(*ids.pids.v), ascending);
	tap_str(found(&ids), "10 11 12", "children and their children");
	VEC_FREE(&ids.pids);
}

static void drops(const struct host *h, const pid_t *pid, size_t n, const char *want,
		  const char *want_ended, const char *title)
{
	struct findprocs_ids ids = { 0 }, ended = { 0 };
	for (size_t i = 0; i < n; i++)
		tap_ok(VEC_PUSH(&ids.pids, pid[i]), "%s: process %zu", title, i);
	tap_ok(findprocs_drop_ended(h, &ids, &ended), "%s: has memory", title);
	tap_str(found(&ids), want, title);
	tap_str(found(&ended), want_ended, "and those that are left out");
	VEC_FREE(&ids.pids);
	VEC_FREE(&ended.pids);
}

static void test_ended(const struct host *h)
{
	drops(h, (pid_t[]){ 10, 16, 12, 77 }, 4, "10 12", "16 77", "a zombie, and no process");
	drops(h, (pid_t[]){ 16, 77 }, 2, "16 77", "", "all have ended");
	drops(h, (pid_t[]){ 3, 10 }, 2, "3 10", "", "a kernel thread");
	mkdir("16/task", 0700);
	mkdir("16/task/17", 0700);
	FILE *f = fopen("16/task/17/status", "w");
	if (f) {
		fputs("Name:\tx\nState:\tR (running)\n", f);
		fclose(f);
	}
	drops(h, (pid_t[]){ 10, 16 }, 2, "10 16", "", "a main thread that has ended");
}

int main(void)
{
	char folder[] = "/tmp/cprof-findprocs-XXXXXX";
	struct host h = { .fd = { -1, -1, -1 } };
	struct findprocs f;
	struct err e = { 0 };
	if (!mkdtemp(folder) || chdir(folder) < 0 || host_open(&h, NULL, folder, NULL, &e) < 0)
		return 1;
	put_process(2, 0, "kthreadd", NULL);
	put_process(3, 2, "kworker", NULL);
	put_process(10, 1, "postgres", "/usr/lib/postgresql/bin/postgres");
	put_process(11, 10, "postgres", NULL);
	put_process(12, 11, "a (b) c", NULL);
	put_process(13, 1, "averyveryverylongname", NULL);
	put_process(14, 1, "main", "/usr/bin/python3.11");
	put_process(15, 1, "a\\\\b\\nc", NULL);
	put_state(16, 10, "postgres", NULL, 'Z');
	put_process(99, 1, "postgres", NULL);
	tap_ok(findprocs_read(&f, &h, &e) == 0, "all processes are read");
	test_names(&f);
	test_children(&f);
	test_ended(&h);
	findprocs_done(&f);
	host_close(&h);
	char command[64];
	snprintf(command, sizeof(command), "rm -r %s", folder);
	tap_ok(system(command) == 0, "the folder is removed");
	return tap_done();
}
