/*
 * The stack of a sample is native at first, and its functions are put into it before it is counted.
 * Other programs pay for one comparison per sample.
 */

#include "engine/functions.h"

#include "agg/frames.h"
#include "agg/labels.h"
#include "agg/stacks.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "proc/procs.h"
#include "source/record.h"
#include "stack/stack-walk.h"

#include <stdlib.h>
#include <string.h>

/* A program may make reading slow, by deep stacks or on purpose.  At most this part of the time is
 * spent on it, with so much in advance; samples that come then have no functions. */
#define SPENT_PART 2u
#define ADVANCE_NS 50000000u

#define TRIM_NS 1000000000u             /* between looking for ended processes */

static const char *const quality_name[INTERP_QUALITIES] = {
	[INTERP_QUALITY_EXACT] = "exact", [INTERP_QUALITY_REMEMBERED] = "remembered",
	[INTERP_QUALITY_INNERMOST] = "innermost", [INTERP_QUALITY_UNKNOWN] = "unknown",
};

const char *functions_quality_name(enum interp_quality q)
{
	return quality_name[q];
}

void functions_init(struct functions *f, const struct interp_tables *t, struct strtab *strings,
		    struct labels *labels, enum interp_mode mode, const char *saved_dir)
{
	*f = (struct functions){
		.mode = mode, .cache.tables = *t,
		.cache.learned.saved_dir = saved_dir ? strdup(saved_dir) : NULL,
		.strings = strings, .labels = labels,
	};
	functions_pace_init(&f->pace);
}

void functions_done(struct functions *f)
{
	functions_kept_done(&f->kept);
	interp_cache_done(&f->cache);
	stack_regs_done(&f->rules);
	interp_frames_done(&f->frames);
	VEC_FREE(&f->is_loop);
}

void functions_tick(struct functions *f, const struct procs *procs, uint64_t now_ns)
{
	if (f->mode == INTERP_NONE)
		return;
	f->now_ns = now_ns;
	f->may_read = functions_pace_reads(&f->pace, now_ns);
	f->last_labels.labels = LABELS_NONE;
	bool has_some = f->cache.by_pid.item.n || f->cache.files.v.n;
	if (has_some && now_ns - f->trimmed_ns >= TRIM_NS) {
		f->trimmed_ns = now_ns;
		memset(f->seen, 0, sizeof(f->seen));
		interp_cache_trim(&f->cache, procs);
	}
}

uint64_t functions_due_ns(struct functions *f, uint64_t now_ns)
{
	return functions_pace_due_ns(&f->pace, now_ns);
}

/* ---- processes -------------------------------------------------------------------------- */

/* A process is looked at in each drain, or when its mappings change. */
static const struct functions_seen *look_at(struct functions *f, struct procs_process *p)
{
	struct functions_seen *s = &f->seen[hash_u64(p->pid) % FUNCTIONS_SEEN];
	bool is_same = s->pid == p->pid && s->n_changes == p->space.n_changes;
	if (is_same && s->time_ns == f->now_ns)
		return s;
	*s = (struct functions_seen){
		.pid = p->pid, .n_changes = p->space.n_changes, .time_ns = f->now_ns,
	};
	if (interp_cache_is_early(&f->cache, p, f->now_ns)) {
		s->pid = 0;     /* ask again */
		return s;
	}
	s->has_program = interp_cache_program(&f->cache, p, f->now_ns, &s->program);
	if (s->has_program) {
		memcpy(f->version, s->program.runtime->name, sizeof(f->version));
		f->may_copy |= s->program.runtime->frame_pages != NULL;
		interp_samples_renew(s->program.samples, s->program.runtime, f->now_ns);
	}
	return s;
}

/* ---- stacks ----------------------------------------------------------------------------- */

/*
 * Finds the loops among the frames of the last stack.  Returns how many there are, or -1 if its
 * nodes are not those of its frames: memory is short.  0 with *is_mapped if the interpreter calls
 * itself through code without a file: then functions have code of their own, with names in a map.
 */
