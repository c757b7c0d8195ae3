/*
 * A full ring loses records of all types, and the kernel reports only their number.  A lost sample
 * is one sample; a lost MMAP2, as after an exec, leaves every later sample of that code without a
 * name and a caller.  So after a loss the maps of each sampled process are read once more, which
 * takes some 50 us.
 */

#include "engine/reread-maps.h"

#include "proc/procs.h"
#include "source/record.h"

#include <linux/perf_event.h>

bool reread_maps_process(struct reread_maps *m, struct procs_process *p, uint64_t time_ns,
		   synth_sink_fn *sink, void *ctx)
{
	if (p->n_losses_seen == m->n_losses || !m->host ||
	    (p->remap_ns && time_ns < p->remap_ns + REREAD_MAPS_EVERY_NS))
		return false;
	p->n_losses_seen = m->n_losses;
	p->remap_ns = time_ns;
	m->n_reads++;
	synth_process(m->host, (pid_t)p->pid, time_ns, sink, ctx);
	return true;
}

void reread_maps_note(const struct reread_maps *m, struct procs *procs, const struct record *r)
{
	bool fork = r->type == PERF_RECORD_FORK && r->pid != r->fork.ppid;
	if (!m->is_lazy || !(fork || (r->type == PERF_RECORD_COMM && r->comm.exec)))
		return;
	struct procs_process *p = procs_find(procs, r->pid);
	const struct procs_process *parent = fork ? procs_find(procs, r->fork.ppid) : NULL;
	if (p && parent && !p->n_losses_seen)
		p->n_losses_seen = parent->n_losses_seen;
	else if (p && !fork)
		p->n_losses_seen = m->n_losses;
}
