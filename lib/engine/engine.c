/*
 * In the steady state a sample costs one look-up of the thread, one comparison of its stack with
 * the thread's previous one, the cached label set of the thread, and one look-up in the table of
 * counts.
 */

#include "engine/engine.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "engine/engine-allocs.h"
#include "engine/engine-waits.h"
#include "engine/probesamples.h"
#include "engine/threadcache.h"
#include "engine/waitcount.h"
#include "engine/waits-polls.h"
#include "engine/waits-reason.h"
#include "labels/samplelabels.h"
#include "source/record.h"
#include "stack/stack-args.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* The kernel reports this id for a task that has no ids any more. */
#define NO_TASK UINT32_MAX

/* A bound far above any machine's CPU numbers. */
#define CPU_MAX 65536u

/* ---- life ---------------------------------------------------------------------- */

static int init_labels(struct engine *g)
{
	const struct engine_options *o = &g->options;
	return samplelabels_init(&g->own_labels, &(struct samplelabels_options){
		.budget = &g->budget, .strings = &g->strings, .labels = &g->labels,
		.app = o->host ? &g->app : NULL, .go = o->host ? &g->go : NULL,
		.host = o->host, .dsos = &g->dsos, .procs = &g->procs, .wanted = o->labels,
		.fixed = o->label, .n_fixed = o->n_labels, .pmu = o->pmu, .n_events = o->n_events,
		.timeline = &o->timeline,
	});
}

static void init_gc(struct engine *g)
{
	g->gc.tables = (struct gc_tables){
		.budget = &g->budget, .strings = &g->strings, .n_fixed_strings = g->strings.n,
		.labels = &g->labels, .frames = &g->frames, .stacks = &g->stacks,
		.counts = &g->counts, .walk = &g->walk, .own_labels = &g->own_labels,
		.app = &g->app, .go = &g->go, .procs = &g->procs, .dsos = &g->dsos,
		.targets = &g->targets, .jit = &g->jit, .throttle = &g->throttle,
		.last_ns = &g->window.last_ns,
		.waits = &g->waits, .allocs = &g->allocs, .locks = &g->locks, .wakees = &g->wakees,
	};
}

static void init_programs_labels(struct engine *g)
{
	const struct engine_options *o = &g->options;
	applabels_init(&g->app, &g->budget, &g->strings, &g->labels, &g->dsos, o->host);
	g->app.is_frugal = o->frugal;
	g->app.values.is_taken = samplelabels_is_key;
	g->app.values.taken_ctx = &g->own_labels;
	golabels_init(&g->go, &(struct golabels_options){
		.wanted = o->go, .budget = &g->budget,
		.strings = &g->strings, .labels = &g->labels, .app = &g->app, .dsos = &g->dsos,
		.host = o->host, .arch = g->walk.user.arch,
	});
}

static void init_waits(struct engine *g)
{
	waits_init(&g->waits, &g->budget, waitcount_add, g);
	for (size_t i = 0; g->options.waits && i < g->options.n_events; i++)
		g->waits.has_clock |= g->options.waits[i] & WAITS_RUN;
}

static void init_functions(struct engine *g)
{
	const struct interp_tables t = {
		.dsos = &g->dsos, .frames = &g->frames, .stacks = &g->stacks,
		.vfuncs = &g->vfuncs, .host = g->options.host,
	};
	functions_init(&g->functions, &t, &g->strings, &g->labels,
		       g->options.host ? g->options.interpreter : INTERP_NONE,
		       g->options.cache_dir);
	g->functions.pace.is_frugal = g->options.frugal;
	/* counts of a part would have to be moved in the whole, too */
	if (!g->options.reader.source)
		g->functions.kept.budget = &g->budget;
}

