/*
 * Mark and copy.  A node's parent has a lower id, so one downward pass marks the callers of counted
 * nodes, and one upward pass copies them, parents first.  A run is due when a table has doubled
 * since the last one, so that no more is copied than was added since.
 */

#include "engine/gc-tables.h"

#include "agg/counts.h"
#include "agg/frames.h"
#include "agg/stacks.h"
#include "base/cleanup.h"
#include "engine/allocs.h"
#include "engine/gc-files.h"
#include "engine/gc-ids.h"
#include "engine/targets.h"
#include "engine/threadcache.h"
#include "engine/waits.h"
#include "engine/wakees.h"
#include "proc/procs.h"
#include "stack/stack-walk.h"

#include <errno.h>
#include <stdlib.h>

/* Collecting fewer entries than these is not worth the work. */
#define NODES_MIN 4096u
#define STRINGS_MIN 8192u
#define SETS_MIN 4096u
#define DSOS_MIN 128u
#define PIDS_MIN 1024u

struct copy {
	struct gc_ids ids;
	bool has_stacks;             /* frames and stacks are copied, too */
	struct frames frames;
	struct stacks stacks;
	uint32_t *stack_id;          /* new ids of stacks; NULL: they keep theirs */
	struct counts *counts;       /* the engine's, then the others */
	size_t n_counts;
};

static struct counts *counts_of(struct gc_tables *t, const struct gc_tables_part *part, size_t i)
{
	return i ? part[i - 1].counts : t->counts;
}

static void copy_done(struct copy *c)
{
	frames_done(&c->frames);
	stacks_done(&c->stacks);
	for (size_t i = 0; c->counts && i < c->n_counts; i++)
		counts_done(&c->counts[i]);
	free(c->counts);
	free(c->stack_id);
	gc_ids_done(&c->ids);
}

static bool has_doubled(uint32_t now, uint32_t then, uint32_t min)
{
	return now > min && now / 2 > then;
}

static bool has_names(const struct gc_tables *t, const struct gc_tables_sizes *then)
{
	return has_doubled(t->strings->n, then->strings, STRINGS_MIN) ||
	       has_doubled(t->labels->n, then->sets, SETS_MIN) ||
	       has_doubled(t->dsos->n_known, then->dsos, DSOS_MIN) ||
	       has_doubled(t->targets->pids.n, then->pids, PIDS_MIN);
}

bool gc_tables_names_are_due(const struct gc_tables *t)
{
	return has_names(t, &t->last_names);
}

bool gc_tables_is_due(const struct gc_tables *t)
{
	return has_doubled(t->stacks->n, t->last_run.nodes, NODES_MIN) ||
	       has_names(t, &t->last_run);
}

/* A count stays in its table when all of it was taken away. */
static bool is_in_use(const struct count *x)
{
	return x->n_samples || x->value;
}

static void mark_place(void *ctx, struct waits_place *at)
{
	bool *used = ctx;
	if (waits_is_known(*at))
		used[at->stack] = true;
}

static void mark_stack(void *ctx, uint32_t *stack)
{
	bool *used = ctx;
	used[*stack] = true;
}

static int copy_stacks(struct gc_tables *t, const struct gc_tables_part *part, struct copy *c)
{
	uint32_t *id = c->stack_id;
	CLEANUP_FREE bool *used = calloc(t->stacks->n, sizeof(*used));
	if (!used)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_counts; i++) {
		const struct counts *counts = counts_of(t, part, i);
		for (uint32_t k = 0; k < counts->n; k++)
			used[counts->v[k].stack] |= is_in_use(&counts->v[k]);
	}
	waits_each_place(t->waits, mark_place, used);
	wakees_each_stack(t->wakees, mark_stack, used);
	for (uint32_t i = 0; i < t->allocs->n; i++)
		used[t->allocs->v[i].stack] = true;
	for (uint32_t i = t->stacks->n; i-- > 1;)
		if (used[i])
			used[t->stacks->v[i].parent] = true;
	for (uint32_t i = 1; i < t->stacks->n; i++) {
		const struct stack_node *node = &t->stacks->v[i];
		const struct frame *f = &t->frames->v[node->frame];
		if (!used[i])
			continue;
		uint32_t frame = frames_add(&c->frames, f->dso, f->vaddr, true);
		if (frame == FRAMES_NONE)
			return -ENOMEM;
		id[i] = stacks_add(&c->stacks, id[node->parent], frame, true);
		if (id[i] == STACKS_NONE)
			return -ENOMEM;
	}
	return 0;
}

