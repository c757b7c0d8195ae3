/*
 * An entry becomes a set of labels and a stack at once, so that equal ones are stored once, and a
 * profile is written by the code that writes all others.
 */

#include "snapshot/snapshot.h"

#include "base/budget.h"
#include "engine/engine.h"
#include "labels/samplelabels.h"
#include "source/record.h"

#include <stdio.h>
#include <string.h>

static const char *const quality_names[] = {
	[SNAPSHOT_EXACT] = "exact", [SNAPSHOT_MOVED] = "moved", [SNAPSHOT_RUNNING] = "running",
	[SNAPSHOT_HEURISTIC] = "heuristic", [SNAPSHOT_UNKNOWN] = "unknown",
};

static const char *const loss_names[] = {
	[SNAPSHOT_LOST_ENDED] = "ended", [SNAPSHOT_LOST_DENIED] = "denied",
	[SNAPSHOT_LOST_MOVING] = "moving", [SNAPSHOT_LOST_STARVED] = "starved",
	[SNAPSHOT_LOST_UNANSWERED] = "unanswered", [SNAPSHOT_LOST_LIMIT] = "limit",
};

static const char *const loss_words[] = {
	[SNAPSHOT_LOST_ENDED] = "ended or executed another program meanwhile",
	[SNAPSHOT_LOST_DENIED] = "may not be read",
	[SNAPSHOT_LOST_MOVING] = "moved during each reading",
	[SNAPSHOT_LOST_STARVED] = "runnable, but without a CPU in time",
	[SNAPSHOT_LOST_UNANSWERED] = "of processes that did not answer",
	[SNAPSHOT_LOST_LIMIT] = "beyond the limits of memory, time or number",
};

const char *snapshot_quality_name(enum snapshot_quality q)
{
	return quality_names[q];
}

const char *snapshot_loss_name(enum snapshot_loss l)
{
	return loss_names[l];
}

const char *snapshot_loss_words(enum snapshot_loss l)
{
	return loss_words[l];
}

/* ---- life ---------------------------------------------------------------------------------- */

void snapshot_init(struct snapshot *s, struct engine *engine)
{
	*s = (struct snapshot){ .engine = engine };
}

static size_t entries_bytes(const struct snapshot *s)
{
	return s->entries.cap * sizeof(*s->entries.v);
}

void snapshot_done(struct snapshot *s)
{
	if (s->engine)
		budget_release(&s->engine->budget, entries_bytes(s));
	VEC_FREE(&s->entries);
	*s = (struct snapshot){ .engine = NULL };
}