int engine_init(struct engine *g, const struct engine_options *o, struct err *e)
{
	*g = (struct engine){ .options = *o, .window.end_ns = UINT64_MAX };
	budget_init(&g->budget, o->max_memory_bytes);
	targets_init(&g->targets, o->follow);
	g->event = calloc(o->n_events, sizeof(*g->event));
	g->window.gap_value = calloc(o->n_events, sizeof(*g->window.gap_value));
	if (!g->event || !g->window.gap_value || strtab_init(&g->strings, &g->budget) < 0 ||
	    dso_table_init(&g->dsos, &g->budget) < 0 ||
	    procs_init(&g->procs, &g->budget, &g->strings, &g->dsos, o->host) < 0 ||
	    frames_init(&g->frames, &g->budget) < 0 || stacks_init(&g->stacks, &g->budget) < 0 ||
	    vfuncs_init(&g->vfuncs, &g->budget) < 0 ||
	    labels_init(&g->labels, &g->budget) < 0 || counts_init(&g->counts, &g->budget) < 0 ||
	    stack_walk_init(&g->walk, &g->budget, &g->dsos, &g->frames, &g->stacks, &g->strings,
			   o->host, o->max_stack, o->machine, o->max_depth) < 0 ||
	    init_labels(g) < 0) {
		engine_done(g);
		return err_errno(e, ENOMEM, "cannot set up the profile");
	}
	g->walk.max_branches = o->max_branches;
	g->walk.counts = &g->counts;
	g->procs.user_free = threadcache_free;
	g->reread.host = o->host;
	jitcode_init(&g->kernel_code, &g->budget);
	jit_init(&g->jit, &g->budget, &g->dsos, o->host);
	g->jit.live = o->live;
	g->walk.user.jit = &g->jit;
	if (o->host)
		init_programs_labels(g);
	wakees_init(&g->wakees, &g->strings, &g->labels);
	locklabels_init(&g->locks, &g->strings, &g->labels, &g->dsos);
	owners_init(&g->owners, o->frugal ? NULL : o->host);
	init_waits(g);
	allocs_init(&g->allocs, &g->budget, &g->counts, (uint32_t)o->n_events);
	init_functions(g);
	init_gc(g);
	return 0;
}

void engine_done(struct engine *g)
{
	functions_done(&g->functions);
	stack_walk_done(&g->walk);
	jit_done(&g->jit);
	jitcode_done(&g->kernel_code);
	golabels_done(&g->go);
	applabels_done(&g->app);
	locklabels_done(&g->locks);
	wakees_done(&g->wakees);
	counts_done(&g->counts);
	labels_done(&g->labels);
	stacks_done(&g->stacks);
	vfuncs_done(&g->vfuncs);
	frames_done(&g->frames);
	procs_done(&g->procs);
	dso_table_done(&g->dsos);
	strtab_done(&g->strings);
	targets_done(&g->targets);
	VEC_FREE(&g->last_count);
	VEC_FREE(&g->last_exit);
	throttle_done(&g->throttle);
	pausegaps_done(&g->window.gaps);
	free(g->event);
	waits_done(&g->waits);
	allocs_done(&g->allocs);
	samplelabels_done(&g->own_labels);
	free(g->window.gap_value);
	*g = (struct engine){ 0 };
}

/* ---- records ----------------------------------------------------------------------- */

void engine_count(struct engine *g, uint32_t event, uint32_t stack, uint32_t labels, uint64_t n,
		  uint64_t value)
{
	uint32_t *place = g->walk.place ? g->walk.place : &g->walk.last_place;
	if (counts_add_near(&g->counts, event, stack, labels, n, value, false, place)) {
		g->walk.last_place = *place;
		g->walk.labels = labels;
		return;
	}
	/* Totals are never dropped: samples without room go to one entry per event. */
	uint32_t dropped = stack_walk_pseudo(&g->walk, g->walk.dropped);
	if (stack != dropped)  /* otherwise n_dropped has it already */
		g->walk.stats.n_dropped += n;
	counts_add(&g->counts, event, dropped, 0, n, value, true);
}

/*
 * How many events the sample stands for.  With a frequency the kernel keeps adjusting the period.
 * An adjustment may end a period early, but the sample reports a whole one: rare events would be
 * counted several times too often.  So if the sample has the event's counter, use the difference
 * from the CPU's previous sample.  If the source leaves samples of other tasks out, a difference of
 * several periods includes theirs.
 */
static uint64_t weight_of(struct engine *g, const struct record *r)
{
	uint64_t period = r->sample.period;
	if (!period && g->options.period)
		period = g->options.period[r->event];
	if (r->event >= 64 || !(g->options.by_count >> r->event & 1) || r->cpu > CPU_MAX)
		return period;
	size_t at = (size_t)r->cpu * g->options.n_events + r->event;
	if (!VEC_EXTEND(&g->last_count, at + 1))
		return period;
	uint64_t last = g->last_count.v[at], now = r->sample.count;
	g->last_count.v[at] = now;
	uint64_t n = now >= last ? now - last : now;  /* less: the event was reopened */
	return g->options.has_gaps >> r->event & 1 && n > 2 * period ? period : n;
}

