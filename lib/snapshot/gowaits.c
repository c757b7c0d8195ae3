/*
 * Which goroutines wait for another one, and since when, follows from their state and from how
 * often they have left their threads.  The stacks of those that have not run since the last reading
 * are known, so that they cost a few hundred bytes of memory to read.
 */

#include "snapshot/gowaits.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/strtab.h"
#include "engine/engine.h"
#include "engine/waits-tasks.h"
#include "snapshot/gocapture.h"
#include "snapshot/goidle.h"
#include "snapshot/gostack.h"
#include "snapshot/gostate.h"
#include "snapshot/gotarget.h"
#include "snapshot/snapshot.h"

#include <errno.h>
#include <stdlib.h>

struct gowaits {
	struct engine *engine;
	struct gotarget target;
	uint32_t dso;                   /* of target, whose own may be gone before it is closed */
	struct gostate state;
	uint64_t from_ns;
	struct snapshot snapshot;       /* for stacks and labels */
	struct waits_reading reading;
	struct procs_process *process;  /* during a reading */
};

int gowaits_open(struct engine *g, struct procs_process *p, uint64_t from_ns,
		 struct gowaits **ret, struct err *e)
{
	struct gowaits *x = calloc(1, sizeof(*x));
	if (!x)
		return err_errno(e, ENOMEM, "cannot read goroutines");
	x->engine = g;
	x->from_ns = from_ns;
	int r = gotarget_open(&x->target, g, p, e);
	if (r < 0) {
		gowaits_close(x);
		return r;
	}
	x->dso = x->target.process.dso->id;
	snapshot_init(&x->snapshot, g);
	gostate_init(&x->state, &x->target.go.reasons);
	*ret = x;
	return 0;
}

void gowaits_close(struct gowaits *x)
{
	if (!x)
		return;
	gotarget_close(&x->target);
	snapshot_done(&x->snapshot);
	free(x);
}

/* ---- one goroutine --------------------------------------------------------------------------- */

static void add(struct gowaits *x, const struct go_g *g, enum waits_task_state state,
		struct waits_place at)
{
	waits_tasks_add(&x->reading, &(struct waits_task_seen){
		.id = g->goid, .runs = g->switches, .state = state, .at = at });
}

/* Does it need a stack? */
static bool is_wanted(void *ctx, const struct go_g *g)
{
	struct gowaits *x = ctx;
	enum waits_task_state state = gostate_of(&x->state, g);
	bool counts_runs = x->target.go.layout.switches;
	if (state == WAITS_TASK_LOCKED || state == WAITS_TASK_READY)
		return !counts_runs ||
		       !waits_tasks_continue(&x->reading, g->goid, g->switches, state);
	add(x, g, state, waits_nowhere);
	return false;
}

static void add_own_labels(struct gowaits *x, const struct gocapture *c,
			   const struct gocapture_goroutine *r)
{
	if (r->labels == GOCAPTURE_NO_LABELS || x->engine->options.go.mode == GOLABELS_OFF)
		return;
	const struct gocapture_labels *l = &c->labels.v[r->labels];
	const char *text = c->text.v + l->off;
	for (uint32_t i = 0; i < l->n; i++) {
		const char *value = text + strlen(text) + 1;
		snapshot_label(&x->snapshot, text, value);
		text = value + strlen(value) + 1;
	}
}

static uint32_t labels_of(struct gowaits *x, const struct gocapture *c,
			  const struct gocapture_goroutine *r)
{
	struct snapshot *s = &x->snapshot;
	struct engine *g = x->engine;
	unsigned wanted = g->own_labels.options.wanted;
	add_own_labels(x, c, r);
	if (wanted & SAMPLELABEL_PID)
		snapshot_number(s, samplelabels_key(SAMPLELABEL_PID), x->process->pid);
	if (wanted & SAMPLELABEL_PROCESS_NAME && x->process->name)
		snapshot_label(s, samplelabels_key(SAMPLELABEL_PROCESS_NAME),
			       strtab_get(&g->strings, x->process->name));
	snapshot_label(s, "wait", x->target.go.reasons.text[r->g.wait_reason]);
	return snapshot_take_labels(s);
}

/* A label set; 0: it may wait for anything. */
static uint32_t idle_label_of(struct gowaits *x, const struct gocapture_goroutine *r,
			      const struct snapshot_stack *stack)
{
	struct engine *g = x->engine;
	const struct goidle idle = { x->target.process.table, &x->target.go.layout,
				     &x->target.process.memory };
	uint64_t vaddr[GOIDLE_FRAMES_MAX];
	size_t n = 0;
	uint32_t node = stack->is_whole ? stack->id : STACKS_EMPTY;
	for (; node != STACKS_EMPTY && n < GOIDLE_FRAMES_MAX; node = g->stacks.v[node].parent) {
		const struct frame *f = &g->frames.v[g->stacks.v[node].frame];
		if (f->dso != x->dso)
			return 0;
		vaddr[n++] = f->vaddr;
	}
	const char *value = node == STACKS_EMPTY ? goidle_label(&idle, &r->g, r->at, vaddr, n)
						 : NULL;
	return value ? samplelabels_with(&g->own_labels, 0, "idle", value) : 0;
}

static void add_goroutine(struct gowaits *x, const struct gocapture *c,
			  const struct gocapture_goroutine *r)
{
	struct snapshot_stack stack;
	bool is_known = r->how == GOCAPTURE_STEADY || r->how == GOCAPTURE_AGAIN;
	enum waits_task_state state = is_known ? gostate_of(&x->state, &r->g) : WAITS_TASK_RUNS;
	if (r->how == GOCAPTURE_ENDED)
		return;
	if (state != WAITS_TASK_LOCKED && state != WAITS_TASK_READY) {
		add(x, &r->g, state, waits_nowhere);
		return;
	}
	gostack_unwind(&x->snapshot, x->process, &x->target, c, r, &stack);
	add(x, &r->g, state, (struct waits_place){
		.stack = stack.id, .labels = labels_of(x, c, r),
		.locks = state == WAITS_TASK_LOCKED ? idle_label_of(x, r, &stack) : 0,
		.reason = WAITS_FOR_LOCK,
		.is_partial = !stack.is_whole,
	});
}

/* ---- a reading ------------------------------------------------------------------------------- */

static int read_windows(struct gowaits *x, struct gocapture *c)
{
	int r = gocapture_begin(c, &x->target.go, &x->target.process.memory);
	while (r >= 0 && (r = gocapture_next(c)) > 0)
		for (size_t i = 0; i < c->goroutines.n; i++)
			add_goroutine(x, c, &c->goroutines.v[i]);
	return r == -EFAULT ? -ESRCH : r;
}

int gowaits_read(struct gowaits *x, struct procs_process *p)
{
	struct gocapture c = { .is_wanted = is_wanted, .wanted_ctx = x };
	x->process = p;
	if (!waits_tasks_begin(&x->engine->waits, p->pid, x->dso, x->from_ns,
			       clock_monotonic_ns(), &x->reading))
		return -ENOMEM;
	int r = read_windows(x, &c);
	waits_tasks_end(&x->reading);
	gocapture_done(&c);
	return r;
}
