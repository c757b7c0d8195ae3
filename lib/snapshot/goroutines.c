#include "snapshot/goroutines.h"

#include "base/clock.h"
#include "base/err.h"
#include "engine/engine.h"
#include "snapshot/gocapture.h"
#include "snapshot/gofuncs.h"
#include "snapshot/gostack.h"
#include "snapshot/gotarget.h"
#include "snapshot/keepoff.h"
#include "snapshot/oneshot.h"
#include "snapshot/snapshot.h"
#include "source/record.h"
#include "symbolize/cfi/cfi.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define RUNNING_NS_MAX 1000000000u      /* for samples of running goroutines */

/* A goroutine that ran when its thread was sampled. */
struct sampled {
	bool is_known;
	struct snapshot_stack stack;
};

/* One process. */
struct take {
	struct goroutines *o;
	struct snapshot *s;
	struct procs_process *p;
	struct gotarget *program;
	struct gofuncs funcs;
	struct gocapture capture;
	/* Of a window: goroutines that run, in order, their threads, and samples of these. */
	VEC(uint32_t) running, tid;
	VEC(struct sampled) sampled;
	size_t n_added;                 /* of these */
};

/* ---- running goroutines -------------------------------------------------------------------- */

/* The register of a sample, by its DWARF number; 0: it has not got it. */
static uint64_t reg_of(const struct arch *arch, const struct record_sample *s, uint8_t reg)
{
	uint64_t mask = s->user_regs ? s->user_regs_mask : 0;
	for (unsigned int i = 0; i < arch->n_perf_regs; i++)
		if (arch->perf_reg[i] == (int8_t)reg && mask >> i & 1)
			return s->user_regs[__builtin_popcountll(mask & ((1ull << i) - 1))];
	return 0;
}

/* Does the thread still run that goroutine? */
static bool is_of(const struct take *t, const struct gocapture_goroutine *r,
		  const struct record_sample *s)
{
	const struct arch *arch = t->program->process.cfi->arch;
	uint8_t g = arch == &arch_x86_64 ? GO_G_REG_X86_64 : GO_G_REG_ARM64;
	uint64_t sp = reg_of(arch, s, arch->sp);
	return (sp >= r->g.lo && sp < r->g.hi) || reg_of(arch, s, g) == r->at;
}

static void note_sample(void *ctx, size_t i, const struct record *sample)
{
	struct take *t = ctx;
	struct sampled *to = &t->sampled.v[i];
	if (!is_of(t, &t->capture.goroutines.v[t->running.v[i]], &sample->sample))
		return;
	snapshot_unwind(t->s, t->p, sample, &to->stack);
	to->is_known = true;
}

/* One sample of each thread that runs a goroutine of the window. */
static int sample_running(struct take *t)
{
	const struct gocapture *c = &t->capture;
	t->running.n = t->tid.n = t->sampled.n = t->n_added = 0;
	for (size_t i = 0; i < c->goroutines.n; i++) {
		const struct gocapture_goroutine *r = &c->goroutines.v[i];
		if (r->how != GOCAPTURE_RUNNING || !r->tid)
			continue;
		if (!VEC_PUSH(&t->running, (uint32_t)i) || !VEC_PUSH(&t->tid, r->tid) ||
		    !VEC_PUSH(&t->sampled, (struct sampled){ .is_known = false }))
			return -ENOMEM;
	}
	if (t->running.n && t->o->open)
		oneshot_take(&(struct oneshot){
			.open = t->o->open, .host = t->program->process.host, .ctx = t,
			.end_ns = clock_monotonic_ns() + RUNNING_NS_MAX, .sample = note_sample,
		}, t->tid.v, t->tid.n);
	/* others have left their threads meanwhile */
	int code = 0;
	for (size_t i = 0; i < t->running.n && code == 0; i++)
		if (!t->sampled.v[i].is_known)
			code = gocapture_again(&t->capture, t->running.v[i]);
	return code;
}