/*
 * An exiting task has no ids any more, but is still sampled: its samples follow the EXIT record on
 * the same CPU.
 */
static void note_exit(struct engine *g, const struct record *r)
{
	if (r->cpu > CPU_MAX || !VEC_EXTEND(&g->last_exit, r->cpu + 1))
		return;
	g->last_exit.v[r->cpu] = (struct engine_exit){
		.pid = r->pid, .tid = r->tid, .is_target = targets_has(&g->targets, r->pid, r->tid),
	};
}

/* Restores the ids of such a sample; returns whether it belongs to a target. */
static bool is_target(const struct engine *g, const struct record *r, uint32_t *pid, uint32_t *tid)
{
	*pid = r->pid;
	*tid = r->tid;
	if (r->tid != NO_TASK || r->cpu >= g->last_exit.n)
		return targets_has(&g->targets, r->pid, r->tid);
	const struct engine_exit *x = &g->last_exit.v[r->cpu];
	if (!x->pid || (r->pid != NO_TASK && r->pid != x->pid))
		return targets_has(&g->targets, r->pid, r->tid);
	*pid = x->pid;
	*tid = x->tid;
	return x->is_target;
}

/* Records of a process whose maps were read again. */
static void feed_reread(void *ctx, const struct record *r)
{
	engine_feed(ctx, r);
}

/* Was it taken in a virtual machine on this machine?  Its addresses mean nothing here. */
static bool is_guest(const struct engine *g, const struct record *r)
{
	uint16_t mode = r->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	return g->options.host && (mode == PERF_RECORD_MISC_GUEST_KERNEL ||
				   mode == PERF_RECORD_MISC_GUEST_USER);
}

/* Where a sample belongs in the counts. */
struct sample_place {
	struct procs_thread *thread;
	struct threadcache *own;     /* or NULL */
	uint32_t stack, labels, plain_labels;
	bool is_cfi;                 /* by CFI: g->walk describes how it ended */
};

static struct waits_place waits_place(const struct engine *g, const struct sample_place *at)
{
	return (struct waits_place){
		.stack = at->stack, .labels = at->labels,
		.is_partial = at->is_cfi && !g->walk.is_whole,
	};
}

/* False: there is no memory for the thread. */
static inline __attribute__((always_inline)) bool
place_sample(struct engine *g, const struct record *r, uint32_t pid, uint32_t tid,
	     const struct engine_values *v, struct sample_place *ret)
{
	struct procs_thread *t = procs_thread(&g->procs, pid, tid);
	if (t && t->process &&
	    reread_maps_process(&g->reread, t->process, r->time_ns, feed_reread, g))
		t = procs_thread(&g->procs, pid, tid);
	if (!t || !t->process)
		return false;
	owners_note(&g->owners, t->process);
	if (!t->user)
		t->user = threadcache_new(&g->budget, &g->late_pool);
	struct threadcache *own = t->user;
	*ret = (struct sample_place){ .thread = t, .own = own };
	if (t->process->space.jit)
		jit_at(&g->jit, &g->procs, t->process, r->time_ns);
	if (is_guest(g, r)) {
		ret->stack = stack_walk_pseudo(&g->walk, g->walk.guest);
		ret->labels = samplelabels_own(&g->own_labels, t, own ? &own->labels : NULL, r);
		return true;
	}
	ret->is_cfi = r->sample.user_regs_mask;
	ret->stack = threadcache_stack(v->is_look ? NULL : own, &g->walk, &t->process->space, r);
	uint32_t plain = samplelabels_of(&g->own_labels, t, own ? &own->labels : NULL, r);
	for (size_t i = 0; i < v->n_labels; i++)
		plain = samplelabels_with(&g->own_labels, plain, v->label[i].key,
					  v->label[i].value);
	ret->labels = ret->plain_labels = plain;
	if (ret->is_cfi)
		ret->labels = samplelabels_marked(&g->own_labels, plain, &g->walk.mark);
	return true;
}

/* Is it a sample of this engine's threads? */
static bool is_own(const struct engine *g, const struct record *r)
{
	uint32_t pid, tid;
	is_target(g, r, &pid, &tid);
	return share_reader_of(g->options.reader.source, tid) == g->options.reader.index;
}

