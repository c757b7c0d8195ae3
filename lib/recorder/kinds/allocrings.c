/*
 * The library's registry, which its ELF note leads to, has the number of the memfd in its process.
 * The descriptor is opened by its link in /proc; that its inode is the one in the registry makes
 * sure that the program has not closed it and opened something else instead.
 */

#include "recorder/kinds/allocrings.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/log.h"
#include "base/remotemem.h"
#include "engine/engine.h"
#include "proc/procs.h"
#include "symbolize/elf/dso.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RINGS_MAX 4096u

void allocrings_init(struct allocrings *a, const struct host *host, const struct log *log)
{
	*a = (struct allocrings){ .host = host, .log = log };
}

static void add_losses(struct allocring_losses *to, struct allocring_losses l)
{
	to->n_allocs += l.n_allocs;
	to->n_frees += l.n_frees;
	to->n_untracked += l.n_untracked;
}

static void close_found(struct allocrings *a, size_t i)
{
	add_losses(&a->stats.lost, allocring_losses(&a->found.v[i].ring));
	allocring_close(&a->found.v[i].ring);
	allocids_done(&a->found.v[i].ids);
	a->found.v[i] = a->found.v[--a->found.n];
}

void allocrings_done(struct allocrings *a)
{
	while (a->found.n)
		close_found(a, a->found.n - 1);
	VEC_FREE(&a->found);
	idmap_done(&a->searched);
	idmap_done(&a->seeing);
}

/* ---- searching ------------------------------------------------------------------------------ */

/* Bytes or -errno. */
static long read_registry(const struct allocrings *a, uint32_t pid, uint64_t addr,
			  struct allocformat_registry *ret)
{
	const struct iovec to = { ret, sizeof(*ret) }, from = { (void *)addr, sizeof(*ret) };
	return a->host->memory ? remotemem_read(a->host->memory, pid, &to, 1, &from, 1) : -EPERM;
}

static bool is_ring(const struct allocring *ring, const struct allocformat_registry *r)
{
	return ring->inode == r->inode && ring->device == r->device;
}

bool allocrings_sees(const struct allocrings *a, uint32_t pid)
{
	return idmap_get(&a->seeing, pid);
}

/* Is it open already?  Then the process is another one that writes to it. */
static bool is_known(struct allocrings *a, uint32_t pid, const struct allocformat_registry *r)
{
	if (a->commands && is_ring(a->commands, r))
		return true;
	for (size_t i = 0; i < a->found.n; i++) {
		struct allocrings_found *f = &a->found.v[i];
		if (!is_ring(&f->ring, r))
			continue;
		allocids_add(&f->ids, a->host, pid);
		return true;
	}
	return false;
}

