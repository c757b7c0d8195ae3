/*
 * Mark and copy.  A node's parent has a lower id, so one pass down marks the callers of what is
 * counted, and one pass up copies them, parents first.
 */
#include "session/compact.h"

#include "base/cleanup.h"
#include "session/engine.h"

#include <errno.h>
#include <stdlib.h>

/* Fewer than this are not worth the work. */
#define NODES_MIN 4096u

struct copy {
	struct frames frames;
	struct stacks stacks;
	struct counts *counts;       /* the engine's, then the others */
	size_t n_counts;
};

static struct counts *table(struct engine *g, struct counts *const *more, size_t i)
{
	return i ? more[i - 1] : &g->counts;
}

static void copy_done(struct copy *c)
{
	frames_done(&c->frames);
	stacks_done(&c->stacks);
	for (size_t i = 0; c->counts && i < c->n_counts; i++)
		counts_done(&c->counts[i]);
	free(c->counts);
}

bool compact_is_due(const struct engine *g)
{
	return g->stacks.n > NODES_MIN && g->stacks.n / 2 > g->n_compacted;
}

static int copy_stacks(struct engine *g, struct counts *const *more, struct copy *c, uint32_t *id)
{
	CLEANUP_FREE bool *used = calloc(g->stacks.n, sizeof(*used));
	if (!used)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_counts; i++) {
		const struct counts *t = table(g, more, i);
		for (uint32_t k = 0; k < t->n; k++)
			used[t->v[k].stack] |= t->v[k].n_samples != 0;
	}
	for (uint32_t i = g->stacks.n; i-- > 1;)
		if (used[i])
			used[g->stacks.v[i].parent] = true;
	for (uint32_t i = 1; i < g->stacks.n; i++) {
		const struct stack_node *node = &g->stacks.v[i];
		const struct frame *f = &g->frames.v[node->frame];
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

static int copy_counts(const struct counts *from, const uint32_t *id, struct counts *to)
{
	for (uint32_t k = 0; k < from->n; k++) {
		const struct count *x = &from->v[k];
		if (x->n_samples && !counts_add(to, x->event, id[x->stack], x->labels,
						x->n_samples, x->value, true))
			return -ENOMEM;
	}
	return 0;
}

static int make_copy(struct engine *g, struct counts *const *more, size_t n, struct copy *c)
{
	CLEANUP_FREE uint32_t *id = calloc(g->stacks.n, sizeof(*id));
	*c = (struct copy){ .n_counts = n + 1 };
	c->counts = calloc(c->n_counts, sizeof(*c->counts));
	if (!id || !c->counts || frames_init(&c->frames, &g->budget) < 0 ||
	    stacks_init(&c->stacks, &g->budget) < 0 || !stackwalk_move(&g->walk, &c->frames, NULL))
		return -ENOMEM;
	int code = copy_stacks(g, more, c, id);
	for (size_t i = 0; i < c->n_counts && code == 0; i++) {
		code = counts_init(&c->counts[i], &g->budget);
		if (code == 0)
			code = copy_counts(table(g, more, i), id, &c->counts[i]);
	}
	return code;
}

static void swap_counts(struct counts *a, struct counts *b)
{
	struct counts t = *a;
	*a = *b;
	*b = t;
}

int compact_run(struct engine *g, struct counts *const *more, size_t n)
{
	struct copy c;
	int code = make_copy(g, more, n, &c);
	if (code == 0) {
		struct frames frames = g->frames;
		struct stacks stacks = g->stacks;
		engine_forget_memos(g);
		g->frames = c.frames;
		g->stacks = c.stacks;
		c.frames = frames;
		c.stacks = stacks;
		for (size_t i = 0; i < c.n_counts; i++)
			swap_counts(table(g, more, i), &c.counts[i]);
		stackwalk_move(&g->walk, &g->frames, &g->stacks);
		g->n_compacted = g->stacks.n;
		g->n_compactions++;
	}
	copy_done(&c);
	return code;
}