/* True: it has some, and is cut, and native frames do not complete it.  Not inline, because most
 * programs have no interpreter. */
static __attribute__((noinline)) bool place_functions(struct engine *g, const struct record *r,
						      struct sample_place *at)
{
	return functions_place(&g->functions, &g->walk, at->thread->process, r, &at->stack,
			       &at->labels) && !g->walk.is_whole;
}

/* Inline: for the records of perf, n is 1 and there are no labels. */
static inline __attribute__((always_inline)) void
add_sample(struct engine *g, const struct record *r, const struct engine_values v)
{
	uint32_t pid, tid;
	uint64_t n = v.n, value = v.value;
	struct engine_event *ev = &g->event[r->event];
	struct sample_place at;
	if (g->options.reader.source && !is_own(g, r))
		return;
	targets_note_time(&g->targets, r->time_ns);
	if (r->time_ns < g->window.start_ns || r->time_ns > g->window.end_ns)
		return;
	if (pausegaps_contain(&g->window.gaps, r->time_ns)) {
		g->window.gap_value[r->event] += value;
		return;
	}
	if (!is_target(g, r, &pid, &tid) &&
	    !(r->of_target && targets_note_sample(&g->targets, pid, tid))) {
		ev->n_foreign += n;
		return;
	}
	ev->n_samples += n;
	ev->value += value;
	ev->n_own += pid == g->options.own_pid ? n : 0;
	/* Samples of several CPUs are in any order. */
	if (!g->window.first_ns || r->time_ns < g->window.first_ns)
		g->window.first_ns = r->time_ns;
	if (r->time_ns > g->window.last_ns)
		g->window.last_ns = r->time_ns;

	if (!place_sample(g, r, pid, tid, &v, &at)) {
		g->walk.stats.n_dropped += n;
		engine_count(g, r->event, stack_walk_pseudo(&g->walk, g->walk.dropped), 0, n,
			     value);
		return;
	}
	bool stays_cut = functions_are_on(&g->functions) && at.is_cfi &&
			 place_functions(g, r, &at);
	engine_count(g, r->event, at.stack, at.labels, n, value);
	if (g->functions.kept.has_present)
		functions_kept_count(&g->functions.kept, r->event, at.stack, at.labels, n, value);
	if (!at.own || !at.is_cfi || stays_cut)
		return;
	struct procs_space *space = &at.thread->process->space;
	const struct stack_patchlater_cut cut = {
		.time_ns = r->time_ns, .n_samples = n, .value = value, .pc = g->walk.cut_pc,
		.cfa = g->walk.cut_cfa, .event = r->event, .stack = at.stack, .labels = at.labels,
		.plain_labels = at.plain_labels, .mark = g->walk.mark,
		.is_beyond = g->walk.is_beyond, .space = stack_user_serial(space),
	};
	const struct stack_patchlater_to to = {
		.stacks = &g->stacks, .user = &g->walk.user, .counts = &g->counts,
		.truncated = g->walk.truncated, .label = samplelabels_marked,
		.label_ctx = &g->own_labels,
	};
	threadcache_patch(at.own, &g->walk, space, &cut, &to);
}

void engine_add_sample(struct engine *g, const struct record *r, const struct engine_values *v)
{
	if (r->event < g->options.n_events)
		add_sample(g, r, *v);
}

bool engine_place_sample(struct engine *g, const struct record *r, const struct engine_values *v,
			 uint32_t *ret_stack, uint32_t *ret_labels)
{
	uint32_t pid, tid;
	struct sample_place at;
	targets_note_time(&g->targets, r->time_ns);
	if (!is_target(g, r, &pid, &tid)) {
		g->event[r->event].n_foreign += v->n;
		return false;
	}
	if (!place_sample(g, r, pid, tid, v, &at))
		return false;
	if (functions_are_on(&g->functions) && at.is_cfi)
		place_functions(g, r, &at);
	g->event[r->event].n_samples += v->n;
	g->event[r->event].value += v->value;
	*ret_stack = at.stack;
	*ret_labels = at.labels;
	return true;
}

/* ---- waits --------------------------------------------------------------------------- */

/* The window moves when the recording's delay is over, and at its end. */
static void set_waits_window(struct engine *g)
{
	g->waits.start_ns = g->window.start_ns;
	g->waits.end_ns = g->window.end_ns;
}

/* Does the thread release a lock that *ret_woken waits for?  A signal, as at the end of a process,
 * is no release. */