/* The sample of goroutine i of the window, for increasing i.  NULL: there is none. */
static const struct sampled *sample_of(struct take *t, size_t i)
{
	if (t->n_added == t->running.n || t->running.v[t->n_added] != i)
		return NULL;
	const struct sampled *s = &t->sampled.v[t->n_added++];
	return s->is_known ? s : NULL;
}

/* ---- labels -------------------------------------------------------------------------------- */

static const char *wait_reason(const struct take *t, const struct go_g *g)
{
	const struct go_reasons *reasons = &t->program->go.reasons;
	bool waits = g->status == GO_WAITING || g->status == GO_LEAKED;
	return waits && g->wait_reason && g->wait_reason < reasons->n ?
		       reasons->text[g->wait_reason] : "";
}

/* How long it has been waiting, at least. */
static uint64_t wait_ns(const struct gocapture_goroutine *r)
{
	bool waits = r->g.status == GO_WAITING || r->g.status == GO_SYSCALL;
	return waits && r->g.wait_since && r->g.wait_since <= r->time_ns ?
		       r->time_ns - r->g.wait_since : SNAPSHOT_WAIT_UNKNOWN;
}

static void add_own_labels(struct take *t, const struct gocapture_goroutine *r)
{
	if (r->labels == GOCAPTURE_NO_LABELS)
		return;
	const struct gocapture_labels *l = &t->capture.labels.v[r->labels];
	const char *text = t->capture.text.v + l->off;
	for (uint32_t i = 0; i < l->n; i++) {
		const char *value = text + strlen(text) + 1;
		snapshot_label(t->s, text, value);
		text = value + strlen(value) + 1;
	}
}

static void add_number(struct take *t, const char *key, uint64_t number)
{
	if (number)
		snapshot_number(t->s, key, number);
}

static void add_labels(struct take *t, const struct gocapture_goroutine *r, uint64_t wait)
{
	uint64_t bias = t->program->process.places.bias;
	/* the program's own come first: it cannot replace ours */
	add_own_labels(t, r);
	add_number(t, "go::goroutine", r->g.goid);
	add_number(t, "go::parent", r->g.parent);
	add_number(t, "go::thread", r->tid);
	add_number(t, "go::bubble", r->bubble);
	snapshot_label(t->s, "go::state", go_status_name(r->g.status));
	snapshot_label(t->s, "go::wait_reason", wait_reason(t, &r->g));
	if (r->g.locked_m)
		snapshot_label(t->s, "go::locked", "true");
	if (wait != SNAPSHOT_WAIT_UNKNOWN)
		snapshot_number(t->s, SNAPSHOT_GO_WAIT, wait);
	const struct gofuncs_place *creator =
		r->g.go_pc && r->g.goid != 1 ? gofuncs_at(&t->funcs, r->g.go_pc - 1 - bias) : NULL;
	if (creator && creator->text)
		snapshot_label(t->s, "go::created_by",
			       strtab_get(&t->s->engine->strings, creator->text));
}

/* ---- entries ------------------------------------------------------------------------------- */

/* Is it one of the runtime's own that is not doing the program's work? */
static bool is_runtime(struct take *t, const struct go_g *g, const struct gofuncs_place *start)
{
	if (!start || !start->is_runtime)
		return false;
	const char *reason = wait_reason(t, g);
	const char *name = strtab_get(&t->s->engine->strings, start->function);
	bool may_work = strcmp(name, "runtime.runfinq") == 0 ||
			strcmp(name, "runtime.runFinalizers") == 0 ||
			strcmp(name, "runtime.runCleanups") == 0;
	return !may_work || strcmp(reason, "finalizer wait") == 0 ||
	       strcmp(reason, "cleanup wait") == 0;
}

