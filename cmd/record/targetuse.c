/*
 * The CPU time of a child that was waited for is in its parent's account (cutime), so that the sum
 * over a tree does not shrink when children end; it can when nobody waits for them, and then the
 * use counts as none.
 */
#include "cmd/record/targetuse.h"

#include "base/vec.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct use {
	uint64_t cpu_ticks, threads, rss_pages;
};

void targetuse_init(struct targetuse *u, const pid_t *pid, size_t n_pids, const pid_t *tid,
		    size_t n_tids, pid_t command)
{
	*u = (struct targetuse){ .pid = pid, .tid = tid, .n_pids = n_pids, .n_tids = n_tids,
				 .command = command };
}

void targetuse_done(struct targetuse *u)
{
	free(u->seen);
	*u = (struct targetuse){ 0 };
}

/* proc(5): fields 14 to 17 are CPU times, 20 the threads, 24 the resident pages; the name in
 * field 2 may hold anything. */
static bool read_stat(const char *path, bool with_children, struct use *sum)
{
	char text[1024];
	unsigned long long utime, stime, cutime, cstime, threads, rss;
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	size_t n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	const char *p = strrchr(text, ')');
	if (!p || sscanf(p + 1,
			 " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu %llu %llu %*s "
			 "%*s %llu %*s %*s %*s %llu",
			 &utime, &stime, &cutime, &cstime, &threads, &rss) != 6)
		return false;
	sum->cpu_ticks += utime + stime + (with_children ? cutime + cstime : 0);
	sum->threads += threads;
	sum->rss_pages += rss;
	return true;
}

static void note(struct targetuse *u, pid_t pid)
{
	for (size_t i = 0; i < u->n_seen; i++)
		if (u->seen[i] == pid)
			return;
	if (vec_grow((void **)&u->seen, &u->cap_seen, u->n_seen, 1, sizeof(*u->seen)))
		u->seen[u->n_seen++] = pid;
}

static void note_children(struct targetuse *u, pid_t pid)
{
	char path[64];
	long child;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *d = opendir(path);
	for (struct dirent *entry; d && (entry = readdir(d));) {
		char children[128];
		snprintf(children, sizeof(children), "/proc/%d/task/%.20s/children", (int)pid,
			 entry->d_name);
		FILE *f = entry->d_name[0] == '.' ? NULL : fopen(children, "re");
		while (f && fscanf(f, "%ld", &child) == 1)
			note(u, (pid_t)child);
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
}

/* What all CPUs together were busy: the first line of /proc/stat.  The sum over processes would
 * shrink when one ends whose parent does not live. */
static void look_at_machine(struct use *sum)
{
	unsigned long long user, nice, system, irq, softirq;
	char path[64];
	FILE *f = fopen("/proc/stat", "re");
	if (f && fscanf(f, "cpu %llu %llu %llu %*u %*u %llu %llu", &user, &nice, &system, &irq,
			&softirq) == 5)
		sum->cpu_ticks = user + nice + system + irq + softirq;
	if (f)
		fclose(f);
	DIR *d = opendir("/proc");
	for (struct dirent *entry; d && (entry = readdir(d));) {
		snprintf(path, sizeof(path), "/proc/%.20s/stat", entry->d_name);
		struct use one = { 0 };
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    !read_stat(path, false, &one))
			continue;
		sum->threads += one.threads;
		sum->rss_pages += one.rss_pages;
	}
	if (d)
		closedir(d);
}

static struct use look(struct targetuse *u)
{
	struct use sum = { 0 };
	char path[64];
	if (u->all) {
		look_at_machine(&sum);
		return sum;
	}
	u->n_seen = 0;
	for (size_t i = 0; i < u->n_pids; i++)
		note(u, u->pid[i]);
	if (u->command)
		note(u, u->command);
	for (size_t i = 0; i < u->n_seen; i++) {
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)u->seen[i]);
		if (read_stat(path, true, &sum))
			note_children(u, u->seen[i]);
	}
	for (size_t i = 0; i < u->n_tids; i++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)u->tid[i],
			 (int)u->tid[i]);
		read_stat(path, false, &sum);
	}
	return sum;
}

bool targetuse_read(struct targetuse *u, enum trigger_metric metric, uint64_t now_ns, double *ret)
{
	struct use use = look(u);
	if (metric == TRIGGER_RSS)
		*ret = (double)use.rss_pages * (double)sysconf(_SC_PAGESIZE);
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