static bool is_release(const struct engine *g, const struct record *r, uint32_t tid,
		       uint32_t *ret_woken)
{
	return waits_woken(r, ret_woken) && waits_knows(&g->waits, tid) &&
	       waits_wants_waker(&g->waits, *ret_woken) &&
	       waits_reason_of(&g->waits, r) == WAITS_FOR_LOCK;
}

static void set_locks(struct engine *g, const struct sample_place *at,
		      const struct lockread_wait *lock, struct waits_place *place)
{
	if (g->options.has_locks && lock->address)
		place->locks = locklabels_of(&g->locks, &at->thread->process->space,
					     lock->address);
}

/* The user's part of the stack is that of the thread that it creates. */
static void feed_birth(struct engine *g, const struct record *r, const struct sample_place *at)
{
	const struct engine_values none = { 0 };
	const uint64_t *chain = r->sample.callchain;
	struct record user = *r;
	struct sample_place born;
	user.misc = PERF_RECORD_MISC_USER;
	while (user.sample.n_callchain && *chain != (uint64_t)PERF_CONTEXT_USER) {
		user.sample.n_callchain--;
		chain++;
	}
	user.sample.callchain = chain;
	if (place_sample(g, &user, at->thread->process->pid, at->thread->tid, &none, &born))
		waits_birth(&g->waits, at->thread->tid, waits_place(g, &born));
}

/* A thread leaves its CPU. */
static void feed_wait(struct engine *g, const struct record *r, const struct sample_place *at,
		      struct waits_place place)
{
	const struct procs_thread *t = at->thread;
	const struct waits_code *code = waits_reason_code(&g->waits, r);
	struct lockread_wait lock = { 0 };
	uint64_t arg[STACK_ARGS];
	if (code && code->has_address && g->options.has_locks &&
	    stack_args(g->walk.user.arch, r, arg) && lockread_wait(arg, &lock))
		set_locks(g, at, &lock, &place);
	if (code && code->reason == WAITS_FOR_CHILD)
		feed_birth(g, r, at);
	waits_sample(&g->waits, t->process->pid, t->tid, r->time_ns, place);
	if (place.is_partial)
		waits_keep_cut(&g->waits, t->tid, r);
	if (lock.address)
		waits_lock(&g->waits, t->tid, &lock);
}

/* The thread that ends a wait for a mutex has held it.  What was read during the wait says more:
 * who had it when the wait began. */
static void note_release(struct engine *g, const struct record *r, uint32_t waker, uint32_t woken)
{
	const struct waits_thread *t = waits_find(&g->waits, woken);
	if (g->options.has_locks && t && lockread_is_mutex(&t->lock) &&
	    !waits_looks_fit(&g->waits, t, &t->holding, r->time_ns))
		engine_add_holder(g, t->pid, woken, r->time_ns, r->time_ns, waker);
}

/* A sample that says where its thread waits or runs. */
static void feed_place(struct engine *g, const struct record *r, unsigned role)
{
	const struct engine_values none = { 0 };
	uint32_t pid, tid, woken = 0;
	struct sample_place at;
	targets_note_time(&g->targets, r->time_ns);
	if (role & WAITS_WAKE)
		waits_note_wake(&g->waits, r);
	if (!is_target(g, r, &pid, &tid)) {
		g->event[r->event].n_foreign++;
		return;
	}
	g->event[r->event].n_placed++;
	if (role & WAITS_WAKE && !is_release(g, r, tid, &woken))
		return;
	if (!place_sample(g, r, pid, tid, &none, &at) || at.thread->exited)
		return;
	struct waits_place place = waits_place(g, &at);
	uint64_t weight = role & WAITS_WAKE ? weight_of(g, r) : 0;
	place.reason = waits_reason_of(&g->waits, r);
	if (role & WAITS_WAKE) {
		note_release(g, r, tid, woken);
		waits_wake(&g->waits, woken, weight, place);
	} else if (role & WAITS_CLOCK)
		waits_clock(&g->waits, pid, tid, r->time_ns, place);
	else
		feed_wait(g, r, &at, place);
}

/* An exiting task may still be switched, and at last leaves its CPU for ever: that is no wait. */
static bool has_exited(const struct engine *g, const struct record *r)
{
	if (r->type == PERF_RECORD_LOST || waits_knows(&g->waits, r->tid))
		return false;
	const struct procs_thread *t = procs_find_thread(&g->procs, r->tid);
	return t && t->exited && t->process && t->process->pid == r->pid;
}

