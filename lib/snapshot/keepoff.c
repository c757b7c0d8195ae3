#include "snapshot/keepoff.h"

#include "base/cleanup.h"
#include "base/host.h"
#include "base/remotemem.h"
#include "snapshot/idlecpus.h"
#include "proc/threadtext.h"
#include "source/synth.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Each costs some 10 us. */
#define THREADS_MAX 256
#define STAT_BYTES_MAX 1024
/* Threads of the kernel run for some ten microseconds at a time. */
#define LOOK_US 200
/* While the owner sleeps, as between two snapshots, the thread that watches does, too. */
#define WATCH_MS 1
#define WATCH_MS_MAX 64
#define WAIT_NS 100000u

static cpu_set_t rest_of(const struct keepoff *k, const cpu_set_t *used)
{
	cpu_set_t shared, rest;
	CPU_AND(&shared, &k->before, used);
	CPU_XOR(&rest, &k->before, &shared);
	return CPU_COUNT(&rest) ? rest : k->before;
}

static void set_rest(struct keepoff *k, const cpu_set_t *rest)
{
	k->rest = *rest;
	sched_setaffinity(k->owner, sizeof(k->rest), &k->rest);
	k->version++;
}

/* ---- the thread that watches ---------------------------------------------------------------- */

struct owner_times {
	unsigned long long run_ns, wait_ns;  /* on a CPU, and for one, since the thread began */
};