/* id: new ids of stacks, or NULL if they keep theirs. */
static int copy_counts(const struct counts *from, const uint32_t *id, struct gc_ids *labels,
		       struct counts *to)
{
	for (uint32_t k = 0; k < from->n; k++) {
		const struct count *x = &from->v[k];
		if (!is_in_use(x))
			continue;
		uint32_t stack = id ? id[x->stack] : x->stack;
		uint32_t set = gc_ids_keep_set(labels, x->labels);
		if (labels->is_out ||
		    !counts_add(to, x->event, stack, set, x->n_samples, x->value, true))
			return -ENOMEM;
	}
	return 0;
}

static int make_copy(struct gc_tables *t, const struct gc_tables_part *part, size_t n,
		     struct copy *c)
{
	c->n_counts = n + 1;
	c->counts = calloc(c->n_counts, sizeof(*c->counts));
	if (gc_ids_begin(&c->ids, t) < 0 || !c->counts)
		return -ENOMEM;
	if (c->has_stacks) {
		c->stack_id = calloc(t->stacks->n, sizeof(*c->stack_id));
		if (!c->stack_id || frames_init(&c->frames, t->budget) < 0 ||
		    stacks_init(&c->stacks, t->budget) < 0 ||
		    !stack_walk_move(t->walk, &c->frames, NULL) ||
		    copy_stacks(t, part, c) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < c->n_counts; i++)
		if (counts_init(&c->counts[i], t->budget) < 0 ||
		    copy_counts(counts_of(t, part, i), c->stack_id, &c->ids, &c->counts[i]) < 0)
			return -ENOMEM;
	return 0;
}

static void swap_counts(struct counts *a, struct counts *b)
{
	struct counts old = *a;
	*a = *b;
	*b = old;
}

static void renew_place(void *ctx, struct waits_place *at)
{
	const uint32_t *id = ctx;
	if (waits_is_known(*at))
		at->stack = id[at->stack];
}

static void renew_stack(void *ctx, uint32_t *stack)
{
	const uint32_t *id = ctx;
	*stack = id[*stack];
}

static void swap_stacks(struct gc_tables *t, struct copy *c)
{
	struct frames frames = *t->frames;
	struct stacks stacks = *t->stacks;
	threadcache_drop_all(t->procs);
	waits_each_place(t->waits, renew_place, c->stack_id);
	wakees_each_stack(t->wakees, renew_stack, c->stack_id);
	for (uint32_t i = 0; i < t->allocs->n; i++)
		renew_stack(c->stack_id, &t->allocs->v[i].stack);
	*t->frames = c->frames;
	*t->stacks = c->stacks;
	c->frames = frames;
	c->stacks = stacks;
	stack_walk_move(t->walk, t->frames, t->stacks);
}

/* Gives the engine and the parts the copies of their tables. */
static void swap_all(struct gc_tables *t, const struct gc_tables_part *part, struct copy *c)
{
	if (c->has_stacks)
		swap_stacks(t, c);
	for (size_t i = 0; i < c->n_counts; i++)
		swap_counts(counts_of(t, part, i), &c->counts[i]);
	gc_ids_commit(&c->ids);
	allocs_counts_moved(t->allocs);
	t->n_runs++;
}

static int replace_tables(struct gc_tables *t, const struct gc_tables_part *part, size_t n,
			  bool has_stacks)
{
	struct copy c = { .has_stacks = has_stacks };
	int r = make_copy(t, part, n, &c);
	if (r == 0)
		swap_all(t, part, &c);
	else if (has_stacks)
		/* Pseudo frames point to the old table again. */
		stack_walk_move(t->walk, t->frames, NULL);
	copy_done(&c);
	return r < 0 ? r : gc_files_unused(t, part, n);
}

static int compact(struct gc_tables *t, const struct gc_tables_part *part, size_t n,
		   bool has_stacks)
{
	int r = replace_tables(t, part, n, has_stacks);
	/* Also if memory was short: the next attempt comes when there is twice as much to free. */
	struct gc_tables_sizes now = { t->stacks->n, t->strings->n, t->labels->n, t->dsos->n_known,
				     t->targets->pids.n };
	t->last_names = now;
	if (has_stacks)
		t->last_run = now;
	return r;
}

int gc_tables_run(struct gc_tables *t, const struct gc_tables_part *part, size_t n)
{
	return compact(t, part, n, true);
}

int gc_tables_names(struct gc_tables *t)
{
	return compact(t, NULL, 0, false);
}
