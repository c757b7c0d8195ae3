/*
 * The memory of a process is read for two reasons.  The labels of a sample are known only after a
 * reading later than the sample.  And a thread keeps only its last 256 changes, so there are
 * periodic readings, too, whose interval adapts to the number of changes.
 */

#include "labels/applabels.h"

#include "agg/labels.h"
#include "base/budget.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/vec.h"
#include "proc/procs.h"
#include "labels/apptimes.h"
#include "source/synth.h"
#include "symbolize/elf/dso.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REGISTRIES_MAX 8u
#define POLL_NS_MIN 2000000u
#define POLL_NS_MAX 20000000u
/* The last changes before a process ends are lost; if it changes its labels often, they cover at
 * most this time. */
#define POLL_NS_BUSY 4000000u
/* The share of time that draining may take. */
#define POLL_COST 25u
/* A thread's memory should be at most this full when it is read. */
#define WANTED_CHANGES (LABELMEM_RING / 4)
/* Records may be late by this much. */
#define LATE_NS 10000000u
#define SETS_MAX 65536u
/* A thread that has exited is kept this long, for late samples. */
#define DEAD_NS 1000000000u

struct registry {
	struct labelmem mem;
	bool is_dead;              /* nothing can be read from it any more */
	struct apptimes times;
	struct idmap set;          /* the program's set id -> our set id + 1 */
};

struct applabels_process {
	uint32_t pid;
	VEC(struct registry) registry;
	uint32_t n_space_changes;  /* the state of the address space that was searched for
				    * registries */
	bool is_searched;
	uint64_t drained_ns;       /* everything up to here is known */
	uint32_t forked_set;       /* the initial set of its first thread */
	bool is_gone;
	struct idmap own_tid;      /* tid -> tid as the process sees it, in another namespace */
};

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

static void registry_done(struct applabels *a, struct registry *r)
{
	apptimes_done(&r->times);
	budget_release(a->budget, idmap_n_bytes(&r->set));
	idmap_done(&r->set);
	labelmem_done(&r->mem);
}

static void process_free(struct applabels *a, struct applabels_process *p)
{
	for (size_t i = 0; i < p->registry.n; i++)
		registry_done(a, &p->registry.v[i]);
	VEC_FREE(&p->registry);
	idmap_done(&p->own_tid);
	free(p);
}

void applabels_done(struct applabels *a)
{
	for (size_t i = 0; i < a->process.item.n; i++)
		process_free(a, a->process.item.v[i].value);
	idmap_done(&a->process);
	pollpids_done(&a->polls);
	appvalues_done(&a->values);
	*a = (struct applabels){ 0 };
}

void applabels_forget(struct applabels *a, uint32_t pid)
{
	struct applabels_process *p = idmap_get(&a->process, pid);
	if (!p)
		return;
	idmap_remove(&a->process, pid);
	process_free(a, p);
	pollpids_remove(&a->polls, pid);
}

/* ---- sets --------------------------------------------------------------------------- */

static uint32_t make_set(struct applabels *a, const struct labelmem *m, uint32_t set)
{
	char buf[LABELMEM_SET_BYTES_MAX];
	struct label label[LABELS_PER_SET_MAX];
	uint32_t n;
	bool is_other = false;
	if (labelmem_set(m, set, buf, &n) < 0)
		return APPTIMES_UNKNOWN;
	const char *p = buf;
	for (uint32_t i = 0; i < n; i++) {
		const char *value = p + strlen(p) + 1;
		is_other |= !appvalues_label(&a->values, p, value, &label[i]);
		p = value + strlen(value) + 1;
	}
	a->stats.n_other += is_other;
	uint32_t id = labels_add(a->labels, label, n, false);
	return id == LABELS_NONE ? APPTIMES_UNKNOWN : id;
}

static uint32_t set_of(struct applabels *a, struct registry *r, uint32_t set)
{
	if (set == 0)
		return 0;
	void *known = idmap_get(&r->set, set);
	if (known)
		return (uint32_t)((uintptr_t)known - 1);
	uint32_t id = make_set(a, &r->mem, set);
	if (id == APPTIMES_UNKNOWN || r->set.item.n >= SETS_MAX)
		return id;
	budget_release(a->budget, idmap_n_bytes(&r->set));
	idmap_put(&r->set, set, (void *)((uintptr_t)id + 1));
	budget_charge_always(a->budget, idmap_n_bytes(&r->set));
	return id;
}

/* ---- changes ------------------------------------------------------------------------- */

/* The context of labelmem_drain's callbacks. */
struct draining {
	struct applabels *a;
	struct applabels_process *p;
	struct registry *r;
	uint64_t floor_ns;         /* no sample needs an earlier time */
	uint32_t n_most;           /* most changes of one thread */
	bool had_gap;
};

static void note_new(struct draining *d, uint32_t n_new)
{
	if (n_new > d->n_most)
		d->n_most = n_new;
}