/* The first two numbers of schedstat. */
static bool read_times(const struct keepoff *k, struct owner_times *ret)
{
	char text[128];
	ssize_t n = pread(k->schedstat_fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	return sscanf(text, "%llu %llu", &ret->run_ns, &ret->wait_ns) == 2;
}

static void add_cpu_of(const struct keepoff *k, const struct keepoff_thread *t, cpu_set_t *used)
{
	char text[STAT_BYTES_MAX];
	struct threadtext_stat stat;
	CLEANUP_CLOSE int fd = host_open_file(k->host, HOST_PROC, O_RDONLY, "%u/task/%u/stat",
					      t->pid, t->tid);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	if (threadtext_stat(text, &stat) && stat.state == 'R' && stat.cpu < CPU_SETSIZE)
		CPU_SET(stat.cpu, used);
}

/* The owner has waited, so something else runs on its CPU. */
static void look_again(struct keepoff *k)
{
	cpu_set_t used;
	CPU_ZERO(&used);
	for (unsigned i = 0; i < k->n_watched; i++)
		add_cpu_of(k, &k->watched[i], &used);
	cpu_set_t rest = rest_of(k, &used);
	if (!CPU_EQUAL(&rest, &k->rest))
		set_rest(k, &rest);
}

static void *watch(void *arg)
{
	struct keepoff *k = arg;
	struct pollfd end = { .fd = k->end_fd, .events = POLLIN };
	struct owner_times before = { 0 }, now;
	int ms = WATCH_MS;
	read_times(k, &before);
	while (poll(&end, 1, ms) == 0 && read_times(k, &now)) {
		bool has_slept = now.run_ns == before.run_ns;
		bool has_waited = now.wait_ns - before.wait_ns >= WAIT_NS;
		ms = !has_slept ? WATCH_MS : ms < WATCH_MS_MAX ? 2 * ms : ms;
		before.run_ns = now.run_ns;
		if (!has_waited)
			continue;
		before.wait_ns = now.wait_ns;
		pthread_mutex_lock(&k->lock);
		look_again(k);
		pthread_mutex_unlock(&k->lock);
	}
	return NULL;
}

static void end_watch(struct keepoff *k)
{
	if (k->is_watched) {
		eventfd_write(k->end_fd, 1);
		pthread_join(k->watch, NULL);
	}
	if (k->schedstat_fd >= 0)
		close(k->schedstat_fd);
	if (k->end_fd >= 0)
		close(k->end_fd);
	k->end_fd = k->schedstat_fd = -1;
	k->is_watched = false;
}

static void start_watch(struct keepoff *k)
{
	char path[64];
	sigset_t all, before;
	end_watch(k);
	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", k->owner);
	k->schedstat_fd = open(path, O_RDONLY | O_CLOEXEC);
	k->end_fd = eventfd(0, EFD_CLOEXEC);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	k->is_watched = k->schedstat_fd >= 0 && k->end_fd >= 0 &&
			pthread_create(&k->watch, NULL, watch, k) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- the owner ------------------------------------------------------------------------------ */

void keepoff_begin(struct keepoff *k, const struct host *h, uint32_t n_readers)
{
	keepoff_end(k);
	int cpu = sched_getcpu();
	*k = (struct keepoff){ .host = h, .owner = gettid(), .end_fd = -1, .schedstat_fd = -1,
			       .may_watch = n_readers > 1,
			       .lock = PTHREAD_MUTEX_INITIALIZER };
	if (cpu < 0 || cpu >= CPU_SETSIZE ||
	    sched_getaffinity(0, sizeof(k->before), &k->before) < 0)
		return;
	unsigned n_cpus = (unsigned)CPU_COUNT(&k->before);
	unsigned n_runnable = idlecpus_runnable(h, n_cpus, LOOK_US);
	if (n_cpus < 2 || !n_runnable || n_runnable > n_cpus)
		return;
	cpu_set_t here;
	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	k->rest = k->before;
	k->version = 1;
	k->is_on = sched_setaffinity(0, sizeof(here), &here) == 0;
}

void keepoff_add(struct keepoff *k, uint32_t cpu)
{
	if (cpu < CPU_SETSIZE)
		CPU_SET(cpu, &k->used);
}

void keepoff_watch(struct keepoff *k, uint32_t pid, uint32_t tid)
{
	pthread_mutex_lock(&k->lock);
	if (k->n_watched < KEEPOFF_WATCHED_MAX)
		k->watched[k->n_watched++] = (struct keepoff_thread){ pid, tid };
	pthread_mutex_unlock(&k->lock);
	if (k->is_on && k->may_watch && !k->is_watched)
		start_watch(k);
}

void keepoff_add_process(struct keepoff *k, uint32_t pid)
{
	CLEANUP_FREE pid_t *tids = NULL;
	int n = k->is_on ? synth_list(k->host, (pid_t)pid, &tids) : 0;
	bool is_direct = n > 0 && remotemem_is_direct(k->host->memory, pid);
	for (int i = 0; i < n && i < THREADS_MAX; i++) {
		char text[STAT_BYTES_MAX], path[48];
		struct threadtext_stat stat;
		snprintf(path, sizeof(path), "task/%d/stat", tids[i]);
		if (host_read_process_line(k->host, pid, path, text, sizeof(text)) > 0 &&
		    threadtext_stat(text, &stat) && stat.state == 'R') {
			keepoff_add(k, stat.cpu);
			if (is_direct)
				keepoff_watch(k, pid, (uint32_t)tids[i]);
		}
	}
}

void keepoff_apply(struct keepoff *k)
{
	if (!k->is_on)
		return;
	cpu_set_t rest = rest_of(k, &k->used);
	pthread_mutex_lock(&k->lock);
	set_rest(k, &rest);
	pthread_mutex_unlock(&k->lock);
}

void keepoff_help(struct keepoff *k, unsigned *version)
{
	pthread_mutex_lock(&k->lock);
	cpu_set_t rest = k->rest;
	bool is_new = *version != k->version;
	*version = k->version;
	pthread_mutex_unlock(&k->lock);
	if (is_new)
		sched_setaffinity(0, sizeof(rest), &rest);
}

void keepoff_end(struct keepoff *k)
{
	if (!k->is_on)
		return;
	end_watch(k);
	sched_setaffinity(k->owner, sizeof(k->before), &k->before);
	k->is_on = false;
}
