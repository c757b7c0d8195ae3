/*
 * A process's account includes the CPU time of the children that it waited for (cutime), so the sum
 * over a tree does not shrink when children end.  It does shrink when nobody waits for them; that
 * interval then counts as 0.
 */
#include "cmd/record/targetuse.h"

#include "base/cleanup.h"
#include "base/host.h"
#include "base/vec.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct use {
	uint64_t cpu_ticks, threads, rss_bytes;
};

void targetuse_init(struct targetuse *u, const struct host *host, const pid_t *pid, size_t n_pids,
		    const pid_t *tid, size_t n_tids, pid_t command)
{
	*u = (struct targetuse){ .host = host, .pid = pid, .tid = tid, .n_pids = n_pids,
				 .n_tids = n_tids, .command = command };
}

void targetuse_done(struct targetuse *u)
{
	VEC_FREE(&u->seen);
	*u = (struct targetuse){ 0 };
}

/* proc(5): fields 14 to 17 are CPU times; the name in field 2 can contain any character. */
static void add_cpu(const struct host *h, pid_t pid, const char *name, bool with_children,
		    struct use *sum)
{
	CLEANUP_FREE char *text = NULL;
	unsigned long long utime, stime, cutime, cstime;
	if (host_read_process_file(h, (uint32_t)pid, name, &text, NULL) < 0)
		return;
	const char *p = strrchr(text, ')');
	if (p && sscanf(p + 1,
			" %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu %llu %llu",
			&utime, &stime, &cutime, &cstime) == 4)
		sum->cpu_ticks += utime + stime + (with_children ? cutime + cstime : 0);
}

/* Threads and memory, from a file of which no process can hold back the readers.  False: there is
 * no such process. */
static bool add_size(const struct host *h, pid_t pid, struct use *sum)
{
	CLEANUP_FREE char *text = NULL;
	unsigned long long value;
	if (host_read_file(h, HOST_PROC, &text, NULL, "%d/status", (int)pid) < 0)
		return false;
	const char *threads = strstr(text, "\nThreads:"), *rss = strstr(text, "\nVmRSS:");
	if (threads && sscanf(threads, "\nThreads: %llu", &value) == 1)
		sum->threads += value;
	if (rss && sscanf(rss, "\nVmRSS: %llu kB", &value) == 1)
		sum->rss_bytes += value * 1024;
	return true;
}

static void add_thread(const struct host *h, pid_t tid, struct use *sum)
{
	char name[32];
	snprintf(name, sizeof(name), "task/%d/stat", (int)tid);
	add_cpu(h, tid, name, false, sum);
	add_size(h, tid, sum);
}

/* A folder of /proc; NULL when it is gone.  The caller closes it. */
static DIR *open_folder(const struct host *h, const char *name)
{
	int fd = host_open_file(h, HOST_PROC, O_RDONLY | O_DIRECTORY, "%s", name);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d && fd >= 0)
		close(fd);
	return d;
}

/* The next entry whose name is a number; 0 after the last one. */
static pid_t next_id(DIR *d)
{
	for (struct dirent *entry; (entry = readdir(d));)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			return (pid_t)strtol(entry->d_name, NULL, 10);
	return 0;
}

static void add_seen(struct targetuse *u, pid_t pid)
{
	for (size_t i = 0; i < u->seen.n; i++)
		if (u->seen.v[i] == pid)
			return;
	(void)VEC_PUSH(&u->seen, pid);
}

static void add_children(struct targetuse *u, pid_t pid)
{
	char path[32];
	snprintf(path, sizeof(path), "%d/task", (int)pid);
	DIR *d = open_folder(u->host, path);
	for (pid_t tid; d && (tid = next_id(d));) {
		CLEANUP_FREE char *text = NULL;
		if (host_read_file(u->host, HOST_PROC, &text, NULL, "%d/task/%d/children", (int)pid,
				   (int)tid) < 0)
			continue;
		char *end;
		long child;
		for (char *p = text; (child = strtol(p, &end, 10)) > 0 && end > p; p = end)
			add_seen(u, (pid_t)child);
	}
	if (d)
		closedir(d);
}

/* How busy all CPUs together were: the first line of /proc/stat.  The sum over processes would
 * shrink when one ends whose parent is gone. */
static void measure_machine(const struct host *h, struct use *sum)
{
	unsigned long long user, nice, system, irq, softirq;
	CLEANUP_FREE char *text = NULL;
	if (host_read_file(h, HOST_PROC, &text, NULL, "stat") == 0 &&
	    sscanf(text, "cpu %llu %llu %llu %*u %*u %llu %llu", &user, &nice, &system, &irq,
		   &softirq) == 5)
		sum->cpu_ticks = user + nice + system + irq + softirq;
	DIR *d = open_folder(h, ".");
	for (pid_t pid; d && (pid = next_id(d));)
		add_size(h, pid, sum);
	if (d)
		closedir(d);
}

static struct use measure_target(struct targetuse *u)
{
	struct use sum = { 0 };
	if (u->all) {
		measure_machine(u->host, &sum);
		return sum;
	}
	u->seen.n = 0;
	for (size_t i = 0; i < u->n_pids; i++)
		add_seen(u, u->pid[i]);
	if (u->command)
		add_seen(u, u->command);
	for (size_t i = 0; i < u->seen.n; i++)
		if (add_size(u->host, u->seen.v[i], &sum)) {
			add_cpu(u->host, u->seen.v[i], "stat", true, &sum);
			add_children(u, u->seen.v[i]);
		}
	for (size_t i = 0; i < u->n_tids; i++)
		add_thread(u->host, u->tid[i], &sum);
	return sum;
}

bool targetuse_read(struct targetuse *u, enum trigger_metric metric, uint64_t now_ns, double *ret)
{
	struct use use = measure_target(u);
	if (metric == TRIGGER_RSS)
		*ret = (double)use.rss_bytes;
	else if (metric == TRIGGER_THREADS)
		*ret = (double)use.threads;
	else
		*ret = 0;
	if (metric != TRIGGER_CPU)
		return true;
	uint64_t since_ns = u->cpu_ns, ticks = u->cpu_ticks;
	u->cpu_ns = now_ns;
	u->cpu_ticks = use.cpu_ticks;
	if (!since_ns || now_ns <= since_ns)
		return false;
	double used_s = use.cpu_ticks > ticks ? (double)(use.cpu_ticks - ticks) : 0;
	used_s /= (double)sysconf(_SC_CLK_TCK);
	*ret = used_s / ((double)(now_ns - since_ns) / 1e9) * 100;
	return true;
}
