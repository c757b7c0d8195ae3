/*
 * The blocks are in an array without gaps, found by a hash of process and address.  Each change is
 * counted at once: what is in use is one more event of the engine's counts.
 */

#include "engine/allocs.h"

#include "agg/counts.h"
#include "base/budget.h"
#include "base/hash.h"

#include <stdlib.h>

static uint64_t hash_of(uint32_t pid, uint64_t addr)
{
	return hash_u64(addr ^ (uint64_t)pid << 40);
}

void allocs_init(struct allocs *a, struct budget *budget, struct counts *counts,
		 uint32_t first_event)
{
	*a = (struct allocs){
		.budget = budget, .counts = counts, .held = first_event,
		.gone = first_event + 1, .came = first_event + 2, .went = first_event + 3,
		.aged = first_event + 4,
		.n_max = ALLOCS_BLOCKS_MAX, .random = 0x9e3779b97f4a7c15u,
		.index.budget = budget,
	};
}

void allocs_done(struct allocs *a)
{
	if (a->budget)
		budget_release(a->budget, a->cap * sizeof(*a->v) +
					  a->changed_cap * sizeof(*a->changed));
	free(a->v);
	free(a->changed);
	hashindex_done(&a->index);
	*a = (struct allocs){ 0 };
}

/* ---- the peak ------------------------------------------------------------------------------- */

static bool push_changed(struct allocs *a, uint32_t entry)
{
	if (!budget_grow_array(a->budget, (void **)&a->changed, &a->changed_cap, a->n_changed, 1,
			       sizeof(*a->changed), true))
		return false;
	a->changed[a->n_changed++] = entry;
	return true;
}

/* A block came or went since the peak.  An entry that is not in the list would stay forever. */
static void note_change(struct allocs *a, uint32_t event, const struct allocs_block *b)
{
	struct counts *c = a->counts;
	uint32_t at = counts_find(c, event, b->stack, b->labels);
	if (at == UINT32_MAX || !(c->v[at].n_samples | c->v[at].value)) {
		uint32_t entry = at == UINT32_MAX ? c->n : at;
		if (!push_changed(a, entry)) {
			a->n_unfit++;
			return;
		}
	}
	counts_add(c, event, b->stack, b->labels, b->n, b->value, true);
}

void allocs_restart_peak(struct allocs *a)
{
	for (uint32_t i = 0; i < a->n_changed; i++) {
		struct count *c = &a->counts->v[a->changed[i]];
		c->n_samples = c->value = 0;
	}
	a->n_changed = 0;
	a->peak_bytes = a->n_bytes;
}

void allocs_counts_moved(struct allocs *a)
{
	a->n_changed = 0;
	for (uint32_t i = 0; a->has_peak && i < a->counts->n; i++) {
		struct count *c = &a->counts->v[i];
		if (c->event != a->came && c->event != a->went)
			continue;
		if (!push_changed(a, i)) {
			a->n_unfit++;
			c->n_samples = c->value = 0;
		}
	}
}

/* ---- counts --------------------------------------------------------------------------------- */

static void count_block(struct allocs *a, const struct allocs_block *b)
{
	if (b->is_older)
		return;
	counts_add(a->counts, a->held, b->stack, b->labels, b->n, b->value, true);
	a->n_bytes += b->value;
	if (!a->has_peak)
		return;
	if (a->n_bytes > a->peak_bytes && !a->is_halving)
		allocs_restart_peak(a);
	else
		note_change(a, a->came, b);
}

static void uncount_block(struct allocs *a, const struct allocs_block *b)
{
	if (b->is_older) {
		counts_add(a->counts, a->gone, b->stack, b->labels, b->n, b->value, true);
		return;
	}
	if (!counts_take(a->counts, a->held, b->stack, b->labels, b->n, b->value))
		return;
	a->n_bytes -= b->value;
	if (a->has_peak)
		note_change(a, a->went, b);
}

/* ---- the table ------------------------------------------------------------------------------ */

static uint32_t find(const struct allocs *a, uint32_t pid, uint64_t addr)
{
	return HASHINDEX_FIND(&a->index, hash_of(pid, addr), i,
			      a->v[i].addr == addr && a->v[i].pid == pid);
}

