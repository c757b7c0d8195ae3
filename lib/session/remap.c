/*
 * A full ring loses records of all kinds, and the kernel tells no more than their number.  A lost
 * sample is one sample; a lost MMAP2, as after an exec, leaves every later sample of that code
 * without a name and a caller.  So from then on each process that is sampled is looked at once
 * again, which costs some 50 us.
 */

#include "session/remap.h"

#include "proc/procs.h"

bool remap_process(struct remap *m, struct procs_process *p, uint64_t time_ns,
		   synth_sink_fn *sink, void *ctx)
{
	if (p->n_losses_seen == m->n_losses || !m->host ||
	    (p->remap_ns && time_ns < p->remap_ns + REMAP_EVERY_NS))
		return false;
	p->n_losses_seen = m->n_losses;
	p->remap_ns = time_ns;
	m->n_reads++;
	synth_process(m->host, (pid_t)p->pid, time_ns, sink, ctx);
	return true;
}
