/*
 * The memo joins a cut stack to the whole one that came before it; this is the same the other way
 * round, for the stacks that come first: a program's first large frame, or a recursion that went
 * further down between two samples than a copy is long.  The same is asked for: in the whole stack
 * the frame at the cut end's CFA called the same function.
 *
 * A sample is counted at once, and moved if its outer part is found: so none of them can be
 * forgotten with its thread.  Its frames are read back from the tree of stacks.
 */

#include "session/latejoin.h"

#include "agg/counts.h"
#include "agg/stacks.h"
#include "session/stackwalk.h"

#include <stdlib.h>
#include <string.h>

void latejoin_done(struct latejoin *l)
{
	free(l->cut);
	*l = (struct latejoin){ 0 };
}

size_t latejoin_bytes(const struct latejoin *l)
{
	return l->cut ? LATEJOIN_CUTS_MAX * sizeof(*l->cut) : 0;
}

void latejoin_note(struct latejoin *l, const struct latejoin_cut *cut)
{
	if (!l->cut)
		l->cut = calloc(LATEJOIN_CUTS_MAX, sizeof(*l->cut));
	if (!l->cut)
		return;
	if (l->n == LATEJOIN_CUTS_MAX)
		memmove(l->cut, l->cut + 1, --l->n * sizeof(*l->cut));
	l->cut[l->n++] = *cut;
}

/* The stack `inner`, which begins with the frame `truncated`, on top of node `outer` instead;
 * STACKS_NONE when it does not begin so, or memory is out. */
static uint32_t put_on(struct stacks *s, uint32_t outer, uint32_t inner, uint32_t truncated)
{
	uint32_t depth = 0, node = inner;
	for (; node != STACKS_EMPTY && s->v[node].parent != STACKS_EMPTY; depth++)
		node = s->v[node].parent;
	if (node == STACKS_EMPTY || s->v[node].frame != truncated || depth == 0)
		return STACKS_NONE;
	uint32_t *frame = calloc(depth, sizeof(*frame));
	if (!frame)
		return STACKS_NONE;
	node = inner;
	for (uint32_t i = depth; i-- > 0; node = s->v[node].parent)
		frame[i] = s->v[node].frame;
	node = outer;
	for (uint32_t i = 0; i < depth && node != STACKS_NONE; i++)
		node = stacks_add(s, node, frame[i], false);
	free(frame);
	return node;
}

static bool complete(const struct latejoin_cut *cut, struct stackwalk *w,
		     struct procs_space *space, const struct unwind_memo *memo,
		     struct counts *counts, latejoin_label *label, void *ctx)
{
	int64_t k = userstack_caller(&w->user, space, memo, cut->pc, cut->cfa);
	if (k < 0 || memo->caller_id[k] == STACKS_NONE)
		return false;
	uint32_t stack = put_on(w->stacks, memo->caller_id[k], cut->stack, w->truncated);
	if (stack == STACKS_NONE ||
	    !counts_take(counts, cut->event, cut->stack, cut->labels, 1, cut->value))
		return false;
	/* the frames k .. 0 of the memo instead of [truncated] */
	struct stackmark mark = cut->mark;
	mark.n_joined = (uint32_t)k + 1;
	for (uint32_t i = 0; i < mark.n_guessed && i < STACKMARK_GUESSED_MAX; i++)
		mark.guessed[i] += (uint32_t)k;
	uint32_t labels = label(ctx, cut->plain_labels, &mark);
	if (!counts_add(counts, cut->event, stack, labels, 1, cut->value, false)) {
		counts_add(counts, cut->event, cut->stack, cut->labels, 1, cut->value, true);
		return false;
	}
	--*(cut->is_beyond ? &w->stats.n_truncated : &w->stats.n_cut);
	w->user.n_joined++;
	return true;
}

uint32_t latejoin_complete(struct latejoin *l, struct stackwalk *w, struct procs_space *space,
			   const struct unwind_memo *memo, uint64_t time_ns,
			   struct counts *counts, latejoin_label *label, void *ctx)
{
	uint32_t n = 0, n_done = 0;
	for (uint32_t i = 0; i < l->n; i++) {
		const struct latejoin_cut *cut = &l->cut[i];
		if (cut->time_ns + LATEJOIN_NS_MAX < time_ns)
			continue;
		if (complete(cut, w, space, memo, counts, label, ctx))
			n_done++;
		else
			l->cut[n++] = *cut;
	}
	l->n = n;
	return n_done;
}
