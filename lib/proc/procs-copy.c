#include "proc/procs-copy.h"

#include "base/budget.h"
#include "proc/procs.h"
#include "symbolize/elf/dso.h"

#include <errno.h>

/* The file is opened anew, since each table keeps its own descriptors. */
static const struct dso *own_dso(struct procs *to, const struct procs *from, uint32_t pid,
				 const struct procs_map *m)
{
	const struct dso *d = dso_get(from->dsos, m->dso);
	struct dso *own = dso_table_find(to->dsos, &d->key, d->path);
	if (!own)
		own = dso_table_add(to->dsos, &d->key, d->path);
	if (own)
		mapdso_open(&to->mapdso, own, pid, m->start, m->end, d->path);
	return own;
}

static int copy_space(struct procs *to, struct procs_process *p, const struct procs *from,
		      const struct procs_process *of)
{
	struct procs_space *s = &p->space;
	if (procs_space_copy(s, &of->space) < 0)
		return -ENOMEM;
	if (to->budget)
		budget_charge_always(to->budget, s->map.cap * sizeof(*s->map.v));
	for (size_t i = 0; i < s->map.n; i++) {
		const struct dso *own = own_dso(to, from, of->pid, &of->space.map.v[i]);
		if (!own)
			return -ENOMEM;
		s->map.v[i].dso = own->id;
		if (of->exe == of->space.map.v[i].dso)
			p->exe = own->id;
	}
	return 0;
}

static int copy_process(struct procs *to, const struct procs *from, const struct procs_process *of)
{
	struct procs_process *p = procs_process(to, of->pid);
	if (!p)
		return -ENOMEM;
	p->ppid = of->ppid;
	p->name = of->name;
	p->cgroup = of->cgroup;
	p->parent_cgroup = of->parent_cgroup;
	p->title = of->title;
	p->title_ns = of->title_ns;
	p->n_losses_seen = of->n_losses_seen;
	p->remap_ns = of->remap_ns;
	p->target = of->target;
	p->target_threads = of->target_threads;
	p->known = of->known;
	p->saw_exec = of->saw_exec;
	p->exec_ns = of->exec_ns;
	p->exe_is_read = of->exe_is_read;
	p->exe_sure = of->exe_sure;
	p->exe_ino = of->exe_ino;
	return copy_space(to, p, from, of);
}

int procs_copy(struct procs *to, const struct procs *from)
{
	for (size_t i = 0; i < from->n_processes; i++)
		if (!from->process[i]->exited && copy_process(to, from, from->process[i]) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < from->n_threads; i++) {
		const struct procs_thread *of = from->thread[i];
		if (of->exited)
			continue;
		struct procs_thread *t = procs_thread(to, of->process->pid, of->tid);
		if (!t)
			return -ENOMEM;
		t->name = of->name;
		t->target = of->target;
	}
	return 0;
}
