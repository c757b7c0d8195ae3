/*
 * A Go program that could set labels is watched until one of its goroutines has some.  Then either
 * breakpoints report all changes, and memory is read only to know who is where, or memory is read
 * so often that labels are late by some milliseconds only.
 *
 * Breakpoints may take one percent of a program's CPU time.  What they may cost grows with that
 * time, and a burst of some milliseconds is free.  If that is spent, the breakpoint at creations of
 * goroutines is closed, and new goroutines are late until they are read.  If it is spent again, the
 * program is read late from then on.
 */

#include "labels/goprocess-labels.h"

#include "base/clock.h"
#include "labels/applabels.h"
#include "proc/procs.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#define BURST_NS 2000000
#define SAVED_NS_MAX 20000000
#define COST_PART 100
/* Changes that no breakpoint has reported, before these are given up. */
#define MISSED_MAX 16u

/* Enough for the callers in the package runtime/pprof; for the frame of newproc1. */
#define CHANGE_BYTES 96u
#define BIRTH_BYTES GOBREAK_STACK_BYTES

#define BY_CHANGES_NS 20000000u
#define BY_READING_NS 10000000u
/* While it is not known yet how often labels change. */
#define FIRST_NS 2000000u
#define FIRST_FOR_NS 100000000u
/* A program without samples. */
#define IDLE_NS 1000000000u
#define IDLE_WAIT_NS 100000000u

void goprocess_labels_done(struct golabels_process *p)
{
	if (p->state == GOLABELS_NONE)
		return;
	gobreak_close(&p->events);
	gobreak_close(&p->births);
	goread_done(&p->read);
	goprocess_close(&p->program.process);
	p->state = GOLABELS_NONE;
}

/*
 * pprof.Do sets labels, defers that the former ones are set again, and calls a function.  So the
 * goroutine that has made the first change also makes the second one: it cannot end in between, and
 * nobody else can use its g.  The code of the first change comes first.
 *
 * Where the stack has the return address to pprof.Do, if it is the first change; otherwise 0.
 */
static uint64_t entered_slot(struct golabels_process *p, const struct gobreak_hit *h)
{
	const struct goread_code *c = &p->read.code;
	uint64_t at, n_bytes = c->do_end - c->do_at;
	size_t i = 0;
	while (i < h->n_words && h->stack[i] - c->do_at >= n_bytes)
		i++;
	if (i == h->n_words)
		return 0;
	at = h->stack[i];
	p->leaves_later |= p->enters_at && at != p->enters_at;
	if (!p->enters_at || at < p->enters_at)
		p->enters_at = at;
	return p->leaves_later && at == p->enters_at ? h->sp + 8 * i : 0;
}

static void on_birth(struct golabels_process *p, const struct gobreak_hit *h)
{
	struct golabels *a = p->all;
	struct goread_birth b;
	p->n_births++;
	a->stats.changes_ns += a->breaks.cost_ns;
	if (p->births_ns && gobirth_decode(&p->program.birth, h, &b) && !goread_birth(&p->read, &b))
		p->births_ns = 0;
}

static void on_change(void *ctx, const struct gobreak_hit *h)
{
	struct golabels *a = ctx;
	struct golabels_process *p = idmap_get(&a->process, h->pid);
	if (!p || !p->events.fd.n)
		return;
	if (h->at != p->program.change_at) {
		if (h->at == p->program.birth.at && p->births.fd.n)
			on_birth(p, h);
		return;
	}
	p->n_changes++;
	a->stats.n_changes++;
	a->stats.changes_ns += a->breaks.cost_ns;
	goread_change(&p->read, &(struct goread_changed){
		.g = h->g, .time_ns = h->time_ns, .labels = h->labels,
		.slot = entered_slot(p, h) });
}

/* A change of any program may be lost. */
static void note_losses(struct golabels *a)
{
	if (a->breaks.n_lost == a->n_lost_seen)
		return;
	a->n_lost_seen = a->breaks.n_lost;
	for (size_t i = 0; i < a->process.item.n; i++) {
		struct golabels_process *p = a->process.item.v[i].value;
		p->reported_ns = clock_monotonic_ns();
		if (p->births_ns)
			p->births_ns = p->reported_ns;
	}
}

static void take_changes(void *ctx, struct goread *r)
{
	struct golabels_process *p = ctx;
	uint64_t now = clock_monotonic_ns();
	if (p->events.fd.n) {
		gobreak_drain(&p->all->breaks, on_change, p->all);
		note_losses(p->all);
	}
	r->reported_ns = p->events.fd.n ? p->reported_ns : 0;
	r->births_ns = p->births.fd.n ? p->births_ns : 0;
	goread_inherit(r, now);
	if (!r->births_ns)
		p->births_ns = 0;
}

/* ---- exact or late ----------------------------------------------------------------------- */

static uint64_t cpu_ns_of(const struct golabels_process *p)
{
	clockid_t clock;
	return clock_getcpuclockid((pid_t)p->pid, &clock) == 0 ? clock_now_ns(clock) : 0;
}

static void close_births(struct golabels_process *p)
{
	gobreak_close(&p->births);
	p->births_ns = 0;
}

static void be_late(struct golabels_process *p)
{
	gobreak_close(&p->events);
	close_births(p);
	p->is_denied = true;
	p->state = GOLABELS_BY_READING;
}

