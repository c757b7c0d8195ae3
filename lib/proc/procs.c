/*
 * Two hash maps, pid -> process and tid -> thread, since every sample looks up its thread.  The
 * kernel reuses ids, so an object leaves its map as soon as another one takes the id.  It is freed
 * only after it has passed through the queue of exited threads: a process lives until its last
 * thread has left that queue.
 *
 * Records may repeat known facts: /proc is read while the kernel already reports, and one fork is
 * reported once per event.  So the handler of each kind of record first checks "is this so
 * already?"
 */

#include "proc/procs.h"

#include "base/budget.h"
#include "base/path.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "proc/dsofile.h"
#include "source/record.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- memory ---------------------------------------------------------------- */

static void charge(struct procs *p, size_t n_bytes)
{
	if (p->budget)
		budget_charge_always(p->budget, n_bytes);
}

static void release(struct procs *p, size_t n_bytes)
{
	if (p->budget)
		budget_release(p->budget, n_bytes);
}

static bool index_put(struct procs *p, struct idmap *m, uint32_t id, void *value)
{
	if (!idmap_put(m, id, value))
		return false;
	size_t now = idmap_n_bytes(&p->pids) + idmap_n_bytes(&p->tids);
	charge(p, now - p->n_index_bytes);
	p->n_index_bytes = now;
	return true;
}

static void space_done(struct procs *p, struct procs_space *s)
{
	release(p, s->map.cap * sizeof(*s->map.v));
	VEC_FREE(&s->map);
	*s = (struct procs_space){ 0 };
}

static void process_free(struct procs *p, struct procs_process *proc)
{
	if (idmap_get(&p->pids, proc->pid) == proc)
		idmap_remove(&p->pids, proc->pid);
	p->process[proc->slot] = p->process[--p->n_processes];
	p->process[proc->slot]->slot = proc->slot;
	space_done(p, &proc->space);
	release(p, sizeof(*proc));
	free(proc);
}

static void thread_free(struct procs *p, struct procs_thread *t)
{
	struct procs_process *proc = t->process;
	if (idmap_get(&p->tids, t->tid) == t)
		idmap_remove(&p->tids, t->tid);
	p->thread[t->slot] = p->thread[--p->n_threads];
	p->thread[t->slot]->slot = t->slot;
	if (t->user && p->user_free)
		p->user_free(t->user);
	else
		free(t->user);
	release(p, sizeof(*t));
	free(t);
	if (--proc->n_threads == 0 && proc->exited)
		process_free(p, proc);
}

int procs_init(struct procs *p, struct budget *budget, struct strtab *strings,
	       struct dso_table *dsos, const struct host *host)
{
	*p = (struct procs){
		.budget = budget, .strings = strings, .dsos = dsos, .host = host,
		.first_exe = UINT32_MAX, .next_serial = 1,
		.mapdso = { .dsos = dsos, .host = host },
	};
	return 0;
}

void procs_done(struct procs *p)
{
	while (p->n_threads)
		thread_free(p, p->thread[p->n_threads - 1]);
	while (p->n_processes)
		process_free(p, p->process[p->n_processes - 1]);
	release(p, p->n_index_bytes);
	mapdso_done(&p->mapdso);
	idmap_done(&p->pids);
	idmap_done(&p->tids);
	free(p->thread);
	free(p->process);
	*p = (struct procs){ 0 };
}

/* ---- processes and threads ------------------------------------------------- */

static struct procs_process *process_new(struct procs *p, uint32_t pid)
{
	struct procs_process *proc = calloc(1, sizeof(*proc));
	if (!proc || !vec_grow((void **)&p->process, &p->cap_processes, p->n_processes, 1,
			       sizeof(*p->process)) ||
	    !index_put(p, &p->pids, pid, proc)) {
		free(proc);
		return NULL;
	}
	proc->pid = pid;
	proc->exe = UINT32_MAX;
	proc->space.serial = p->next_serial++;
	proc->slot = (uint32_t)p->n_processes;
	p->process[p->n_processes++] = proc;
	charge(p, sizeof(*proc));
	return proc;
}

struct procs_process *procs_find(const struct procs *p, uint32_t pid)
{
	return idmap_get(&p->pids, pid);
}

struct procs_process *procs_process(struct procs *p, uint32_t pid)
{
	struct procs_process *proc = idmap_get(&p->pids, pid);
	return proc ? proc : process_new(p, pid);
}