/* A process in another PID namespace knows its threads by other ids. */
static void learn_own_tids(struct applabels *a, struct applabels_process *p)
{
	CLEANUP_FREE pid_t *tids = NULL;
	int n = synth_list(a->host, (pid_t)p->pid, &tids);
	for (int i = 0; i < n; i++) {
		if (idmap_get(&p->own_tid, (uint32_t)tids[i]))
			continue;
		uint32_t own = host_own_tid(a->host, p->pid, (uint32_t)tids[i]);
		if (own)
			idmap_put(&p->own_tid, (uint32_t)tids[i], (void *)(uintptr_t)own);
	}
}

static void on_change(void *ctx, uint32_t own_pid, uint32_t tid, uint64_t time_ns, uint32_t set)
{
	struct draining *d = ctx;
	d->a->stats.n_changes++;
	note_new(d, apptimes_append(&d->r->times, tid, time_ns, set_of(d->a, d->r, set), 1,
				    d->floor_ns));
	if (own_pid != d->p->pid && !d->p->own_tid.item.n)
		learn_own_tids(d->a, d->p);
}

static void on_gap(void *ctx, uint32_t own_pid, uint32_t tid, uint64_t n_changes)
{
	(void)own_pid;
	struct draining *d = ctx;
	d->had_gap = true;
	uint32_t n = n_changes < LABELMEM_RING ? (uint32_t)n_changes : LABELMEM_RING;
	note_new(d, apptimes_append_gap(&d->r->times, tid, n, d->floor_ns));
}

/* Estimates how long the threads' memory holds their changes, from the number of changes. */
static uint64_t next_wait_ns(const struct draining *d, uint64_t since_ns, uint64_t cost_ns)
{
	uint64_t wait = POLL_NS_MAX;
	if (d->had_gap)
		wait = since_ns / 4;
	else if (d->n_most)
		wait = since_ns * WANTED_CHANGES / d->n_most;
	if (d->n_most && wait > POLL_NS_BUSY)
		wait = POLL_NS_BUSY;
	if (wait < POLL_NS_MIN)
		wait = POLL_NS_MIN;
	if (wait < cost_ns * POLL_COST)
		wait = cost_ns * POLL_COST;
	return wait < POLL_NS_MAX ? wait : POLL_NS_MAX;
}

static void drain_registry(struct draining *d)
{
	struct registry *r = d->r;
	const struct labelmem_sink sink = { .change = on_change, .gap = on_gap, .ctx = d };
	apptimes_begin(&r->times);
	enum labelmem_outcome outcome = labelmem_drain(&r->mem, &d->a->clock, &sink);
	if (outcome == LABELMEM_GONE && d->a->host) {
		/* The main thread may have ended; any other thread has the same memory. */
		uint32_t live = host_live_thread(d->a->host, d->p->pid);
		if (live != r->mem.pid) {
			r->mem.pid = live;
			outcome = labelmem_drain(&r->mem, &d->a->clock, &sink);
		}
	}
	switch (outcome) {
	case LABELMEM_READ:
	case LABELMEM_NOTHING:
		break;
	case LABELMEM_GONE:
		d->p->is_gone = true;
		break;
	case LABELMEM_DENIED:
		r->is_dead = true;
		d->a->stats.n_denied++;
		break;
	case LABELMEM_BAD:
		r->is_dead = true;
		d->a->stats.n_bad++;
		break;
	}
}

/* Reads the changes of p's threads up to now. */
static void drain(struct applabels *a, struct applabels_process *p)
{
	if (p->is_gone)
		return;
	struct draining d = { .a = a, .p = p };
	d.floor_ns = a->newest_ns > LATE_NS ? a->newest_ns - LATE_NS : 0;
	uint64_t start = clock_monotonic_ns();
	labelmem_clock_tick(&a->clock);
	for (size_t i = 0; i < p->registry.n && !p->is_gone; i++) {
		d.r = &p->registry.v[i];
		if (!d.r->is_dead)
			drain_registry(&d);
	}
	if (p->is_gone)
		return;
	uint64_t wait = next_wait_ns(&d, p->drained_ns ? start - p->drained_ns : POLL_NS_MIN,
				     clock_monotonic_ns() - start);
	p->drained_ns = start;
	pollpids_wants(&a->polls, start, start + wait);
}

/* ---- processes ------------------------------------------------------------------------ */

static bool has_registry(const struct applabels_process *p, uint64_t addr)
{
	for (size_t i = 0; i < p->registry.n; i++)
		if (p->registry.v[i].mem.addr == addr)
			return true;
	return false;
}

static void add_registry(struct applabels *a, struct applabels_process *p, uint64_t addr)
{
	struct registry r = { 0 };
	apptimes_init(&r.times, a->budget);
	labelmem_init(&r.mem, a->host ? a->host->memory : NULL, p->pid, addr);
	r.mem.read = a->read;
	r.mem.read_ctx = a->read_ctx;
	if (!VEC_PUSH(&p->registry, r))
		return;
	if (p->registry.n == 1) {
		a->stats.n_processes++;
		VEC_PUSH(&a->polls.pid, p->pid);
		a->polls.next_ns = 0;
	}
}