static void add_entry(struct take *t, size_t i)
{
	const struct gocapture_goroutine *r = &t->capture.goroutines.v[i];
	const struct sampled *sampled = sample_of(t, i);
	struct strtab *strings = &t->s->engine->strings;
	const struct gofuncs_place *start =
		gofuncs_at(&t->funcs, r->g.start_pc - t->program->process.places.bias);
	uint64_t wait = wait_ns(r);
	if (r->how == GOCAPTURE_ENDED) {
		t->s->n_lost[SNAPSHOT_LOST_ENDED]++;
		return;
	}
	if (is_runtime(t, &r->g, start)) {
		t->o->n_runtime++;
		return;
	}
	if (snapshot_is_short(t->s, wait))
		return;
	const char *reason = wait_reason(t, &r->g);
	struct snapshot_entry entry = {
		.is_task = true, .pid = t->p->pid, .id = r->g.goid, .wait_ns = wait,
		.name = start ? start->function : 0, .process_name = t->p->name,
		.state = strtab_add_cstr(strings, *reason ? reason : go_status_name(r->g.status)),
	};
	if (r->n_stack_bytes) {
		struct snapshot_stack stack;
		/* the runtime's counter has eight bits */
		entry.has_runs = true;
		entry.n_runs = r->g.switches + (r->g.sp << 8);
		gostack_unwind(t->s, t->p, t->program, &t->capture, r, &stack);
		entry.stack = stack.id;
		entry.quality = stack.is_heuristic ? SNAPSHOT_HEURISTIC :
				r->how == GOCAPTURE_STEADY ? SNAPSHOT_EXACT : SNAPSHOT_MOVED;
	} else if (sampled) {
		entry.stack = sampled->stack.id;
		entry.quality = SNAPSHOT_RUNNING;
	} else {
		entry.stack = snapshot_no_stack(t->s);
		entry.quality = SNAPSHOT_UNKNOWN;
		t->s->n_lost[SNAPSHOT_LOST_MOVING] += r->how == GOCAPTURE_MOVING;
	}
	add_labels(t, r, wait);
	snapshot_add(t->s, &entry);
}

static int add_all(struct take *t, struct err *e)
{
	struct gocapture *c = &t->capture;
	int r = gocapture_begin(c, &t->program->go, &t->program->process.memory);
	gofuncs_open(&t->funcs, t->program->process.dso, &t->s->engine->strings);
	while (r >= 0 && (r = gocapture_next(c)) > 0) {
		r = sample_running(t);
		for (size_t i = 0; i < c->goroutines.n; i++)
			add_entry(t, i);
	}
	t->s->from_ns = t->s->from_ns ? t->s->from_ns : c->from_ns;
	t->s->to_ns = c->to_ns > t->s->to_ns ? c->to_ns : t->s->to_ns;
	t->s->n_lost[SNAPSHOT_LOST_LIMIT] += c->n_left_out;
	t->o->n_bad_labels += c->n_bad_labels;
	gofuncs_close(&t->funcs);
	VEC_FREE(&t->running);
	VEC_FREE(&t->tid);
	VEC_FREE(&t->sampled);
	gocapture_done(c);
	if (r == -ENOMEM)
		return err_errno(e, ENOMEM, "cannot read the goroutines of process %u", t->p->pid);
	return r < 0 ? err_set(e, ESRCH, "process %u has ended, or it executes another program",
			       t->p->pid) : 0;
}

int goroutines_add(struct goroutines *o, struct snapshot *s, struct procs_process *p,
		   struct err *e)
{
	struct gotarget x = { .engine = NULL };
	struct take t = { .o = o, .s = s, .p = p, .program = &x };
	int r = gotarget_open(&x, s->engine, p, e);
	snprintf(o->version, sizeof(o->version), "%s", x.go.version.text);
	if (r == 0 && o->keepoff) {
		keepoff_add_process(o->keepoff, p->pid);
		keepoff_apply(o->keepoff);
	}
	if (r == 0)
		r = add_all(&t, e);
	gotarget_close(&x);
	return r;
}
