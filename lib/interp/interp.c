/*
 * The stack is built anew from its outermost frame on, so that stacks with the same outer functions
 * share their nodes.
 */

#include "interp/interp.h"

#include "agg/frames.h"
#include "agg/stacks.h"

#include <stdlib.h>

void interp_frames_done(struct interp_frames *f)
{
	VEC_FREE(&f->frames);
	VEC_FREE(&f->ends);
}

/* A native stack, innermost first. */
struct native {
	uint32_t *frame;
	size_t n, n_loops;
	size_t inner, outer;            /* indices of the first and the last loop */
};

static bool is_loop(const struct interp_tables *t, const struct interp_code *code, uint32_t frame)
{
	const struct frame *f = &t->frames->v[frame];
	return f->dso == code->dso && code->is_loop(code->ctx, f->vaddr);
}

static bool list_native(const struct interp_tables *t, const struct interp_code *code,
			uint32_t node, struct native *ret)
{
	*ret = (struct native){ .frame = NULL };
	for (uint32_t i = node; i != STACKS_EMPTY; i = t->stacks->v[i].parent)
		ret->n++;
	ret->frame = malloc((ret->n + 1) * sizeof(*ret->frame));
	if (!ret->frame)
		return false;
	for (size_t i = 0; i < ret->n; i++, node = t->stacks->v[node].parent) {
		ret->frame[i] = t->stacks->v[node].frame;
		if (!is_loop(t, code, ret->frame[i]))
			continue;
		ret->inner = ret->n_loops++ ? ret->inner : i;
		ret->outer = i;
	}
	return true;
}

/* The stack that is being built, from its outermost frame on. */
struct build {
	const struct interp_tables *t;
	const struct interp_frames *f;
	uint32_t node;                  /* STACKS_NONE: no memory */
};

static void add(struct build *b, uint32_t frame)
{
	if (b->node != STACKS_NONE)
		b->node = stacks_add(b->t->stacks, b->node, frame, false);
}

/* The functions of activation i, the outermost one first. */
static void add_activation(struct build *b, size_t i)
{
	uint32_t first = i ? b->f->ends.v[i - 1] : 0;
	for (uint32_t k = b->f->ends.v[i]; k-- > first;)
		add(b, b->f->frames.v[k]);
}

static bool is_shown(const struct interp_tables *t, const struct interp_code *code,
		     enum interp_mode mode, const struct native *n, size_t i)
{
	const struct frame *f = &t->frames->v[n->frame[i]];
	bool is_own = f->dso == code->dso;
	switch (mode) {
	case INTERP_ONLY:
		return i == 0 && !is_loop(t, code, n->frame[i]);
	case INTERP_AUTO:
		return !is_own || (!code->is_loop(code->ctx, f->vaddr) &&
				   (i < n->inner || i > n->outer ||
				    !code->is_glue(code->ctx, f->vaddr)));
	case INTERP_MIXED:
	case INTERP_NONE:
		break;
	}
	return true;
}

/* is_cut: the outermost frame stands for unknown ones. */
static uint32_t build(const struct interp_tables *t, const struct interp_code *code,
		      enum interp_mode mode, const struct native *n, const struct interp_frames *f,
		      bool is_cut)
{
	struct build b = { .t = t, .f = f, .node = STACKS_EMPTY };
	size_t next = n->n_loops, i = n->n;
	if (is_cut)
		add(&b, n->frame[--i]);
	for (size_t k = f->ends.n; k-- > n->n_loops;)
		add_activation(&b, k);
	while (i-- > 0) {
		if (is_shown(t, code, mode, n, i))
			add(&b, n->frame[i]);
		if (is_loop(t, code, n->frame[i]))
			add_activation(&b, --next);
	}
	return b.node;
}

static enum interp_found place(const struct interp_tables *t, const struct interp_code *code,
			       enum interp_mode mode, const struct interp_frames *f,
			       bool is_whole, const struct native *n, uint32_t *node)
{
	if (!n->n_loops && !f->ends.n)
		return INTERP_NO_LOOP;
	bool fits = is_whole ? n->n_loops == f->ends.n : n->n && n->n_loops <= f->ends.n;
	bool has_rest = f->ends.n && f->ends.v[f->ends.n - 1] != f->frames.n;
	if (!f->is_whole || !fits || has_rest)
		return INTERP_UNKNOWN;
	uint32_t placed = build(t, code, mode, n, f, !is_whole);
	if (placed == STACKS_NONE)
		return INTERP_UNKNOWN;
	*node = placed;
	return INTERP_PLACED;
}

enum interp_found interp_place(const struct interp_tables *t, const struct interp_code *code,
			       enum interp_mode mode, const struct interp_frames *f,
			       bool is_whole, uint32_t *node)
{
	struct native n;
	enum interp_found found = INTERP_UNKNOWN;
	if (list_native(t, code, *node, &n))
		found = place(t, code, mode, f, is_whole, &n, node);
	free(n.frame);
	return found;
}
