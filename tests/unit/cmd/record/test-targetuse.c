/* What a target uses, in a /proc that is a temporary folder. */
#include "cmd/record/targetuse.h"

#include "base/host.h"
#include "tests/unit/tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND 1000000000u

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

/* A process with one thread; ticks: its own CPU time, of the children it waited for the same. */
static void put_process(int pid, unsigned ticks, unsigned threads, unsigned pages,
			const char *children)
{
	char path[64], text[256];
	snprintf(path, sizeof(path), "%d", pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%d/task", pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%d/task/%d", pid, pid);
	mkdir(path, 0700);
	snprintf(text, sizeof(text), "%d (a) b 7) S 1 1 1 0 -1 0 0 0 0 0 %u 0 %u 0 20 0 1 0 5\n",
		 pid, ticks, ticks);
	snprintf(path, sizeof(path), "%d/stat", pid);
	put(path, text);
	snprintf(path, sizeof(path), "%d/task/%d/stat", pid, pid);
	put(path, text);
	snprintf(text, sizeof(text), "Name:\ta\nVmRSS:\t    %ld kB\nThreads:\t%u\n",
		 (long)pages * sysconf(_SC_PAGESIZE) / 1024, threads);
	snprintf(path, sizeof(path), "%d/status", pid);
	put(path, text);
	snprintf(path, sizeof(path), "%d/task/%d/children", pid, pid);
	put(path, children);
}

static double read_metric(struct targetuse *u, enum trigger_metric metric)
{
	double value = -1;
	targetuse_read(u, metric, SECOND, &value);
	return value;
}

static void test_processes(const struct host *h)
{
	struct targetuse u;
	double page = (double)sysconf(_SC_PAGESIZE);
	const pid_t pid = 10;
	targetuse_init(&u, h, &pid, 1, NULL, 0, 0);
	tap_int((long)read_metric(&u, TRIGGER_THREADS), 1 + 2 + 4,
		"threads of a process and its descendants");
	tap_ok(read_metric(&u, TRIGGER_RSS) == 7 * page, "and their resident memory");
	targetuse_done(&u);
	targetuse_init(&u, h, NULL, 0, &pid, 1, 11);
	tap_ok(read_metric(&u, TRIGGER_RSS) == (1 + 2) * page,
	       "a single thread counts with the memory of its process, beside the command");
	targetuse_done(&u);
}

static void test_cpu(const struct host *h)
{
	struct targetuse u;
	const pid_t pid = 10;
	unsigned long hz = (unsigned long)sysconf(_SC_CLK_TCK);
	double value;
	targetuse_init(&u, h, &pid, 1, NULL, 0, 0);
	tap_ok(!targetuse_read(&u, TRIGGER_CPU, 1 * (uint64_t)SECOND, &value),
	       "one reading says nothing about CPU time");
	put_process(10, 100 + (unsigned)hz / 4, 1, 1, "11 12 \n");
	tap_ok(targetuse_read(&u, TRIGGER_CPU, 2 * (uint64_t)SECOND, &value) && value == 50,
	       "the second one does, with the time of children that ended");
	put_process(10, 100, 1, 1, "11 12 \n");
	tap_ok(targetuse_read(&u, TRIGGER_CPU, 3 * (uint64_t)SECOND, &value) && value == 0,
	       "a sum that shrinks counts as 0");
	targetuse_done(&u);
}

static void test_machine(const struct host *h)
{
	struct targetuse u;
	double value;
	targetuse_init(&u, h, NULL, 0, NULL, 0, 0);
	u.all = true;
	put("stat", "cpu 1000 0 0 77 77 0 0\n");
	tap_int((long)read_metric(&u, TRIGGER_THREADS), 1 + 2 + 4 + 8, "all processes: threads");
	targetuse_read(&u, TRIGGER_CPU, 1 * (uint64_t)SECOND, &value);
	char text[64];
	snprintf(text, sizeof(text), "cpu %ld 0 0 99 99 0 0\n", 1000 + 3 * sysconf(_SC_CLK_TCK));
	put("stat", text);
	tap_ok(targetuse_read(&u, TRIGGER_CPU, 2 * (uint64_t)SECOND, &value) && value == 300,
	       "all processes: how busy the CPUs were");
	targetuse_done(&u);
}

int main(void)
{
	char dir[] = "/tmp/test-targetuse-XXXXXX", remove[64];
	struct host h;
	if (!mkdtemp(dir) || chdir(dir) < 0 || host_open(&h, ".", ".", ".", NULL) < 0)
		return 1;
	put_process(10, 100, 1, 1, "11 12 \n");
	put_process(11, 10, 2, 2, "");
	put_process(12, 10, 4, 4, "13 \n");  /* its child has ended */
	put_process(20, 10, 8, 8, "");
	test_processes(&h);
	test_cpu(&h);
	test_machine(&h);
	host_close(&h);
	snprintf(remove, sizeof(remove), "rm -rf %s", dir);
	if (chdir("/") == 0 && system(remove) != 0)
		return 1;
	return tap_done();
}
