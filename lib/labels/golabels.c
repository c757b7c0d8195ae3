/*
 * Readings and the draining of the rings have the same period, so a sample is never much older than
 * the reading that shows its labels.
 */

#include "labels/golabels.h"

#include "agg/labels.h"
#include "base/budget.h"
#include "base/clock.h"
#include "base/strtab.h"
#include "labels/applabels.h"
#include "labels/goprocess-labels.h"
#include "proc/procs.h"
#include "source/record.h"
#include "symbolize/arch/arch.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How often a program without labels is looked at. */
#define WATCH_NS 100000000u
/* What had no sample for this time is forgotten. */
#define KEEP_NS 2000000000u

/* ---- life -------------------------------------------------------------------------------- */

static unsigned int perf_number(const struct arch *arch, unsigned int reg)
{
	for (unsigned int i = 0; i < arch->n_perf_regs; i++)
		if (arch->perf_reg[i] == (int8_t)reg)
			return i;
	return 0;
}

void golabels_init(struct golabels *a, const struct golabels_options *o)
{
	*a = (struct golabels){ .options = *o };
	gobreak_init(&a->breaks, o->wanted.open, o->host, o->arch);
	if (!o->arch) {
		a->options.wanted.mode = GOLABELS_OFF;
		return;
	}
	a->g_reg = perf_number(o->arch,
			       o->arch == &arch_arm64 ? GO_G_REG_ARM64 : GO_G_REG_X86_64);
	a->sp_reg = perf_number(o->arch, o->arch->sp);
	if (o->wanted.not_exact && o->wanted.mode != GOLABELS_LATE)
		snprintf(a->why, sizeof(a->why), "%s", o->wanted.not_exact);
}

/* Without a host nothing is initialised, and nothing is kept. */
static void charge(struct golabels *a)
{
	size_t n = a->pieces.room ? GOPIECES_BYTES_MAX : 0;
	if (!a->options.budget)
		return;
	for (size_t i = 0; i < a->process.item.n; i++) {
		const struct golabels_process *p = a->process.item.v[i].value;
		n += sizeof(*p);
		if (p->state != GOLABELS_NONE)
			n += goread_n_bytes(&p->read);
	}
	budget_release(a->options.budget, a->n_charged_bytes);
	budget_charge_always(a->options.budget, n);
	a->n_charged_bytes = n;
}

static void process_free(struct golabels_process *p)
{
	goprocess_labels_done(p);
	free(p);
}

void golabels_done(struct golabels *a)
{
	golabels_stop(a);
	gofind_done(&a->files);
	gopieces_done(&a->pieces);
	*a = (struct golabels){ .last = NULL };
}

void golabels_stop(struct golabels *a)
{
	for (size_t i = 0; i < a->process.item.n; i++)
		process_free(a->process.item.v[i].value);
	idmap_done(&a->process);
	pollpids_done(&a->polls);
	gobreak_done(&a->breaks);
	gobreak_init(&a->breaks, a->options.wanted.open, a->options.host, a->options.arch);
	a->last = NULL;
	charge(a);
}

void golabels_forget(struct golabels *a, uint32_t pid)
{
	struct golabels_process *p = idmap_get(&a->process, pid);
	if (!p)
		return;
	idmap_remove(&a->process, pid);
	process_free(p);
	a->last = NULL;
	pollpids_remove(&a->polls, pid);
}

/* ---- readings ---------------------------------------------------------------------------- */

static void read_process(struct golabels *a, struct golabels_process *p)
{
	if (!goprocess_labels_read(p)) {
		goprocess_labels_done(p);
		return;
	}
	uint64_t now = clock_monotonic_ns();
	if (goprocess_labels_is_used(p))
		pollpids_wants(&a->polls, now, now + goprocess_labels_wait_ns(p, now));
}

void golabels_poll(struct golabels *a)
{
	if (!pollpids_is_due(&a->polls, clock_monotonic_ns(), WATCH_NS))
		return;
	for (size_t i = 0; i < a->polls.pid.n; i++) {
		struct golabels_process *p = idmap_get(&a->process, a->polls.pid.v[i]);
		if (p && goprocess_labels_is_used(p))
			read_process(a, p);
	}
	charge(a);
}

int golabels_timeout_ms(const struct golabels *a)
{
	return pollpids_timeout_ms(&a->polls);
}

/* ---- samples ----------------------------------------------------------------------------- */