/* Breakpoints are too expensive. */
static void give_up(struct golabels_process *p, uint64_t cpu_ns)
{
	struct golabels *a = p->all;
	double seconds = (double)(clock_monotonic_ns() - p->opened_ns) / 1e9;
	double used_ns = (double)(cpu_ns - p->opened_cpu_ns);
	double cost_ns = (double)(p->n_changes + p->n_births) * (double)a->breaks.cost_ns;
	snprintf(a->why, sizeof(a->why), "labels changed %.0f times per second of time, and to "
		 "report that took %.2g %% of the program's CPU time (--go-labels=exact accepts "
		 "that)",
		 seconds > 0 ? (double)p->n_changes / seconds : 0,
		 used_ns > 0 ? 100 * cost_ns / used_ns : 100);
	be_late(p);
}

static void pay(struct golabels_process *p)
{
	struct golabels *a = p->all;
	uint64_t cpu_ns = cpu_ns_of(p), n_hits = p->n_changes + p->n_births;
	if (cpu_ns > p->cpu_ns)
		p->saved_ns += (int64_t)((cpu_ns - p->cpu_ns) / COST_PART);
	p->cpu_ns = cpu_ns;
	p->saved_ns -= (int64_t)((n_hits - p->n_paid) * a->breaks.cost_ns);
	p->n_paid = n_hits;
	if (p->saved_ns > SAVED_NS_MAX)
		p->saved_ns = SAVED_NS_MAX;
	if (a->options.wanted.mode == GOLABELS_EXACT)
		return;
	if (p->saved_ns < 0 && p->births.fd.n) {
		close_births(p);
		p->saved_ns = BURST_NS;
	} else if (p->saved_ns < 0) {
		give_up(p, cpu_ns);
	} else if (p->read.n_missed > MISSED_MAX) {
		snprintf(a->why, sizeof(a->why), "labels changed without a breakpoint's report");
		be_late(p);
	}
}

static void try_breakpoints(struct golabels_process *p)
{
	struct golabels *a = p->all;
	p->state = GOLABELS_BY_READING;
	if (p->is_denied || a->options.wanted.mode == GOLABELS_LATE || a->options.wanted.not_exact)
		return;
	p->is_denied = true;
	if (!p->program.change_at) {
		snprintf(a->why, sizeof(a->why), "this version passes no arguments in registers");
		return;
	}
	p->opened_ns = clock_monotonic_ns();
	if (!gobreak_open(&a->breaks, p->pid, p->program.change_at, CHANGE_BYTES, &p->events)) {
		snprintf(a->why, sizeof(a->why), "%s", a->breaks.why);
		return;
	}
	p->reported_ns = clock_monotonic_ns();
	/* without it, labels of new goroutines are late at first */
	if (p->program.birth.at &&
	    gobreak_open(&a->breaks, p->pid, p->program.birth.at, BIRTH_BYTES, &p->births))
		p->births_ns = clock_monotonic_ns();
	p->opened_cpu_ns = p->cpu_ns = cpu_ns_of(p);
	p->saved_ns = BURST_NS;
	p->state = GOLABELS_BY_CHANGES;
}

void goprocess_labels_use(struct golabels_process *p)
{
	struct golabels *a = p->all;
	if (!goprocess_labels_is_used(p)) {
		VEC_PUSH(&a->polls.pid, p->pid);
		try_breakpoints(p);
	}
	if (p->read.has_labels && !p->is_counted) {
		p->is_counted = true;
		a->stats.n_processes++;
	}
}

/* ---- the program ------------------------------------------------------------------------- */

static void note_refusal(struct golabels_process *p, enum gofind_result r)
{
	struct golabels *a = p->all;
	if (r == GOFIND_UNSUPPORTED) {
		a->stats.n_unsupported++;
		snprintf(a->unsupported, sizeof(a->unsupported), "%s", p->program.version.text);
	} else if (r == GOFIND_UNREADABLE && p->program.process.code != -ESRCH) {
		a->options.app->stats.n_denied++;
	}
}

void goprocess_labels_search(struct golabels_process *p, const struct procs_process *of)
{
	struct golabels *a = p->all;
	p->is_searched = true;
	p->n_space_changes = of->space.n_changes;
	if (p->state != GOLABELS_NONE)
		return;
	enum gofind_result r = gofind_open(&a->files, a->options.dsos, &of->space, a->options.host,
					   p->pid, a->options.wanted.ids, &p->program);
	if (r != GOFIND_OK) {
		note_refusal(p, r);
		return;
	}
	goread_init(&p->read, &p->program.process.memory, &a->pieces, &p->program.layout);
	gosets_init(&p->read.sets, &a->options.app->values, a->options.labels,
		    p->program.layout.label_format);
	p->read.code = p->program.code;
	p->read.changes = take_changes;
	p->read.ctx = p;
	p->state = GOLABELS_WATCHED;
	if (a->options.wanted.mode == GOLABELS_EXACT || a->options.wanted.ids)
		goprocess_labels_use(p);
}

bool goprocess_labels_read(struct golabels_process *p)
{
	if (!goread_all(&p->read) && p->program.process.code == -ESRCH)
		return false;
	if (p->read.has_labels)
		goprocess_labels_use(p);
	if (p->events.fd.n)
		pay(p);
	if (p->read.wants_allgs && !p->is_allgs_sought) {
		p->is_allgs_sought = true;
		p->read.allgs = gofind_allgs(&p->program);
	}
	p->all->options.app->stats.n_other += p->read.sets.n_other;
	p->read.sets.n_other = 0;
	return true;
}

uint64_t goprocess_labels_wait_ns(const struct golabels_process *p, uint64_t now_ns)
{
	if (p->events.fd.n)
		return now_ns - p->opened_ns < FIRST_FOR_NS ? FIRST_NS : BY_CHANGES_NS;
	return now_ns - p->read.newest_ns > IDLE_NS ? IDLE_WAIT_NS : BY_READING_NS;
}