static void feed_waits(struct engine *g, const struct record *r)
{
	if (!g->options.waits)
		return;
	set_waits_window(g);
	if (has_exited(g, r))
		return;
	if (r->type == PERF_RECORD_LOST || targets_has(&g->targets, r->pid, r->tid))
		waits_feed(&g->waits, r);
}

void engine_add_look(struct engine *g, const struct record *r, const struct waits_look *seen)
{
	const struct engine_values values = { .is_look = !seen->is_cut };
	struct waits_look look = *seen;
	struct sample_place at;
	look.pid = r->pid;
	look.tid = r->tid;
	look.to_ns = r->time_ns;
	look.at.stack = STACKS_NONE;
	if (!g->options.waits)
		return;
	if (look.is_waiting && r->sample.user_regs &&
	    place_sample(g, r, r->pid, r->tid, &values, &at)) {
		look.at = waits_place(g, &at);
		look.at.reason = seen->at.reason;
		if (look.is_cut && !look.at.is_partial)
			stack_walk_count_completed(&g->walk, 1, 0);
		set_locks(g, &at, &seen->lock, &look.at);
	}
	set_waits_window(g);
	if (look.is_poll)
		waits_polls_add(&g->waits, &look);
	else
		waits_looks_add(&g->waits, &look);
}

void engine_add_holder(struct engine *g, uint32_t pid, uint32_t tid, uint64_t from_ns,
		       uint64_t to_ns, uint32_t owner)
{
	const struct waits_thread *t = waits_find(&g->waits, tid);
	const struct procs_thread *holder = procs_find_thread(&g->procs, owner);
	if (!t || !holder || !holder->process || holder->process->pid != pid || holder->exited ||
	    owner == tid)
		return;
	uint32_t set = waits_looks_place(&g->waits, t, UINT64_MAX).locks;
	if (set)
		waits_looks_add_holder(&g->waits, tid, from_ns, to_ns,
			locklabels_with_holder(&g->locks, set,
					       strtab_get(&g->strings, holder->name), owner));
}

void engine_add_functions(struct engine *g, uint32_t tid, uint64_t from_ns, uint64_t to_ns,
			  struct waits_place native, uint32_t stack, const char *label)
{
	struct waits_place at = native;
	at.stack = stack;
	if (stack != STACKS_NONE)
		at.labels = functions_label(&g->strings, &g->labels, native.labels, label,
					    "exact");
	waits_looks_add_functions(&g->waits, tid, from_ns, to_ns, native, at);
}

void engine_tick_functions(struct engine *g, uint64_t now_ns)
{
	functions_tick(&g->functions, &g->procs, now_ns);
	functions_kept_settle(&g->functions, &g->counts, g->gc.tables.n_runs, now_ns, false);
}

void engine_settle(struct engine *g, uint64_t now_ns)
{
	functions_kept_settle(&g->functions, &g->counts, g->gc.tables.n_runs, now_ns, true);
	if (!g->options.waits)
		return;
	set_waits_window(g);
	waits_settle(&g->waits, now_ns);
}

/* ---- feeding ------------------------------------------------------------------------- */

static void feed_sample(struct engine *g, const struct record *r)
{
	unsigned role = g->options.waits && r->event < g->options.n_events
				? g->options.waits[r->event] : 0;
	if (role) {
		set_waits_window(g);
		feed_place(g, r, role);
		return;
	}
	if (r->event >= g->options.n_events)
		return;
	const struct evusdt_args *args = g->options.args ? g->options.args[r->event] : NULL;
	if (args)
		probesamples_add(g, r, args, weight_of(g, r));
	else
		add_sample(g, r, (struct engine_values){ .n = 1, .value = weight_of(g, r) });
}

/* A forked child inherits labels; an exec or exit ends them. */
static void feed_app_labels(struct engine *g, const struct record *r)
{
	struct procs_process *p = procs_process(&g->procs, r->pid);
	if (r->type == PERF_RECORD_FORK && r->fork.ppid != r->pid) {
		p = procs_process(&g->procs, r->fork.ppid);
		if (p)
			applabels_fork(&g->app, p, r->fork.ptid, r->pid, r->time_ns);
	} else if ((r->type == PERF_RECORD_COMM && r->comm.exec) ||
		   (r->type == PERF_RECORD_EXIT && p && p->exited)) {
		applabels_forget(&g->app, r->pid);
		golabels_forget(&g->go, r->pid);
		if (r->type == PERF_RECORD_EXIT)
			waits_tasks_forget(&g->waits, r->pid, r->time_ns);
	}
}