/* The process's own descriptor, opened again: a new position and new flags. */
static int open_descriptor(const struct allocrings *a, uint32_t pid,
			   const struct allocformat_registry *r)
{
	char name[32];
	struct stat st;
	snprintf(name, sizeof(name), "fd/%d", r->fd);
	CLEANUP_CLOSE int path_fd = host_open_process_link(a->host, pid, name);
	if (path_fd < 0)
		return path_fd;
	/* A memfd: opening it waits for nobody. */
	if (fstat(path_fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_ino != r->inode ||
	    st.st_dev != r->device)
		return -ENOENT;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	int fd = open(name, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* False: there is none to read. */
static bool open_ring(struct allocrings *a, uint32_t pid, const struct allocformat_registry *r)
{
	struct allocrings_found f = { .ids = { .is_foreign = false } };
	int fd = open_descriptor(a, pid, r);
	if (fd < 0) {
		a->stats.n_denied += fd == -EACCES || fd == -EPERM;
		a->stats.n_no_ring += fd != -EACCES && fd != -EPERM;
		return false;
	}
	if (allocring_open(&f.ring, fd) < 0) {
		a->stats.n_bad++;
		return false;
	}
	if (allocring_start(&f.ring, a->mean, a->stack_bytes, a->has_frees) < 0) {
		a->stats.n_busy++;
		allocring_close(&f.ring);
	} else if (a->found.n >= RINGS_MAX || !allocids_add(&f.ids, a->host, pid) ||
		   !VEC_PUSH(&a->found, f)) {
		a->stats.n_no_ring++;
		allocids_done(&f.ids);
		allocring_close(&f.ring);
	} else {
		return true;
	}
	return false;
}

/* The registry of the library in the process; 0: it has not mapped the library. */
static uint64_t find_registry(const struct engine *g, const struct procs_process *p)
{
	uint64_t vaddr;
	for (uint32_t i = 0; i < p->space.map.n; i++) {
		const struct procs_map *map = &p->space.map.v[i];
		const struct dso *d = dso_get(&g->dsos, map->dso);
		if (d->allocs_vaddr && dso_vaddr(d, map->pgoff, &vaddr))
			return map->start - vaddr + d->allocs_vaddr;
	}
	return 0;
}

/* False: it is to be asked again, since the library has not begun yet. */
static bool search_process(struct allocrings *a, uint32_t pid, uint64_t addr)
{
	struct allocformat_registry r;
	long n = read_registry(a, pid, addr, &r);
	if (n != (long)sizeof(r)) {
		/* Nothing is missing of a process that has ended, or is another program now. */
		a->stats.n_denied += n < 0 && n != -ESRCH && n != -EFAULT;
		return true;
	}
	if (r.magic != ALLOCFORMAT_MAGIC)
		return false;
	a->stats.n_processes++;
	bool is_shadowed = r.unseen & ALLOCFORMAT_MALLOC;
	a->stats.n_shadowed += is_shadowed;
	a->stats.n_other_new += (r.unseen & ALLOCFORMAT_NEW) != 0;
	if ((is_known(a, pid, &r) || open_ring(a, pid, &r)) && !is_shadowed)
		idmap_put(&a->seeing, pid, a);
	return true;
}

void allocrings_search(struct allocrings *a, const struct engine *g)
{
	for (size_t i = 0; i < g->procs.n_processes; i++) {
		const struct procs_process *p = g->procs.process[i];
		void *now = (void *)((uintptr_t)p->space.n_changes + 1);
		if (p->exited || !p->pid || !targets_has(&g->targets, p->pid, p->pid) ||
		    idmap_get(&a->searched, p->pid) == now)
			continue;
		uint64_t addr = find_registry(g, p);
		if (!addr || search_process(a, p->pid, addr))
			idmap_put(&a->searched, p->pid, now);
	}
}

void allocrings_fork(struct allocrings *a, uint32_t pid, uint32_t child)
{
	if (allocrings_sees(a, pid))
		idmap_put(&a->seeing, child, a);
}

void allocrings_forget(struct allocrings *a, uint32_t pid)
{
	idmap_remove(&a->searched, pid);
	idmap_remove(&a->seeing, pid);
	for (size_t i = a->found.n; i-- > 0;) {
		struct allocrings_found *f = &a->found.v[i];
		allocids_remove(&f->ids, pid);
		if (!f->ids.process.n)
			close_found(a, i);
	}
}

bool allocrings_any_shadowed(const struct allocrings *a)
{
	return a->stats.n_shadowed || (a->commands && a->commands->head->n_shadowed);
}

void allocrings_explain(struct allocrings *a)
{
	const struct allocrings_stats *s = &a->stats;
	bool is_shadowed = allocrings_any_shadowed(a);
	bool has_new = s->n_other_new || (a->commands && a->commands->head->n_other_new);
	if (a->is_explained || !(s->n_busy + s->n_denied + s->n_no_ring || is_shadowed || has_new))
		return;
	a->is_explained = true;
	if (s->n_busy)
		log_line(a->log, LOG_WARN, "another profiler records the allocations of a process");
	if (s->n_denied)
		log_line(a->log, LOG_WARN, "the memory of a process with libcprof-alloc.so may not "
			 "be read: see ptrace(2), kernel.yama.ptrace_scope");
	if (s->n_no_ring)
		log_line(a->log, LOG_WARN, "a process with libcprof-alloc.so has closed the "
			 "descriptor of its samples, or could not open one");
	if (is_shadowed)
		log_line(a->log, LOG_WARN, "a process calls another malloc than that of "
			 "libcprof-alloc.so: its own, or of a library before ours in LD_PRELOAD");
	else if (has_new)
		log_line(a->log, LOG_WARN, "the allocator of a process has its own operator new: "
			 "only calls of malloc and its relatives are counted");
}

/* ---- reading -------------------------------------------------------------------------------- */

static void read_ring(struct allocrings *a, struct allocring *ring, struct allocids *ids,
		      uint64_t until_ns,
		      void (*each)(void *ctx, const struct record *r), void *ctx)
{
	struct record r;
	bool was_bad = ring->is_bad;
	while (allocring_next(ring, until_ns, &r))
		if (!ids || allocids_translate(ids, a->host, &r))
			each(ctx, &r);
	a->stats.n_bad += ring->is_bad && !was_bad;
}

void allocrings_read(struct allocrings *a, uint64_t until_ns,
		     void (*each)(void *ctx, const struct record *r), void *ctx)
{
	if (a->commands)
		read_ring(a, a->commands, NULL, until_ns, each, ctx);
	for (size_t i = 0; i < a->found.n; i++)
		read_ring(a, &a->found.v[i].ring, &a->found.v[i].ids, until_ns, each, ctx);
}

void allocrings_tend(struct allocrings *a, uint64_t now_ns)
{
	if (a->commands)
		allocring_tend(a->commands, now_ns);
	for (size_t i = 0; i < a->found.n; i++)
		allocring_tend(&a->found.v[i].ring, now_ns);
}

void allocrings_stop(struct allocrings *a)
{
	if (a->commands)
		allocring_stop(a->commands);
	for (size_t i = 0; i < a->found.n; i++)
		allocring_stop(&a->found.v[i].ring);
}

size_t allocrings_n(const struct allocrings *a)
{
	return a->found.n + (a->commands && a->commands->head->n_users ? 1 : 0);
}

struct allocring_losses allocrings_losses(const struct allocrings *a)
{
	struct allocring_losses sum = a->stats.lost;
	if (a->commands)
		add_losses(&sum, allocring_losses(a->commands));
	for (size_t i = 0; i < a->found.n; i++)
		add_losses(&sum, allocring_losses(&a->found.v[i].ring));
	return sum;
}