static void search(struct applabels *a, struct applabels_process *p, const struct procs_process *of)
{
	p->is_searched = true;
	p->n_space_changes = of->space.n_changes;
	for (uint32_t i = 0; i < of->space.map.n; i++) {
		const struct procs_map *map = &of->space.map.v[i];
		const struct dso *d = dso_get(a->dsos, map->dso);
		uint64_t vaddr;
		if (!d->labels_vaddr || !dso_vaddr(d, map->pgoff, &vaddr))
			continue;
		uint64_t addr = map->start - vaddr + d->labels_vaddr;
		if (p->registry.n < REGISTRIES_MAX && !has_registry(p, addr))
			add_registry(a, p, addr);
	}
}

static struct applabels_process *process_of(struct applabels *a, uint32_t pid)
{
	struct applabels_process *p = idmap_make(&a->process, pid, sizeof(*p));
	if (p)
		p->pid = pid;
	return p;
}

/* The process with its registries, or NULL if it has no labels. */
static struct applabels_process *labelled(struct applabels *a, const struct procs_process *of)
{
	if (of->exited)
		return NULL;
	struct applabels_process *p = process_of(a, of->pid);
	if (p && (!p->is_searched || p->n_space_changes != of->space.n_changes))
		search(a, p, of);
	return p && (p->registry.n || p->forked_set) ? p : NULL;
}

/* ---- look-ups --------------------------------------------------------------------- */

static uint32_t own_tid(struct applabels *a, struct applabels_process *p, uint32_t tid)
{
	if (!p->own_tid.item.n)
		return tid;
	void *own = idmap_get(&p->own_tid, tid);
	if (!own) {
		learn_own_tids(a, p);
		own = idmap_get(&p->own_tid, tid);
	}
	return own ? (uint32_t)(uintptr_t)own : tid;
}

uint32_t applabels_at(struct applabels *a, const struct procs_process *of, uint32_t tid,
		      uint64_t time_ns)
{
	if (time_ns > a->newest_ns)
		a->newest_ns = time_ns;
	struct applabels_process *p = labelled(a, of);
	if (!p)
		return 0;
	uint32_t set = tid == p->pid ? p->forked_set : 0;
	if (!p->registry.n)
		return set;
	if (time_ns > p->drained_ns)
		drain(a, p);
	uint32_t own = own_tid(a, p, tid);
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
	struct applabels_process *p = idmap_get(&a->process, of->pid);
	if (!p || !p->registry.n)
		return;
	uint32_t set = applabels_at(a, of, tid, time_ns);
	applabels_forget(a, child);
	struct applabels_process *c = set ? process_of(a, child) : NULL;
	if (c)
		c->forked_set = set;
}

void applabels_poll(struct applabels *a)
{
	if (!pollpids_is_due(&a->polls, clock_monotonic_ns(), POLL_NS_MAX))
		return;
	for (size_t i = 0; i < a->polls.pid.n; i++) {
		struct applabels_process *p = idmap_get(&a->process, a->polls.pid.v[i]);
		if (p)
			drain(a, p);
	}
}

int applabels_timeout_ms(const struct applabels *a)
{
	return pollpids_timeout_ms(&a->polls);
}

/* ---- forgetting ------------------------------------------------------------------- */

static void forget_sets(struct applabels *a, struct registry *r)
{
	budget_release(a->budget, idmap_n_bytes(&r->set));
	idmap_done(&r->set);
}

static void trim_process(struct applabels *a, struct applabels_process *p)
{
	uint64_t since_ns = a->newest_ns > DEAD_NS ? a->newest_ns - DEAD_NS : 0;
	for (size_t i = 0; i < p->registry.n; i++) {
		struct registry *r = &p->registry.v[i];
		struct idmap alive = { 0 };
		forget_sets(a, r);
		if (labelmem_list_threads(&r->mem, &alive))
			apptimes_forget(&r->times, &alive, since_ns);
		idmap_done(&alive);
	}
	if (p->own_tid.item.n) {
		idmap_done(&p->own_tid);
		learn_own_tids(a, p);
	}
}

void applabels_trim(struct applabels *a)
{
	for (size_t i = 0; i < a->process.item.n; i++)
		trim_process(a, a->process.item.v[i].value);
}

void applabels_each_set(struct applabels *a, void (*each)(void *ctx, uint32_t *set), void *ctx)
{
	for (size_t i = 0; i < a->process.item.n; i++) {
		struct applabels_process *p = a->process.item.v[i].value;
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
	for (size_t i = 0; i < a->process.item.n; i++) {
		struct applabels_process *p = a->process.item.v[i].value;
		for (size_t k = 0; k < p->registry.n; k++)
			forget_sets(a, &p->registry.v[k]);
	}
}