/* Also when the code is unloaded: it may have been loaded before the recording. */
static void note_kernel_code(struct engine *g, const struct record *r)
{
	const struct record_ksymbol *k = &r->ksymbol;
	struct jitcode_entry e = {
		.start = k->vaddr, .n_bytes = k->n_bytes, .from_ns = r->time_ns,
		.index = k->ksym_type,
		.name = jitcode_keep_name(&g->kernel_code, k->name, strlen(k->name)),
	};
	if (e.name && *e.name && k->vaddr)
		jitcode_add(&g->kernel_code, &e);
}

static void feed_side_band(struct engine *g, const struct record *r)
{
	if (!targets_feed(&g->targets, r))
		return;
	g->n_born += r->type == PERF_RECORD_FORK && r->time_ns >= g->window.start_ns;
	procs_feed(&g->procs, r, g->options.follow);
	reread_maps_note(&g->reread, &g->procs, r);
	jit_feed(&g->jit, &g->procs, r);
	if (g->options.host)
		feed_app_labels(g, r);
	feed_waits(g, r);
}

void engine_feed(struct engine *g, const struct record *r)
{
	struct engine_event *ev = r->event < g->options.n_events ? &g->event[r->event] : NULL;
	switch (r->type) {
	case PERF_RECORD_SAMPLE:
		feed_sample(g, r);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		/* The side band may share its ring with events, and then reports their losses. */
		if (!ev && r->type == PERF_RECORD_LOST && g->options.n_events)
			ev = &g->event[0];
		if (ev)
			ev->n_lost_records += r->lost.n_lost;
		g->reread.n_losses += r->type == PERF_RECORD_LOST;
		if (ev && r->type == PERF_RECORD_LOST)
			ev->n_lost_in_ring += r->lost.n_lost;
		feed_waits(g, r);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		feed_waits(g, r);
		break;
	case PERF_RECORD_THROTTLE:
		if (ev) {
			ev->n_throttles++;
			throttle_begin(&g->throttle, r->event, r->throttle.stream_id, r->time_ns);
		}
		break;
	case PERF_RECORD_UNTHROTTLE:
		if (ev)
			ev->throttled_ns += throttle_end(&g->throttle, r->throttle.stream_id,
						       r->time_ns);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
		feed_side_band(g, r);
		break;
	case PERF_RECORD_KSYMBOL:
		note_kernel_code(g, r);
		break;
	case PERF_RECORD_EXIT:
		if (procs_note_removal(&g->procs, r)) {
			waits_doubt(&g->waits, r);
			break;
		}
		note_exit(g, r);
		feed_side_band(g, r);
		break;
	default:
		break;
	}
}

void engine_add_lost(struct engine *g, uint32_t event, uint64_t n, uint64_t value)
{
	g->event[event].n_lost += n;
	counts_add(&g->counts, event, stack_walk_pseudo(&g->walk, g->walk.lost), 0, n, value, true);
}

int engine_clear(struct engine *g, struct err *e)
{
	struct counts fresh;
	if (counts_init(&fresh, &g->budget) < 0)
		return err_errno(e, ENOMEM, "cannot begin a new profile");
	counts_done(&g->counts);
	g->counts = fresh;
	memset(g->event, 0, g->options.n_events * sizeof(*g->event));
	g->window.first_ns = g->window.last_ns = 0;
	g->own_labels.n_dropped = 0;
	g->n_born = g->n_args_unknown = 0;
	g->procs.n_removed = 0;
	g->owners.any_other = false;
	g->walk.stats = (struct stack_walk_stats){ 0 };
	stack_user_clear(&g->walk.user);
	applabels_clear(&g->app);
	golabels_clear(&g->go);
	functions_kept_done(&g->functions.kept);
	g->functions.stats = (struct functions_stats){ .lag_ns = 0 };
	locklabels_clear(&g->locks);
	wakees_clear(&g->wakees);
	allocs_restart(&g->allocs);
	/* If memory for the copy is short, nothing changes. */
	if (gc_tables_is_due(&g->gc.tables))
		gc_tables_run(&g->gc.tables, NULL, 0);
	return 0;
}
