/*
 * The memory of a process is read for two reasons.  The labels of a sample are known only after a
 * reading later than the sample.  And a thread keeps only its last 256 changes, so there are
 * periodic readings, too, whose interval adapts to the number of changes.
 */

#include "labels/applabels.h"

#include "agg/labels.h"
#include "base/clock.h"
#include "labels/appprocess.h"
#include "proc/procs.h"

/* ---- life --------------------------------------------------------------------------- */

void applabels_init(struct applabels *a, struct budget *budget, struct strtab *strings,
		    struct labels *labels, const struct dso_table *dsos, const struct host *host)
{
	*a = (struct applabels){ .budget = budget, .strings = strings, .labels = labels,
				 .dsos = dsos, .host = host };
	appvalues_init(&a->values, strings);
	labelmem_clock_init(&a->clock, host);
	labelmem_clock_tick(&a->clock);
}

void applabels_done(struct applabels *a)
{
	for (size_t i = 0; i < a->process.item.n; i++)
		appprocess_free(a, a->process.item.v[i].value);
	idmap_done(&a->process);
	pollpids_done(&a->polls);
	appvalues_done(&a->values);
	*a = (struct applabels){ 0 };
}

void applabels_forget(struct applabels *a, uint32_t pid)
{
	struct appprocess *p = idmap_get(&a->process, pid);
	if (!p)
		return;
	idmap_remove(&a->process, pid);
	appprocess_free(a, p);
	pollpids_remove(&a->polls, pid);
}

/* ---- processes ------------------------------------------------------------------------ */

static struct appprocess *process_of(struct applabels *a, uint32_t pid)
{
	struct appprocess *p = idmap_make(&a->process, pid, sizeof(*p));
	if (p)
		p->pid = pid;
	return p;
}

/* The process with its registries, or NULL if it has no labels. */
static struct appprocess *labelled(struct applabels *a, const struct procs_process *of)
{
	if (of->exited)
		return NULL;
	struct appprocess *p = process_of(a, of->pid);
	if (p && (!p->is_searched || p->n_space_changes != of->space.n_changes))
		appprocess_search(a, p, of);
	return p && (p->registry.n || p->forked_set) ? p : NULL;
}

/* ---- look-ups --------------------------------------------------------------------- */

uint32_t applabels_at(struct applabels *a, const struct procs_process *of, uint32_t tid,
		      uint64_t time_ns)
{
	if (time_ns > a->newest_ns)
		a->newest_ns = time_ns;
	struct appprocess *p = labelled(a, of);
	if (!p)
		return 0;
	uint32_t set = tid == p->pid ? p->forked_set : 0;
	if (!p->registry.n)
		return set;
	if (time_ns > p->drained_ns)
		appprocess_drain(a, p);
	uint32_t own = appprocess_own_tid(a, p, tid);
	bool is_known = time_ns <= p->drained_ns;
	for (size_t i = 0; i < p->registry.n && is_known; i++) {
		uint32_t one = APPTIMES_UNKNOWN;
		if (!apptimes_at(&p->registry.v[i].times, own, time_ns, i == 0 ? set : 0, &one) &&
		    !p->registry.v[i].is_dead)
			continue;
		is_known = one != APPTIMES_UNKNOWN && !p->registry.v[i].is_dead;
		set = i == 0 ? one : labels_join(a->labels, set, one);
	}
	a->stats.n_unknown += !is_known;
	return is_known ? set : 0;
}

void applabels_fork(struct applabels *a, const struct procs_process *of, uint32_t tid,
		    uint32_t child, uint64_t time_ns)
{
	struct appprocess *p = idmap_get(&a->process, of->pid);
	if (!p || !p->registry.n)
		return;
	uint32_t set = applabels_at(a, of, tid, time_ns);
	applabels_forget(a, child);
	struct appprocess *c = set ? process_of(a, child) : NULL;
	if (c)
		c->forked_set = set;
}

void applabels_poll(struct applabels *a)
{
	uint64_t most_ns = appprocess_poll_ns_max(a);
	if (!pollpids_is_due(&a->polls, clock_monotonic_ns(), most_ns))
		return;
	for (size_t i = 0; i < a->polls.pid.n; i++) {
		struct appprocess *p = idmap_get(&a->process, a->polls.pid.v[i]);
		if (p)
			appprocess_drain(a, p);
	}
}

int applabels_timeout_ms(const struct applabels *a)
{
	return pollpids_timeout_ms(&a->polls);
}

/* ---- forgetting ------------------------------------------------------------------- */

void applabels_trim(struct applabels *a)
{
	for (size_t i = 0; i < a->process.item.n; i++)
		appprocess_trim(a, a->process.item.v[i].value);
}

void applabels_each_set(struct applabels *a, void (*each)(void *ctx, uint32_t *set), void *ctx)
{
	for (size_t i = 0; i < a->process.item.n; i++) {
		struct appprocess *p = a->process.item.v[i].value;
		each(ctx, &p->forked_set);
		for (size_t k = 0; k < p->registry.n; k++)
			apptimes_each_set(&p->registry.v[k].times, each, ctx);
	}
}

void applabels_clear(struct applabels *a)
{
	uint64_t n_processes = a->stats.n_processes;
	a->stats = (struct applabels_stats){ .n_processes = n_processes };
	appvalues_clear(&a->values);
	for (size_t i = 0; i < a->process.item.n; i++)
		appprocess_forget_sets(a, a->process.item.v[i].value);
}