static int find_loops(struct functions *f, const struct interp_code *code,
		      const struct stack_walk *w, uint32_t node, bool *is_mapped)
{
	int n = 0;
	bool is_own_before = false, is_between = false;
	f->is_loop.n = 0;
	if (!VEC_EXTEND(&f->is_loop, w->n_cut_frames))
		return -1;
	while (node != STACKS_EMPTY &&
	       w->frames->v[w->stacks->v[node].frame].dso == w->kernel_dso)
		node = w->stacks->v[node].parent;
	for (uint32_t i = 0; i < w->n_cut_frames; i++, node = w->stacks->v[node].parent) {
		const struct frame *frame = &w->frames->v[w->stacks->v[node].frame];
		if (node == STACKS_EMPTY)
			return -1;
		bool is_own = frame->dso == code->dso;
		*is_mapped = is_own && is_between;
		if (*is_mapped)
			return 0;
		is_between = is_own_before &&
			     dso_get(w->dsos, frame->dso)->key.kind == DSO_ANON;
		is_own_before = is_own;
		f->is_loop.v[i] = is_own && code->is_loop(code->ctx, frame->vaddr);
		if (!f->is_loop.v[i])
			continue;
		if (w->cut_frame[i].pc - (frame->vaddr + code->bias) > 1)
			return -1;
		n++;
	}
	return n;
}

/* In other functions of the interpreter, a thread may have released the lock. */
static enum functions_lock lock_of(const struct functions *f, const struct interp_code *code,
				   const struct stack_walk *w, uint32_t node)
{
	while (node != STACKS_EMPTY &&
	       w->frames->v[w->stacks->v[node].frame].dso == w->kernel_dso)
		node = w->stacks->v[node].parent;
	if (code->is_lock_wait && f->is_loop.n && f->is_loop.v[0])
		return FUNCTIONS_LOCK_HELD;
	for (size_t i = 0; code->is_lock_wait && i < f->is_loop.n && !f->is_loop.v[i]; i++) {
		const struct frame *frame = &w->frames->v[w->stacks->v[node].frame];
		if (frame->dso == code->dso && code->is_lock_wait(code->ctx, frame->vaddr))
			return FUNCTIONS_LOCK_WAITED_FOR;
		node = w->stacks->v[node].parent;
	}
	return FUNCTIONS_LOCK_UNKNOWN;
}

/* Keeps the sample whose functions are not known, for the moment when it has been counted. */
static void keep(struct functions *f, const struct functions_seen *s, const struct record *r,
		 enum interp_quality q, uint32_t native, uint32_t labels)
{
	const struct interp_runtime *runtime = s->program.runtime;
	struct functions_kept_sample *k = &f->kept.present;
	*k = (struct functions_kept_sample){
		.quality = q, .pid = s->pid, .number = s->program.number,
		.time_ns = r->time_ns, .native = native, .plain = labels,
	};
	f->kept.has_present = interp_samples_keep(s->program.samples, runtime, &k->kept);
	if (f->kept.has_present)
		k->n_replaced = runtime->n_replaced(runtime->ctx);
}

static enum interp_quality place(struct functions *f, const struct functions_seen *s,
				 struct stack_walk *w, struct procs_process *p,
				 const struct record *r, uint32_t *stack, uint32_t labels)
{
	struct stack_regs_walk walk;
	struct interp_samples *samples = s->program.samples;
	const struct interp_runtime *runtime = s->program.runtime;
	struct interp_samples_native native = {
		.walk = &walk, .is_loop = f->is_loop.v, .is_whole = w->is_whole,
		.bias = s->program.code->bias, .tid = r->tid, .time_ns = r->time_ns,
		.may_read = f->may_read,
	};
	if (!stack_regs_begin(&walk, &f->rules, &w->user, &p->space, r, w->cut_frame,
			      w->n_cut_frames))
		return INTERP_QUALITY_UNKNOWN;
	if (runtime->frame_pages)
		native.copy = interp_copies_find(&f->copies, r->cpu, r->tid, r->time_ns, &walk);
	enum interp_quality q = interp_samples_read(samples, runtime, &native, &f->frames);
	f->stats.n_copied += samples->is_copied;
	if (f->may_read && (!samples->is_copied || samples->is_cut))
		interp_copies_want(&f->copies, runtime, r->tid, &walk);
	uint32_t native_stack = *stack;
	if (q != INTERP_QUALITY_UNKNOWN &&
	    interp_place(&f->cache.tables, s->program.code, f->mode, &f->frames,
			 w->is_whole, stack) != INTERP_PLACED)
		q = INTERP_QUALITY_UNKNOWN;
	if (q >= INTERP_QUALITY_INNERMOST && w->is_whole && f->kept.budget)
		keep(f, s, r, q, native_stack, labels);
	return q;
}