/* Appends t to the queue of exited threads, and frees the one that waited longest. */
static void thread_exit(struct procs *p, struct procs_thread *t)
{
	if (t->exited)
		return;
	t->exited = true;
	t->process->exited = --t->process->n_alive == 0;
	if (p->newest_exited)
		p->newest_exited->next_exited = t;
	else
		p->oldest_exited = t;
	p->newest_exited = t;
	if (++p->n_exited <= PROCS_KEEP_EXITED)
		return;
	struct procs_thread *oldest = p->oldest_exited;
	p->oldest_exited = oldest->next_exited;
	p->n_exited--;
	thread_free(p, oldest);
}

static struct procs_thread *thread_new(struct procs *p, uint32_t pid, uint32_t tid)
{
	struct procs_process *proc = procs_process(p, pid);
	struct procs_thread *t = calloc(1, sizeof(*t));
	if (!proc || !t || !vec_grow((void **)&p->thread, &p->cap_threads, p->n_threads, 1,
				     sizeof(*p->thread))) {
		free(t);
		return NULL;
	}
	struct procs_thread *old = idmap_get(&p->tids, tid);
	if (!index_put(p, &p->tids, tid, t)) {
		free(t);
		return NULL;
	}
	t->tid = tid;
	t->process = proc;
	t->slot = (uint32_t)p->n_threads;
	p->thread[p->n_threads++] = t;
	charge(p, sizeof(*t));
	proc->n_threads++;
	proc->n_alive++;
	proc->exited = false;
	/* Last, so that this cannot free the process. */
	if (old)
		thread_exit(p, old);
	return t;
}

struct procs_thread *procs_find_thread(const struct procs *p, uint32_t tid)
{
	return idmap_get(&p->tids, tid);
}

struct procs_thread *procs_thread(struct procs *p, uint32_t pid, uint32_t tid)
{
	struct procs_thread *t = idmap_get(&p->tids, tid);
	return t && t->process->pid == pid ? t : thread_new(p, pid, tid);
}

/* As procs_thread, for a record that proves that the thread is alive. */
static struct procs_thread *thread_alive(struct procs *p, uint32_t pid, uint32_t tid)
{
	struct procs_thread *t = procs_thread(p, pid, tid);
	return t && t->exited ? thread_new(p, pid, tid) : t;
}

/* ---- address spaces -------------------------------------------------------- */

static void space_empty(struct procs *p, struct procs_process *proc)
{
	proc->space.map.n = 0;
	proc->space.serial = p->next_serial++;
	proc->exe = UINT32_MAX;
	proc->exe_sure = false;
}

static void space_inherit(struct procs *p, struct procs_process *child,
			  const struct procs_process *parent)
{
	size_t cap = child->space.map.cap;
	if (procs_space_copy(&child->space, &parent->space) == 0)
		charge(p, (child->space.map.cap - cap) * sizeof(*child->space.map.v));
	child->space.serial = p->next_serial++;
	child->exe = parent->exe;
	child->exe_sure = parent->exe_sure;
	child->exe_is_read = parent->exe_is_read;
	child->exe_ino = parent->exe_ino;
	child->saw_exec = parent->saw_exec;
}

static bool is_wanted(const struct procs *p, const struct procs_process *proc)
{
	return !p->only_targets || proc->target || proc->target_threads;
}

/* ld.so maps programs, but is not one unless nothing else is mapped: "ld-linux-x86-64.so.2",
 * "ld-musl-x86_64.so.1", "ld64.so.2", "ld.so.1". */
static bool is_loader(const char *path)
{
	const char *name = path_base_name(path);
	return strncmp(name, "ld", 2) == 0 && strchr("-.6", name[2]) && strstr(name, ".so");
}

/*
 * At exec the kernel maps the program first, so the first file is the main binary.  If the exec was
 * not seen, mappings come in order of address and /proc/PID/exe decides; until a mapping of that
 * file comes, the first one is used instead.
 */
static void consider_exe(struct procs *p, struct procs_process *proc, const struct dso *d,
			 uint64_t ino)
{
	if (proc->exe_sure || d->key.kind != DSO_ELF || is_loader(d->path))
		return;
	bool sure = true;
	if (p->host && !proc->saw_exec && is_wanted(p, proc)) {
		if (!proc->exe_is_read)
			proc->exe_ino = dsofile_exe_ino(p->host, proc->pid);
		proc->exe_is_read = true;
		sure = proc->exe_ino == 0 || proc->exe_ino == ino;
	}
	if (proc->exe != UINT32_MAX && !sure)
		return;
	proc->exe = d->id;
	proc->exe_sure = sure;
}