static struct golabels_process *process_of(struct golabels *a, uint32_t pid)
{
	struct golabels_process *p = idmap_make(&a->process, pid, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	p->all = a;
	return p;
}

/* The Go program, or NULL. */
static struct golabels_process *program_of(struct golabels *a, const struct procs_process *of)
{
	struct golabels_process *p = a->last && a->last->pid == of->pid ? a->last
									: process_of(a, of->pid);
	if (!p)
		return NULL;
	a->last = p;
	if (!p->is_searched || p->n_space_changes != of->space.n_changes)
		goprocess_labels_search(p, of);
	return p->state == GOLABELS_NONE ? NULL : p;
}

/* 0: the sample has not got it. */
static uint64_t reg(const struct record_sample *s, unsigned int i)
{
	uint64_t mask = s->user_regs && s->user_abi == PERF_SAMPLE_REGS_ABI_64 ? s->user_regs_mask
									       : 0;
	return mask >> i & 1
		       ? s->user_regs[__builtin_popcountll(mask & ((UINT64_C(1) << i) - 1))] : 0;
}

static void count_late(struct golabels *a, struct golabels_process *p,
		       const struct gotimes_answer *x)
{
	if (!x->is_between)
		return;
	a->stats.lateness.n_samples++;
	a->stats.lateness.n_changed += x->has_changed;
	a->stats.lateness.n_readings += x->read_ns != p->counted_ns;
	p->counted_ns = x->read_ns;
}

static uint32_t join_text(struct golabels *a, uint32_t set, const char *key, const char *value)
{
	struct label label;
	appvalues_label(&a->options.app->values, key, value, &label);
	uint32_t one = labels_add(a->options.labels, &label, 1, false);
	return one == LABELS_NONE ? set : labels_join(a->options.labels, set, one);
}

static uint32_t with_mark(struct golabels *a, uint32_t set)
{
	if (!a->late_set)
		a->late_set = join_text(a, 0, GOLABELS_LATE_KEY, "late");
	return labels_join(a->options.labels, set, a->late_set);
}

static uint32_t with_number(struct golabels *a, uint32_t set, uint64_t goroutine)
{
	char text[24];
	snprintf(text, sizeof(text), "%llu", (unsigned long long)goroutine);
	return join_text(a, set, GOLABELS_GOROUTINE_KEY, text);
}

static void count(struct golabels *a, struct golabels_process *p, enum gotimes_how how,
		  const struct gotimes_answer *x)
{
	switch (how) {
	case GOTIMES_EXACT:
		a->stats.n_exact++;
		break;
	case GOTIMES_LATE:
		a->stats.n_late++;
		count_late(a, p, x);
		break;
	case GOTIMES_NOTHING:
		if (x->is_nobody)
			break;
		a->stats.n_unknown++;
		a->options.app->stats.n_unknown++;
		break;
	}
}

uint32_t golabels_at(struct golabels *a, const struct procs_process *of, const struct record *r)
{
	struct gotimes_answer x;
	if (a->options.wanted.mode == GOLABELS_OFF || of->exited)
		return 0;
	struct golabels_process *p = program_of(a, of);
	if (!p)
		return 0;
	const struct goread_sample s = {
		.time_ns = r->time_ns, .tid = r->tid,
		.g = reg(&r->sample, a->g_reg), .sp = reg(&r->sample, a->sp_reg),
		.stack = r->sample.user_stack, .n_stack_bytes = r->sample.n_user_stack_bytes,
	};
	if (!s.sp)
		return 0;
	bool is_used = goprocess_labels_is_used(p);
	if (!is_used && s.time_ns < p->read.read_ns + WATCH_NS)
		return 0;
	if (s.time_ns > p->read.read_ns)
		read_process(a, p);
	if (p->state == GOLABELS_NONE)
		return 0;
	enum gotimes_how how = goread_at(&p->read, &s, &x);
	if (p->read.has_labels && !p->is_counted)
		goprocess_labels_use(p);
	if (!is_used || !p->is_counted)
		return is_used && how != GOTIMES_NOTHING && a->options.wanted.ids ?
			       with_number(a, 0, x.who) : 0;
	if (how == GOTIMES_LATE && a->options.wanted.mode == GOLABELS_EXACT) {
		x.is_nobody = false;
		how = GOTIMES_NOTHING;
	}
	count(a, p, how, &x);
	if (how == GOTIMES_NOTHING)
		return 0;
	uint32_t set = x.set;
	if (how == GOTIMES_LATE && (set || a->options.wanted.ids))
		set = with_mark(a, set);
	return a->options.wanted.ids && x.who ? with_number(a, set, x.who) : set;
}

/* ---- forgetting -------------------------------------------------------------------------- */

void golabels_trim(struct golabels *a)
{
	uint64_t now = clock_monotonic_ns();
	a->late_set = 0;
	for (size_t i = 0; i < a->process.item.n; i++) {
		struct golabels_process *p = a->process.item.v[i].value;
		if (p->state != GOLABELS_NONE)
			goread_trim(&p->read, now > KEEP_NS ? now - KEEP_NS : 0);
	}
	charge(a);
}

void golabels_each_set(struct golabels *a, void (*each)(void *ctx, uint32_t *set), void *ctx)
{
	for (size_t i = 0; i < a->process.item.n; i++) {
		struct golabels_process *p = a->process.item.v[i].value;
		if (p->state != GOLABELS_NONE)
			goread_each_set(&p->read, each, ctx);
	}
}

void golabels_clear(struct golabels *a)
{
	uint64_t n_processes = a->stats.n_processes;
	a->stats = (struct golabels_stats){ .n_processes = n_processes };
	for (size_t i = 0; i < a->process.item.n; i++) {
		struct golabels_process *p = a->process.item.v[i].value;
		if (p->state != GOLABELS_NONE)
			gosets_clear(&p->read.sets);
	}
}
