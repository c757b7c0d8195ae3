/*
 * The addresses of a callchain are laid out root first (stack-chain.h), so that the tree of stacks
 * grows from the root and shares what it can with the thread's previous stack: addresses are
 * compared one by one with the memo, and only those after the first difference are looked up.
 */

#include "stack/stack-walk.h"

#include "agg/frames.h"
#include "agg/stacks.h"
#include "base/budget.h"
#include "base/strtab.h"
#include "proc/procs.h"
#include "source/record.h"
#include "stack/stack-chain.h"
#include "stack/stack-descend.h"
#include "stack/stack-frames.h"
#include "stack/stack-tables.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t pseudo_frame(struct stack_walk *w, struct frames *frames, const char *name)
{
	return frames_add(frames, w->pseudo_dso, strtab_add_cstr(w->strings, name), true);
}

bool stack_walk_move(struct stack_walk *w, struct frames *frames, struct stacks *stacks)
{
	w->truncated = pseudo_frame(w, frames, STACK_WALK_TRUNCATED);
	w->dropped = pseudo_frame(w, frames, STACK_WALK_DROPPED);
	w->shortened = pseudo_frame(w, frames, STACK_WALK_SHORTENED);
	w->lost = pseudo_frame(w, frames, STACK_WALK_LOST);
	w->unknown = pseudo_frame(w, frames, STACK_WALK_UNKNOWN);
	w->guest = pseudo_frame(w, frames, STACK_WALK_GUEST);
	w->no_stack = pseudo_frame(w, frames, STACK_WALK_NO_STACK);
	if (stacks) {
		w->frames = frames;
		w->stacks = stacks;
		stack_tables_clear(w);
	}
	return w->no_stack != FRAMES_NONE;
}

static int add_dso(struct stack_walk *w, enum dso_kind kind, const char *path, uint32_t *ret_id)
{
	struct dso_key key = { .kind = kind };
	struct dso *d = dso_table_find(w->dsos, &key, path);
	if (!d)
		d = dso_table_add(w->dsos, &key, path);
	if (!d)
		return -ENOMEM;
	*ret_id = d->id;
	return 0;
}

int stack_walk_init(struct stack_walk *w, struct budget *budget, struct dso_table *dsos,
		    struct frames *frames, struct stacks *stacks, struct strtab *strings,
		    const struct host *host, uint32_t max_stack, const char *machine,
		    uint32_t max_depth)
{
	*w = (struct stack_walk){
		.budget = budget, .dsos = dsos, .frames = frames, .stacks = stacks,
		.strings = strings, .max_stack = max_stack,
	};
	void *rules = NULL;
	if (!stack_tables_new(w, &rules) ||
	    stack_user_init(&w->user, dsos, host, machine, max_depth, rules) < 0 ||
	    add_dso(w, DSO_KERNEL, "[kernel.kallsyms]", &w->kernel_dso) < 0 ||
	    add_dso(w, DSO_PSEUDO, "", &w->pseudo_dso) < 0) {
		stack_walk_done(w);
		return -ENOMEM;
	}
	stack_walk_move(w, frames, NULL); /* the cache is empty already */
	return 0;
}

void stack_walk_done(struct stack_walk *w)
{
	stack_user_done(&w->user);
	if (w->bytecode)
		stack_bytecode_done(w->bytecode);
	free(w->bytecode);
	stack_tables_free(w);
	*w = (struct stack_walk){ 0 };
}

uint32_t stack_walk_pseudo(struct stack_walk *w, uint32_t frame)
{
	uint32_t node = stacks_add(w->stacks, STACKS_EMPTY, frame, true);
	return node == STACKS_NONE ? STACKS_EMPTY : node;
}

void stack_walk_count_completed(struct stack_walk *w, uint32_t n_beyond, uint32_t n_cut)
{
	w->stats.n_truncated -= n_beyond;
	w->stats.n_cut -= n_cut;
	w->user.n_joined += n_beyond + n_cut;
}

static size_t memo_bytes(uint32_t cap)
{
	return sizeof(struct stack_walk_memo) + cap * sizeof(struct stack_walk_entry);
}

void stack_walk_memo_free(struct stack_walk_memo *m, struct budget *budget)
{
	if (m)
		budget_release(budget, memo_bytes(m->cap));
	free(m);
}