static void consider_first_exe(struct procs *p, const struct procs_process *proc)
{
	if (proc->exe == UINT32_MAX || !is_wanted(p, proc) || p->no_first_exe)
		return;
	if (p->first_exe == UINT32_MAX) {
		p->first_exe_pid = proc->pid;
		p->first_exe_sure = false;
	}
	if (p->first_exe_pid != proc->pid || p->first_exe_sure)
		return;
	p->first_exe = proc->exe;
	p->first_exe_sure = proc->exe_sure;
}

/* Its events were not removed: those of a CPU or a cgroup. */
static void note_recorded(struct procs *p, struct procs_process *proc)
{
	p->n_removed -= proc->is_removed && p->n_removed;
	proc->is_bare = proc->is_removed = false;
}

static void feed_mmap(struct procs *p, const struct record *r)
{
	const struct record_mmap *m = &r->mmap;
	unsigned mode = r->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	if (mode != PERF_RECORD_MISC_USER && mode != PERF_RECORD_MISC_CPUMODE_UNKNOWN)
		return;
	if (!(m->prot & PROT_EXEC) || m->len == 0 || m->start + m->len < m->start)
		return;
	struct procs_process *proc = procs_process(p, r->pid);
	if (!proc)
		return;
	proc->known = true;

	struct procs_map map = { .start = m->start, .end = m->start + m->len };
	struct dso *d = mapdso_find(&p->mapdso, r->pid, m, &map.pgoff);
	if (!d)
		return;
	map.dso = d->id;
	if (is_wanted(p, proc))
		mapdso_open(&p->mapdso, d, r->pid, map.start, map.end, m->filename);

	size_t cap = proc->space.map.cap;
	note_recorded(p, proc);
	int change = procs_space_insert(&proc->space, map);
	charge(p, (proc->space.map.cap - cap) * sizeof(*proc->space.map.v));
	if (change == PROCS_SPACE_REPLACED)
		proc->space.serial = p->next_serial++;
	consider_exe(p, proc, d, m->ino);
	consider_first_exe(p, proc);
}

/* ---- life of threads ------------------------------------------------------- */

/* Only the calling thread survives an exec, as the leader, and its old tid vanishes without an
 * EXIT. */
static void end_other_threads(struct procs *p, struct procs_process *proc,
			      struct procs_thread *leader)
{
	/* thread_exit may free one thread and move the last one into its place; going downwards,
	 * that one has been visited already. */
	for (size_t i = p->n_threads; i-- > 0 && proc->n_alive > 1;) {
		struct procs_thread *t = p->thread[i];
		if (t->process == proc && t != leader)
			thread_exit(p, t);
	}
}

static void feed_comm(struct procs *p, const struct record *r)
{
	struct procs_thread *t = thread_alive(p, r->pid, r->tid);
	if (!t)
		return;
	struct procs_process *proc = t->process;
	proc->known = true;
	t->name = strtab_add_cstr(p->strings, r->comm.comm);
	if (r->tid == r->pid || r->comm.exec)
		proc->name = t->name;
	if (!r->comm.exec)
		return;
	end_other_threads(p, proc, t);
	space_empty(p, proc);
	note_recorded(p, proc);
	proc->exec_ns = r->time_ns;
	proc->title = 0;
	proc->title_ns = 0;
	proc->saw_exec = proc->is_bare = true;
	proc->owner = PROCS_OWNER_UNREAD;
	/* The user means the program that a wrapper becomes: env's, or a shell's last command. */
	if (proc->pid == p->first_exe_pid)
		p->first_exe_sure = false;
}

static void feed_fork_process(struct procs *p, const struct record *r, bool target)
{
	struct procs_process *proc = idmap_get(&p->pids, r->pid);
	if (proc && proc->exited) {
		/* The pid is reused; the old process is still found through its threads. */
		if (proc->n_threads == 0)
			process_free(p, proc);
		proc = NULL;
	}
	if (!proc)
		proc = process_new(p, r->pid);
	if (!proc)
		return;
	struct procs_thread *t = thread_alive(p, r->pid, r->tid);
	if (!t)
		return;
	if (!proc->known) {
		const struct procs_process *parent = idmap_get(&p->pids, r->fork.ppid);
		const struct procs_thread *by = idmap_get(&p->tids, r->fork.ptid);
		proc->known = true;
		proc->ppid = r->fork.ppid;
		if (parent && parent != proc && proc->space.map.n == 0)
			space_inherit(p, proc, parent);
		if (parent)
			proc->parent_cgroup = parent->cgroup ? parent->cgroup
							     : parent->parent_cgroup;
		if (t->name == 0 && parent)
			t->name = by && by->process == parent ? by->name : parent->name;
		if (proc->name == 0)
			proc->name = t->name;
	}
	if (target)
		procs_target_process(p, proc);
}

