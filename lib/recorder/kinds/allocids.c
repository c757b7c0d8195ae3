/* The kernel shows to each reader of /proc/PID/task/TID/status the ids that the thread has in the
 * namespaces below, so the search is that of all threads, for one that is not known yet. */

#include "recorder/kinds/allocids.h"

#include "base/clock.h"
#include "base/host.h"
#include "source/record.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Threads that have ended cannot be found: they must not cost a search each. */
#define SEARCH_NS UINT64_C(50000000)
#define TIDS_MAX 65536u

void allocids_done(struct allocids *a)
{
	VEC_FREE(&a->process);
	idmap_done(&a->tid);
}

bool allocids_add(struct allocids *a, const struct host *h, uint32_t pid)
{
	for (size_t i = 0; i < a->process.n; i++)
		if (a->process.v[i].pid == pid)
			return true;
	uint32_t own_pid = host_own_tid(h, pid, pid);
	struct allocids_process p = { pid, own_pid ? own_pid : pid };
	a->is_foreign |= p.own_pid != p.pid;
	return VEC_PUSH(&a->process, p);
}

void allocids_remove(struct allocids *a, uint32_t pid)
{
	for (size_t i = a->process.n; i-- > 0;)
		if (a->process.v[i].pid == pid)
			a->process.v[i] = a->process.v[--a->process.n];
}

static void *value_of(uint32_t id)
{
	return (void *)((uintptr_t)id + 1);
}

static void add_threads(struct allocids *a, const struct host *h, uint32_t pid)
{
	int fd = host_open_file(h, HOST_PROC, O_RDONLY | O_DIRECTORY, "%u/task", pid);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	const struct dirent *entry;
	while ((entry = readdir(dir)) && a->tid.item.n < TIDS_MAX) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
		uint32_t own = tid ? host_own_tid(h, pid, tid) : 0;
		if (own)
			idmap_put(&a->tid, own, value_of(tid));
	}
	closedir(dir);
}

bool allocids_translate(struct allocids *a, const struct host *h, struct record *r)
{
	const struct allocids_process *p = NULL;
	if (!a->is_foreign)
		return true;
	for (size_t i = 0; i < a->process.n; i++)
		if (a->process.v[i].own_pid == r->pid)
			p = &a->process.v[i];
	if (!p)
		return false;
	void *tid = r->tid == r->pid ? value_of(p->pid) : idmap_get(&a->tid, r->tid);
	uint64_t now_ns = tid ? 0 : clock_monotonic_ns();
	if (!tid && now_ns - a->searched_ns >= SEARCH_NS) {
		a->searched_ns = now_ns;
		add_threads(a, h, p->pid);
		tid = idmap_get(&a->tid, r->tid);
	}
	r->pid = p->pid;
	r->tid = tid ? (uint32_t)((uintptr_t)tid - 1) : p->pid;
	return true;
}