/* Makes room for n entries; keeps the old memo when there is no memory or budget. */
static bool fit_memo(struct stack_walk *w, struct stack_walk_memo **memo, uint32_t n)
{
	if (*memo && (*memo)->cap >= n)
		return true;
	uint32_t cap = n < 28 ? 32 : n + n / 4;
	size_t bytes = memo_bytes(cap), old_bytes = *memo ? memo_bytes((*memo)->cap) : 0;
	if (w->budget->limit_bytes && w->budget->used_bytes + bytes > w->budget->limit_bytes / 2)
		return false;  /* caches are given up first */
	struct stack_walk_memo *m = realloc(*memo, bytes);
	if (!m)
		return false;
	budget_charge_always(w->budget, bytes - old_bytes);
	if (!*memo)
		*m = (struct stack_walk_memo){ 0 };
	m->cap = cap;
	*memo = m;
	return true;
}

/*
 * Looks up the frames of w->pc[from .. n), innermost first; returns where the stack begins: after
 * the innermost address of user code that is in no mapping.  Such an address is not a caller, and
 * frames further out are unreliable.
 */
static uint32_t look_up_frames(struct stack_walk *w, struct procs_space *space, uint32_t from,
			       uint32_t n)
{
	for (uint32_t i = n; i-- > from;) {
		bool is_leaf = i + 1 == n || w->is_kernel[i + 1];
		w->frame[i] = stack_frames_at(w, space, w->pc[i], w->is_kernel[i], !is_leaf);
		if (w->frame[i] == STACK_FRAMES_UNMAPPED && !is_leaf)
			return i + 1;
	}
	return from;
}

/* A sample without callers: usually a single cache look-up. */
static uint32_t walk_single_frame(struct stack_walk *w, struct procs_space *space,
				  const struct record *r)
{
	bool is_kernel = stack_chain_is_kernel(r->misc);
	uint64_t pc = r->sample.ip;
	uint32_t node = STACKS_EMPTY;
	uint32_t frame = stack_frames_at(w, space, pc, is_kernel, false);
	struct stack_walk_alone *alone = &w->alone[frame & (STACK_TABLES_ALONE - 1)];
	if (alone->frame == frame && alone->node != STACKS_EMPTY)
		return alone->node;
	if (frame == STACK_FRAMES_UNMAPPED) {
		w->stats.n_unknown++;
		frame = w->unknown;
	}
	if (!stack_descend(w, 0, frame, &node))
		return stack_descend_shortened(w, node);
	*alone = (struct stack_walk_alone){ frame, node };
	return node;
}

/* Does the user's part of the n frames that were laid out have more than one frame? */
static bool has_user_caller(const struct stack_walk *w, uint32_t n)
{
	return n > 1 && !w->is_kernel[1];
}

uint32_t stack_walk_sample(struct stack_walk *w, struct procs_space *space,
			   struct stack_walk_memo **memo, const struct record *r)
{
	if (!r->sample.n_callchain && !r->sample.n_branches && !w->is_not_unwound)
		return walk_single_frame(w, space, r);
	bool truncated;
	uint32_t n = stack_chain_lay_out(w, r, &truncated), node = STACKS_EMPTY;
	if (truncated || (w->is_not_unwound && !has_user_caller(w, n)))
		node = stack_walk_pseudo(w, w->truncated);

	/* take the nodes of unchanged frames from the memo */
	bool keep = fit_memo(w, memo, n);
	struct stack_walk_memo *m = *memo;
	uint32_t same = 0;
	if (m && m->serial == space->serial && m->start == node)
		while (same < n && same < m->n && m->entry[same].pc == w->pc[same])
			node = m->entry[same++].node;
	if (keep) {
		if (same == 0)
			m->start = node;
		m->serial = space->serial;
		m->n = same;
	}

	uint32_t first = look_up_frames(w, space, same, n);
	if (first > same) {
		w->stats.n_cut++;
		node = STACKS_EMPTY;
		keep = false;
	} else {
		w->stats.n_truncated += truncated;
	}
	for (uint32_t i = first; i < n; i++) {
		uint32_t frame = w->frame[i];
		if (frame == STACK_FRAMES_UNMAPPED) {
			w->stats.n_unknown++;
			frame = w->unknown;
			keep = false;
		}
		if (!stack_descend(w, i, frame, &node))
			return stack_descend_shortened(w, node);
		if (keep) {
			m->entry[i] = (struct stack_walk_entry){ w->pc[i], node };
			m->n = i + 1;
		}
	}
	return node;
}