uint32_t functions_label(struct strtab *strings, struct labels *l, uint32_t labels,
			 const char *key, const char *quality)
{
	struct label one = { strtab_add_cstr(strings, key),
			     strtab_add_cstr(strings, quality) };
	uint32_t set = labels_add(l, &one, 1, false);
	return set == LABELS_NONE ? labels : labels_join(l, labels, set);
}

static void forget_labels(struct functions *f)
{
	for (int i = 0; i < FUNCTIONS_LOCKS; i++) {
		f->last_labels.locked[i] = LABELS_NONE;
		for (int k = 0; k < INTERP_QUALITIES; k++)
			f->last_labels.set[i][k] = LABELS_NONE;
	}
}

/* labels with the state of the lock.  Most samples of a thread have the same labels. */
static uint32_t with_lock(struct functions *f, uint32_t labels, const struct interp_runtime *r,
			  enum functions_lock lock)
{
	static const char *const name[FUNCTIONS_LOCKS] = {
		[FUNCTIONS_LOCK_HELD] = "held", [FUNCTIONS_LOCK_WAITED_FOR] = "waiting",
	};
	if (f->last_labels.labels != labels || f->last_labels.key != r->label) {
		f->last_labels.labels = labels;
		f->last_labels.key = r->label;
		forget_labels(f);
	}
	uint32_t *set = &f->last_labels.locked[lock];
	if (*set == LABELS_NONE)
		*set = lock == FUNCTIONS_LOCK_UNKNOWN ? labels :
			functions_label(f->strings, f->labels, labels, r->lock_label, name[lock]);
	return *set;
}

/* The same with the quality as well; after with_lock. */
static uint32_t with_quality(struct functions *f, enum functions_lock lock,
			     enum interp_quality q)
{
	uint32_t *set = &f->last_labels.set[lock][q];
	if (*set == LABELS_NONE)
		*set = functions_label(f->strings, f->labels, f->last_labels.locked[lock],
				       f->last_labels.key, quality_name[q]);
	return *set;
}

/* Where a whole copy did not help, a later reading would not, either. */
static void note(struct functions *f, const struct record *r, enum interp_quality q,
		 bool is_copied, bool is_cut, uint64_t begin_ns)
{
	uint64_t end_ns = clock_monotonic_ns();
	bool is_unsure = (!is_copied || is_cut) &&
			 (q == INTERP_QUALITY_INNERMOST || q == INTERP_QUALITY_UNKNOWN);
	f->stats.n[q]++;
	f->stats.lag_ns += is_copied ? 0 : end_ns - r->time_ns;
	f->stats.cost_ns += end_ns - begin_ns;
	f->free_ns = (f->free_ns > begin_ns ? f->free_ns : begin_ns) +
		     (end_ns - begin_ns) * SPENT_PART;
	functions_pace_note(&f->pace, r->tid, r->time_ns, is_unsure);
}

bool functions_place(struct functions *f, struct stack_walk *w, struct procs_process *p,
		     const struct record *r, uint32_t *stack, uint32_t *labels)
{
	if (!functions_are_on(f))
		return false;
	const struct functions_seen *s = look_at(f, p);
	if (!s->has_program) {
		f->stats.n_refused += s->program.is_refused;
		return false;
	}
	uint64_t begin_ns = clock_monotonic_ns();
	bool is_mapped = false;
	int n = find_loops(f, s->program.code, w, *stack, &is_mapped);
	f->stats.n_mapped += is_mapped;
	if (n == 0)
		return false;
	enum interp_quality q = INTERP_QUALITY_UNKNOWN;
	enum functions_lock lock = FUNCTIONS_LOCK_UNKNOWN;
	if (n > 0)
		lock = lock_of(f, s->program.code, w, *stack);
	*labels = with_lock(f, *labels, s->program.runtime, lock);
	uint64_t n_copied = f->stats.n_copied;
	if (n > 0 && f->free_ns < begin_ns + ADVANCE_NS)
		q = place(f, s, w, p, r, stack, *labels);
	bool is_copied = f->stats.n_copied != n_copied;
	bool is_cut = is_copied && s->program.samples->is_cut;
	*labels = with_quality(f, lock, q);
	note(f, r, q, is_copied, is_cut, begin_ns);
	return q != INTERP_QUALITY_UNKNOWN;
}
