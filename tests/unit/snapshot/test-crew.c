/* Work that is divided between threads: all of it is done, and others help only if they may. */
#include "snapshot/crew.h"

#include "base/host.h"
#include "tests/unit/tap.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PARTS 1000u

static atomic_uint n_done[PARTS], n_threads;

static void count_thread(void *ctx, bool begins)
{
	(void)ctx;
	n_threads += begins;
}

static void work(void *ctx, size_t first, size_t end)
{
	for (size_t i = first; i < end && ctx == n_done; i++)
		n_done[i]++;
}

/* Does work twice; how many threads of their own the readers had. */
static unsigned run(const struct host *h, uint32_t n_readers, size_t n, const char *what)
{
	struct crew c;
	size_t n_right = 0;
	n_threads = 0;
	for (size_t i = 0; i < PARTS; i++)
		n_done[i] = 0;
	crew_init(&c, h);
	c.n_readers = n_readers;
	c.on_reader = count_thread;
	crew_run(&c, n, work, n_done);
	crew_run(&c, n, work, n_done);
	crew_done(&c);
	for (size_t i = 0; i < PARTS; i++)
		n_right += n_done[i] == (i < n ? 2 : 0);
	tap_int((long long)n_right, PARTS, what);
	return n_threads;
}

static unsigned n_cpus(void)
{
	cpu_set_t ours;
	return sched_getaffinity(0, sizeof(ours), &ours) < 0 ? 1 : (unsigned)CPU_COUNT(&ours);
}

/* On a machine with so many runnable threads. */
static unsigned run_beside(const char *loadavg, size_t n, const char *what)
{
	char folder[] = "/tmp/test-crew-XXXXXX", path[64];
	struct host h;
	if (!mkdtemp(folder))
		return 0;
	snprintf(path, sizeof(path), "%s/loadavg", folder);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	bool ok = fd >= 0 && write(fd, loadavg, strlen(loadavg)) > 0 &&
		  host_open(&h, NULL, folder, NULL, NULL) == 0;
	close(fd);
	unsigned n_helpers = 0;
	if (tap_ok(ok, "%s: a folder", what)) {
		n_helpers = run(&h, CREW_AUTO, n, what);
		host_close(&h);
	}
	unlink(path);
	rmdir(folder);
	return n_helpers;
}

int main(void)
{
	struct host h;
	if (host_open(&h, NULL, NULL, NULL, NULL) < 0)
		return 1;
	tap_int(run(&h, 0, PARTS, "one thread does all"), 0, "without others");
	tap_int(run(&h, 3, PARTS, "three threads do each part once"), 2, "two of them are others");
	tap_int(run(&h, 3, 5, "so do they with little work"), 2, "which is no matter");
	tap_int(run(&h, 3, 0, "nothing is to be done"), 2, "and nothing is");
	host_close(&h);

	unsigned n_idle = n_cpus() - 1;
	tap_int(run_beside("0.0 0.0 0.0 1/80 9\n", PARTS, "idle CPUs"), n_idle < 3 ? n_idle : 3,
		"other threads use them, up to a limit");
	tap_int(run_beside("0.0 0.0 0.0 100000/100000 9\n", PARTS, "CPUs that are in use"), 0,
		"no other thread uses them");
	tap_int(run_beside("0.0 0.0 0.0 1/80 9\n", 20, "little work"), 0, "needs no others");
	tap_int(run_beside("a text", PARTS, "no number of runnable threads"), 0,
		"no other thread begins");
	return tap_done();
}