static void feed_fork_thread(struct procs *p, const struct record *r, bool target)
{
	struct procs_thread *t = thread_alive(p, r->pid, r->tid);
	if (!t)
		return;
	const struct procs_thread *by = idmap_get(&p->tids, r->fork.ptid);
	if (t->name == 0 && by && by->process == t->process)
		t->name = by->name;
	if (target && !t->process->target)
		procs_target_thread(p, t);
}

static void feed_fork(struct procs *p, const struct record *r, bool follow)
{
	const struct procs_process *parent = idmap_get(&p->pids, r->fork.ppid);
	const struct procs_thread *by = idmap_get(&p->tids, r->fork.ptid);
	bool target = follow && ((parent && parent->target) ||
				 (by && by->target && by->process == parent));
	if (r->pid == r->fork.ppid)
		feed_fork_thread(p, r, target);
	else
		feed_fork_process(p, r, target);
}

static void feed_exit(struct procs *p, const struct record *r)
{
	if (!idmap_get(&p->pids, r->pid))
		return;
	struct procs_thread *t = procs_thread(p, r->pid, r->tid);
	if (t)
		thread_exit(p, t);
}

/*
 * When a process executes a file that is set-user-ID, has capabilities or may not be read, the
 * kernel removes the events of the task, and reports it as ended before it maps anything
 * (fs/exec.c, begin_new_exec).  Events of CPUs and cgroups go on.
 */
bool procs_note_removal(struct procs *p, const struct record *r)
{
	struct procs_process *proc = idmap_get(&p->pids, r->pid);
	if (!proc || !proc->is_bare || !is_wanted(p, proc))
		return false;
	proc->is_bare = false;
	proc->is_removed = true;
	p->n_removed++;
	return true;
}

void procs_feed(struct procs *p, const struct record *r, bool follow)
{
	switch (r->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		feed_mmap(p, r);
		break;
	case PERF_RECORD_COMM:
		feed_comm(p, r);
		break;
	case PERF_RECORD_FORK:
		feed_fork(p, r, follow);
		break;
	case PERF_RECORD_EXIT:
		feed_exit(p, r);
		break;
	default:
		break;
	}
}

/* ---- targets --------------------------------------------------------------- */

static void open_mapped_files(struct procs *p, struct procs_process *proc)
{
	for (uint32_t i = 0; i < proc->space.map.n; i++) {
		const struct procs_map *m = &proc->space.map.v[i];
		struct dso *d = dso_get(p->dsos, m->dso);
		mapdso_open(&p->mapdso, d, proc->pid, m->start, m->end, d->path);
	}
}

void procs_target_process(struct procs *p, struct procs_process *proc)
{
	if (proc->target)
		return;
	proc->target = true;
	open_mapped_files(p, proc);
}

void procs_target_thread(struct procs *p, struct procs_thread *t)
{
	t->target = true;
	if (t->process->target || t->process->target_threads)
		return;
	t->process->target_threads = true;
	open_mapped_files(p, t->process);
}

/* ---- references into other tables ------------------------------------------- */

void procs_each_string(struct procs *p, void (*each)(void *ctx, uint32_t *string), void *ctx)
{
	for (size_t i = 0; i < p->n_threads; i++)
		each(ctx, &p->thread[i]->name);
	for (size_t i = 0; i < p->n_processes; i++) {
		each(ctx, &p->process[i]->name);
		each(ctx, &p->process[i]->cgroup);
		each(ctx, &p->process[i]->parent_cgroup);
		each(ctx, &p->process[i]->title);
	}
}

static void mark(const struct procs_process *proc, bool *used)
{
	if (proc->exe != UINT32_MAX)
		used[proc->exe] = true;
	for (uint32_t k = 0; k < proc->space.map.n; k++)
		used[proc->space.map.v[k].dso] = true;
}

void procs_mark(const struct procs *p, bool *used)
{
	if (p->first_exe != UINT32_MAX)
		used[p->first_exe] = true;
	for (size_t i = 0; i < p->n_processes; i++)
		mark(p->process[i], used);
}

void procs_mark_running(const struct procs *p, bool *used)
{
	for (size_t i = 0; i < p->n_processes; i++)
		if (!p->process[i]->exited)
			mark(p->process[i], used);
}
