/*
 * When memory is short, caches are given up first: from half of the budget on, stacks by CFI have
 * none, and truncated stacks are not kept.
 */

#include "engine/threadcache.h"

#include "base/budget.h"
#include "proc/procs.h"
#include "source/record.h"
#include "stack/stack-walk.h"

#include <stdlib.h>

static bool is_short(const struct budget *b)
{
	return b->limit_bytes && b->used_bytes > b->limit_bytes / 2;
}

/* What is charged beside the struct itself; stack_walk charges its memo. */
static size_t unwind_bytes(const struct threadcache *own)
{
	return stack_user_memos_bytes(&own->unwind) + stack_patchlater_bytes(&own->late);
}

struct threadcache *threadcache_new(struct budget *budget, struct stack_patchlater_pool *pool)
{
	struct threadcache *own = calloc(1, sizeof(*own));
	if (!own)
		return NULL;
	budget_charge_always(budget, sizeof(*own));
	own->budget = budget;
	own->late.pool = pool;
	return own;
}

void threadcache_free(void *user)
{
	struct threadcache *own = user;
	stack_walk_memo_free(own->memo, own->budget);
	budget_release(own->budget, sizeof(*own) + unwind_bytes(own));
	stack_user_memos_done(&own->unwind);
	stack_patchlater_done(&own->late);
	free(own);
}

/* ---- samples ------------------------------------------------------------------------ */

static uint32_t stack_by_cfi(struct threadcache *own, struct stack_walk *w,
			     struct procs_space *space, const struct record *r)
{
	if (!own || is_short(own->budget))
		return stack_walk_sample_cfi(w, space, NULL, r);
	size_t before = unwind_bytes(own);
	uint32_t stack = stack_walk_sample_cfi(w, space, &own->unwind, r);
	budget_release(own->budget, before);
	budget_charge_always(own->budget, unwind_bytes(own));
	return stack;
}

uint32_t threadcache_stack(struct threadcache *own, struct stack_walk *w,
			   struct procs_space *space, const struct record *r)
{
	if (r->sample.user_regs_mask)
		return stack_by_cfi(own, w, space, r);
	if (own)
		return stack_walk_sample(w, space, &own->memo, r);
	struct stack_walk_memo *memo = NULL;
	uint32_t stack = stack_walk_sample(w, space, &memo, r);
	stack_walk_memo_free(memo, w->budget);
	return stack;
}

void threadcache_patch(struct threadcache *own, struct stack_walk *w, struct procs_space *space,
		       const struct stack_patchlater_cut *cut, const struct stack_patchlater_to *to)
{
	const struct unwind_memo *memo = stack_user_memo(&own->unwind);
	struct stack_patchlater_completed done = { 0 };
	size_t before = stack_patchlater_bytes(&own->late);
	if (cut->cfa && !is_short(own->budget))
		done = stack_patchlater_note(&own->late, cut, w->cut_frame, w->n_cut_frames, to);
	else if (own->late.n && w->is_whole && memo->n && memo->is_whole)
		done = stack_patchlater_complete(&own->late, space, memo, cut->time_ns, to);
	stack_walk_count_completed(w, done.n_beyond, done.n_cut);
	budget_release(own->budget, before);
	budget_charge_always(own->budget, stack_patchlater_bytes(&own->late));
}

/* ---- all threads -------------------------------------------------------------------- */

void threadcache_drop_all(struct procs *procs)
{
	for (size_t i = 0; i < procs->n_threads; i++) {
		struct procs_thread *t = procs->thread[i];
		if (t->user)
			threadcache_free(t->user);
		t->user = NULL;
	}
}

void threadcache_each_waiting_set(struct procs *procs, void (*each)(void *ctx, uint32_t *set),
				  void *ctx)
{
	for (size_t i = 0; i < procs->n_threads; i++) {
		struct threadcache *own = procs->thread[i]->user;
		if (!own)
			continue;
		own->labels.is_valid = false;
		for (uint32_t k = 0; k < own->late.n; k++) {
			each(ctx, &own->late.cut[k].labels);
			each(ctx, &own->late.cut[k].plain_labels);
		}
	}
}
