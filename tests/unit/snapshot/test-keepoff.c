/* A snapshot leaves CPUs to its targets if others are idle, and gives back what it has changed. */
#include "snapshot/keepoff.h"

#include "base/host.h"
#include "tests/unit/procself.h"
#include "tests/unit/tap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static cpu_set_t ours(void)
{
	cpu_set_t s;
	CPU_ZERO(&s);
	sched_getaffinity(0, sizeof(s), &s);
	return s;
}

static bool is_ours(const cpu_set_t *s)
{
	cpu_set_t now = ours();
	return CPU_EQUAL(&now, s);
}

/* A machine with so many runnable threads. */
static bool open_host(struct host *h, char *folder, const char *loadavg)
{
	char path[64];
	if (!mkdtemp(folder))
		return false;
	snprintf(path, sizeof(path), "%s/loadavg", folder);
	FILE *f = fopen(path, "we");
	bool ok = f && fputs(loadavg, f) >= 0;
	return (!f || fclose(f) == 0) && ok && host_open(h, NULL, folder, NULL, NULL) == 0;
}

static void close_host(struct host *h, const char *folder)
{
	char path[64];
	snprintf(path, sizeof(path), "%s/loadavg", folder);
	host_close(h);
	unlink(path);
	rmdir(folder);
}

static void test_busy(const cpu_set_t *all)
{
	char folder[] = "/tmp/test-keepoff-XXXXXX";
	struct host h;
	struct keepoff k = { .host = NULL };
	if (!tap_ok(open_host(&h, folder, "0.0 0.0 0.0 100000/100000 9\n"), "a busy machine"))
		return;
	keepoff_begin(&k, &h, 2);
	keepoff_add(&k, 0);
	keepoff_apply(&k);
	tap_ok(is_ours(all), "nothing changes while all CPUs are in use");
	keepoff_end(&k);
	close_host(&h, folder);
}

/* With two CPUs at least. */
static void test_idle(const cpu_set_t *all, int first)
{
	char folder[] = "/tmp/test-keepoff-XXXXXX";
	struct host h;
	struct keepoff k = { .host = NULL };
	unsigned version = 0;
	cpu_set_t but_first = *all;
	if (!tap_ok(open_host(&h, folder, "0.0 0.0 0.0 2/80 9\n"), "an idle machine"))
		return;
	CPU_CLR(first, &but_first);
	keepoff_begin(&k, &h, 2);
	cpu_set_t now = ours();
	tap_int(CPU_COUNT(&now), 1, "it stays on its CPU at first");
	keepoff_help(&k, &version);
	tap_ok(is_ours(all), "threads that help may use all of them");
	keepoff_add(&k, (uint32_t)first);
	keepoff_add(&k, UINT32_MAX);
	keepoff_apply(&k);
	tap_ok(is_ours(&but_first), "then it uses those that no target uses");
	sched_setaffinity(0, sizeof(*all), all);
	keepoff_help(&k, &version);
	tap_ok(is_ours(&but_first), "so do threads that help");
	keepoff_begin(&k, &h, 2);
	for (int i = 0; i < CPU_SETSIZE; i++)
		keepoff_add(&k, (uint32_t)i);
	keepoff_apply(&k);
	tap_ok(is_ours(all), "if targets use all CPUs, it shares them");
	keepoff_begin(&k, &h, 2);
	keepoff_end(&k);
	tap_ok(is_ours(all), "at the end it may use what it could use before");
	keepoff_end(&k);
	close_host(&h, folder);
}

static int count_threads(void)
{
	return procself_count("/proc/self/task");
}

static bool is_over;

static void *spin(void *cpus)
{
	sched_setaffinity(0, sizeof(cpu_set_t), cpus);
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
		;
	return NULL;
}

static bool add_stat(const char *folder, int cpu)
{
	char path[64];
	snprintf(path, sizeof(path), "%s/7", folder);
	bool ok = mkdir(path, 0700) == 0;
	snprintf(path, sizeof(path), "%s/7/task", folder);
	ok = ok && mkdir(path, 0700) == 0;
	snprintf(path, sizeof(path), "%s/7/task/8", folder);
	ok = ok && mkdir(path, 0700) == 0;
	snprintf(path, sizeof(path), "%s/7/task/8/stat", folder);
	FILE *f = ok ? fopen(path, "we") : NULL;
	if (!f)
		return false;
	fputs("8 (spin) R", f);
	for (int i = 4; i <= 38; i++)
		fputs(" 1", f);
	fprintf(f, " %d 0 0 0 0 0 0 0 0 0 0 0 0 0\n", cpu);
	return fclose(f) == 0;
}

static void remove_stat(const char *folder)
{
	static const char *const name[] = { "7/task/8/stat", "7/task/8", "7/task", "7" };
	char path[64];
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, name[i]);
		remove(path);
	}
}

/* Uses its CPU until it may not any more, or for half a minute. */
static bool is_moved_from(const cpu_set_t *here)
{
	for (time_t start = time(NULL); time(NULL) - start < 30;) {
		cpu_set_t now = ours(), both;
		CPU_AND(&both, &now, here);
		if (!CPU_COUNT(&both))
			return true;
	}
	return false;
}

/* A thread that begins to run on the CPU of the one that takes the snapshot. */
static void test_watch(const cpu_set_t *all)
{
	char folder[] = "/tmp/test-keepoff-XXXXXX";
	struct host h;
	struct keepoff k = { .host = NULL };
	pthread_t spinner;
	if (!tap_ok(open_host(&h, folder, "0.0 0.0 0.0 2/80 9\n"), "an idle machine"))
		return;
	int n_threads = count_threads();
	keepoff_begin(&k, &h, 1);
	keepoff_watch(&k, 7, 8);
	tap_int(count_threads(), n_threads, "one reader: no other thread");
	keepoff_begin(&k, &h, 2);
	cpu_set_t here = ours();
	int cpu = 0;
	while (!CPU_ISSET(cpu, &here))
		cpu++;
	tap_ok(add_stat(folder, cpu), "a running thread of a target");
	keepoff_watch(&k, 7, 8);
	tap_int(count_threads(), n_threads + 1, "two: another thread watches it");
	__atomic_store_n(&is_over, false, __ATOMIC_RELAXED);
	if (pthread_create(&spinner, NULL, spin, &here) != 0)
		abort();
	tap_ok(is_moved_from(&here), "when it comes to this CPU, the CPU is left to it");
	__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
	pthread_join(spinner, NULL);
	keepoff_end(&k);
	tap_ok(is_ours(all), "at the end all CPUs may be used");
	remove_stat(folder);
	close_host(&h, folder);
}

static void *end_at_once(void *ctx)
{
	return ctx;
}

int main(void)
{
	cpu_set_t all = ours();
	pthread_t thread;
	int first = 0;
	/* ThreadSanitizer starts a thread of its own beside the first one. */
	if (pthread_create(&thread, NULL, end_at_once, NULL) == 0)
		pthread_join(thread, NULL);
	while (first < CPU_SETSIZE - 1 && !CPU_ISSET(first, &all))
		first++;
	test_busy(&all);
	if (CPU_COUNT(&all) > 1) {
		test_idle(&all, first);
		test_watch(&all);
	} else {
		tap_skip("CPUs that targets do not use", "there is one CPU");
	}
	return tap_done();
}
