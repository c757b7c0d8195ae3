/*
 * A process is searched for registries again whenever its mappings change.  How often it is read
 * follows from how fast its threads fill their memory of changes.
 */

#include "labels/appprocess.h"

#include "agg/labels.h"
#include "base/budget.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/host.h"
#include "labels/applabels.h"
#include "proc/procs.h"
#include "source/synth.h"
#include "symbolize/elf/dso.h"

#include <stdlib.h>
#include <string.h>

#define REGISTRIES_MAX 8u
#define POLL_NS_MIN 2000000u
#define POLL_NS_MAX 20000000u
/* The last changes before a process ends are lost; if it changes its labels often, they cover at
 * most this time. */
#define POLL_NS_BUSY 4000000u
/* All of these are so many times as long in a frugal recording. */
#define FRUGAL 50u
/* The share of time that draining may take. */
#define POLL_COST 25u
/* A thread's memory should be at most this full when it is read. */
#define WANTED_CHANGES (LABELMEM_RING / 4)
/* Records may be late by this much. */
#define LATE_NS 10000000u
#define SETS_MAX 65536u
/* A thread that has exited is kept this long, for late samples. */
#define DEAD_NS 1000000000u

/* ---- life --------------------------------------------------------------------------- */

static void registry_done(struct applabels *a, struct appprocess_registry *r)
{
	apptimes_done(&r->times);
	budget_release(a->budget, idmap_n_bytes(&r->set));
	idmap_done(&r->set);
	labelmem_done(&r->mem);
}

void appprocess_free(struct applabels *a, struct appprocess *p)
{
	for (size_t i = 0; i < p->registry.n; i++)
		registry_done(a, &p->registry.v[i]);
	VEC_FREE(&p->registry);
	idmap_done(&p->own_tid);
	free(p);
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

static uint32_t set_of(struct applabels *a, struct appprocess_registry *r, uint32_t set)
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
	struct appprocess *p;
	struct appprocess_registry *r;
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
static void learn_own_tids(struct applabels *a, struct appprocess *p)
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

static uint64_t scaled(const struct applabels *a, uint64_t ns)
{
	return a->is_frugal ? ns * FRUGAL : ns;
}

uint64_t appprocess_poll_ns_max(const struct applabels *a)
{
	return scaled(a, POLL_NS_MAX);
}

/* Estimates how long the threads' memory holds their changes, from the number of changes. */
static uint64_t next_wait_ns(const struct draining *d, uint64_t since_ns, uint64_t cost_ns)
{
	uint64_t most = appprocess_poll_ns_max(d->a), wait = most;
	uint64_t busy = scaled(d->a, POLL_NS_BUSY);
	uint64_t least = scaled(d->a, POLL_NS_MIN);
	if (d->had_gap)
		wait = since_ns / 4;
	else if (d->n_most)
		wait = since_ns * WANTED_CHANGES / d->n_most;
	if (d->n_most && wait > busy)
		wait = busy;
	if (wait < least)
		wait = least;
	if (wait < cost_ns * POLL_COST)
		wait = cost_ns * POLL_COST;
	return wait < most ? wait : most;
}

static void drain_registry(struct draining *d)
{
	struct appprocess_registry *r = d->r;
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

void appprocess_drain(struct applabels *a, struct appprocess *p)
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

/* ---- registries ----------------------------------------------------------------------- */

static bool has_registry(const struct appprocess *p, uint64_t addr)
{
	for (size_t i = 0; i < p->registry.n; i++)
		if (p->registry.v[i].mem.addr == addr)
			return true;
	return false;
}

static void add_registry(struct applabels *a, struct appprocess *p, uint64_t addr)
{
	struct appprocess_registry r = { 0 };
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

void appprocess_search(struct applabels *a, struct appprocess *p, const struct procs_process *of)
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

/* ---- threads -------------------------------------------------------------------------- */

uint32_t appprocess_own_tid(struct applabels *a, struct appprocess *p, uint32_t tid)
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

/* ---- forgetting ----------------------------------------------------------------------- */

static void forget_sets(struct applabels *a, struct appprocess_registry *r)
{
	budget_release(a->budget, idmap_n_bytes(&r->set));
	idmap_done(&r->set);
}

void appprocess_forget_sets(struct applabels *a, struct appprocess *p)
{
	for (size_t i = 0; i < p->registry.n; i++)
		forget_sets(a, &p->registry.v[i]);
}

void appprocess_trim(struct applabels *a, struct appprocess *p)
{
	uint64_t since_ns = a->newest_ns > DEAD_NS ? a->newest_ns - DEAD_NS : 0;
	for (size_t i = 0; i < p->registry.n; i++) {
		struct appprocess_registry *r = &p->registry.v[i];
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