void snapshot_begin(struct snapshot *s)
{
	s->entries.n = 0;
	s->from_ns = s->to_ns = 0;
	s->n_stopped = s->stopped_ns = s->n_not_stopped = 0;
	s->tracer = 0;
	s->tracer_name[0] = '\0';
	s->n_labels = 0;
	s->n_functions = s->n_no_functions = 0;
	s->functions_of[0] = '\0';
	s->n_short = 0;
	memset(s->n_of, 0, sizeof(s->n_of));
	memset(s->n_lost, 0, sizeof(s->n_lost));
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static bool has_frame(const struct stacks *stacks, uint32_t stack, uint32_t frame)
{
	while (stack != STACKS_EMPTY && stacks->v[stack].frame != frame)
		stack = stacks->v[stack].parent;
	return stack != STACKS_EMPTY;
}

void snapshot_unwind(struct snapshot *s, struct procs_process *p, const struct record *r,
		     struct snapshot_stack *ret)
{
	struct stack_walk *w = &s->engine->walk;
	if (p->space.jit)
		jit_at(&s->engine->jit, &s->engine->procs, p, r->time_ns);
	*ret = (struct snapshot_stack){ .id = stack_walk_sample_cfi(w, &p->space, NULL, r) };
	ret->is_unmapped = has_frame(&s->engine->stacks, ret->id, w->unknown);
	ret->is_whole = w->is_whole;
	ret->is_short = !w->is_whole && (w->is_beyond || w->user.fp == STACK_FP_MISSING);
	ret->is_heuristic = w->mark.n_guessed || w->user.fp == STACK_FP_GUESSED;
	ret->n_frames = w->n_cut_frames;
	/* Some functions keep their return address in a register, and it is in the signal frame. */
	for (uint32_t i = 2; i <= 3 && i <= w->n_cut_frames && !w->is_whole; i++)
		ret->is_interrupted |= (w->cut_frame[w->n_cut_frames - i].flags &
					UNWIND_FRAME_SIGNAL) != 0;
	if (!ret->is_interrupted)
		return;
	const struct unwind_frame *last = &w->cut_frame[w->n_cut_frames - 1];
	ret->pc = last->pc - !(last->flags & UNWIND_FRAME_EXACT);
	ret->sp = last->sp;
	ret->fp = last->fp;
}

void snapshot_join(struct snapshot *s, const struct snapshot_stack *inner,
		   struct snapshot_stack *ret)
{
	struct stacks *stacks = &s->engine->stacks;
	VEC(uint32_t) frames = { 0 };
	uint32_t node = inner->id;
	for (uint32_t i = 0; i + 1 < inner->n_frames && node != STACKS_EMPTY; i++) {
		if (!VEC_PUSH(&frames, stacks->v[node].frame))
			break;
		node = stacks->v[node].parent;
	}
	node = frames.n + 1 == inner->n_frames ? ret->id : STACKS_NONE;
	for (size_t i = frames.n; i-- > 0 && node != STACKS_NONE;)
		node = stacks_add(stacks, node, frames.v[i], false);
	VEC_FREE(&frames);
	if (node == STACKS_NONE) {
		*ret = *inner;
		return;
	}
	ret->id = node;
	ret->is_heuristic |= inner->is_heuristic;
	ret->is_unmapped |= inner->is_unmapped;
	ret->n_frames += inner->n_frames - 1;
}

uint32_t snapshot_no_stack(struct snapshot *s)
{
	return stack_walk_pseudo(&s->engine->walk, s->engine->walk.no_stack);
}

/* ---- entries --------------------------------------------------------------------------------- */

static void push_label(struct snapshot *s, const char *key, uint32_t value)
{
	if (value && s->n_labels < LABELS_PER_SET_MAX)
		s->label[s->n_labels++] = (struct label){
			.key = strtab_add_cstr(&s->engine->strings, key), .value = value,
		};
}

void snapshot_label(struct snapshot *s, const char *key, const char *text)
{
	push_label(s, key, strtab_add_cstr(&s->engine->strings, text));
}

void snapshot_number(struct snapshot *s, const char *key, uint64_t number)
{
	char text[24];
	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	snapshot_label(s, key, text);
}

static void label_fields(struct snapshot *s, const struct snapshot_entry *e)
{
	snapshot_number(s, samplelabels_key(SAMPLELABEL_PID), e->pid);
	push_label(s, samplelabels_key(SAMPLELABEL_PROCESS_NAME), e->process_name);
	snapshot_label(s, "snapshot", quality_names[e->quality]);
	if (e->is_task)
		return;
	snapshot_number(s, samplelabels_key(SAMPLELABEL_TID), e->id);
	push_label(s, samplelabels_key(SAMPLELABEL_THREAD_NAME), e->name);
	push_label(s, "state", e->state);
	if (e->wait_ns != SNAPSHOT_WAIT_UNKNOWN)
		snapshot_number(s, SNAPSHOT_WAIT, e->wait_ns);
}

/* Without memory, the empty set. */
uint32_t snapshot_take_labels(struct snapshot *s)
{
	const struct samplelabels *own = &s->engine->own_labels;
	for (size_t i = 0; i < own->options.n_fixed && s->n_labels < LABELS_PER_SET_MAX; i++)
		s->label[s->n_labels++] = own->fixed[i];
	uint32_t set = labels_add(&s->engine->labels, s->label, s->n_labels, false);
	s->n_labels = 0;
	return set == LABELS_NONE ? 0 : set;
}

bool snapshot_is_short(struct snapshot *s, uint64_t wait_ns)
{
	bool is_short = s->min_wait_ns &&
			(wait_ns == SNAPSHOT_WAIT_UNKNOWN || wait_ns < s->min_wait_ns);
	s->n_short += is_short;
	return is_short;
}

bool snapshot_add(struct snapshot *s, const struct snapshot_entry *e)
{
	struct snapshot_entry fresh = *e;
	size_t bytes = entries_bytes(s);
	label_fields(s, e);
	fresh.labels = snapshot_take_labels(s);
	if (!VEC_PUSH(&s->entries, fresh)) {
		s->n_lost[SNAPSHOT_LOST_LIMIT]++;
		return false;
	}
	budget_charge_always(&s->engine->budget, entries_bytes(s) - bytes);
	s->n_of[e->quality]++;
	return true;
}

void snapshot_count(struct snapshot *s)
{
	struct engine_event *ev = &s->engine->event[0];
	for (size_t i = 0; i < s->entries.n; i++) {
		const struct snapshot_entry *e = &s->entries.v[i];
		uint64_t wait_ns = e->wait_ns == SNAPSHOT_WAIT_UNKNOWN ? 0 : e->wait_ns;
		ev->n_samples++;
		ev->value += wait_ns;
		engine_count(s->engine, 0, e->stack, e->labels, 1, wait_ns);
	}
}