static void take_out(struct allocs *a, uint32_t at)
{
	uint32_t last = a->n - 1;
	hashindex_remove(&a->index, hash_of(a->v[at].pid, a->v[at].addr), at);
	if (at != last) {
		uint64_t hash = hash_of(a->v[last].pid, a->v[last].addr);
		hashindex_remove(&a->index, hash, last);
		a->v[at] = a->v[last];
		hashindex_put(&a->index, hash, at);
	}
	a->n--;
}

static bool is_chosen(struct allocs *a)
{
	a->random = hash_u64(a->random + 1);
	return a->random >> 63;
}

static void halve(struct allocs *a)
{
	a->n_halvings++;
	/* Sums change by chance here, which makes no peak. */
	a->is_halving = true;
	for (uint32_t i = a->n; i-- > 0;) {
		struct allocs_block *b = &a->v[i];
		uncount_block(a, b);
		if (is_chosen(a)) {
			take_out(a, i);
			continue;
		}
		b->n *= 2;
		b->value *= 2;
		if (!b->is_older)
			count_block(a, b);
		else
			counts_take(a->counts, a->gone, b->stack, b->labels, b->n / 2,
				    b->value / 2);
	}
	a->is_halving = false;
}

/* Stands for more if others were dropped; false: it is one of those. */
static bool weigh(struct allocs *a, struct allocs_block *b)
{
	for (unsigned i = 0; i < a->n_halvings; i++) {
		if (is_chosen(a))
			return false;
		b->n *= 2;
		b->value *= 2;
	}
	return true;
}

static bool put(struct allocs *a, const struct allocs_block *b)
{
	if (a->n >= a->n_max)
		halve(a);
	if (!budget_grow_array(a->budget, (void **)&a->v, &a->cap, a->n, 1, sizeof(*a->v), false) ||
	    !hashindex_reserve(&a->index, false)) {
		a->n_unfit++;
		return false;
	}
	a->v[a->n] = *b;
	hashindex_put(&a->index, hash_of(b->pid, b->addr), a->n++);
	return true;
}

/* ---- calls ---------------------------------------------------------------------------------- */

void allocs_add(struct allocs *a, const struct allocs_block *b)
{
	struct allocs_block fresh = *b;
	allocs_remove(a, b->pid, b->addr, NULL);
	if (weigh(a, &fresh) && put(a, &fresh))
		count_block(a, &fresh);
}

bool allocs_remove(struct allocs *a, uint32_t pid, uint64_t addr, struct allocs_block *ret)
{
	uint32_t at = find(a, pid, addr);
	if (at == HASHINDEX_NONE)
		return false;
	if (ret)
		*ret = a->v[at];
	uncount_block(a, &a->v[at]);
	take_out(a, at);
	return true;
}

void allocs_fork(struct allocs *a, uint32_t pid, uint32_t child)
{
	uint32_t n = a->n;
	for (uint32_t i = 0; i < n && i < a->n; i++) {
		struct allocs_block copy = a->v[i];
		copy.pid = child;
		if (a->v[i].pid == pid && find(a, child, copy.addr) == HASHINDEX_NONE &&
		    put(a, &copy))
			count_block(a, &copy);
	}
}

void allocs_forget(struct allocs *a, uint32_t pid)
{
	for (uint32_t i = a->n; i-- > 0;) {
		if (a->v[i].pid != pid)
			continue;
		uncount_block(a, &a->v[i]);
		take_out(a, i);
	}
}

void allocs_restart(struct allocs *a)
{
	a->n_changed = 0;
	a->n_bytes = a->peak_bytes = 0;
	for (uint32_t i = 0; i < a->n; i++) {
		a->v[i].is_older = a->is_delta;
		count_block(a, &a->v[i]);
	}
}

void allocs_add_ages(struct allocs *a, uint64_t now_ns,
		     uint32_t (*label_of)(void *ctx, uint32_t labels, uint64_t age_ns), void *ctx)
{
	for (uint32_t i = 0; i < a->counts->n; i++) {
		struct count *c = &a->counts->v[i];
		if (c->event == a->aged)
			c->n_samples = c->value = 0;
	}
	for (uint32_t i = 0; i < a->n; i++) {
		const struct allocs_block *b = &a->v[i];
		uint64_t age_ns = now_ns > b->time_ns ? now_ns - b->time_ns : 0;
		if (!b->is_older)
			counts_add(a->counts, a->aged, b->stack, label_of(ctx, b->labels, age_ns),
				   b->n, b->value, true);
	}
}
