#include "base/hashindex.h"

#include "base/budget.h"

#include <stdlib.h>

#define FIRST_SLOTS 64u
#define SLOTS_MAX (UINT32_C(1) << 31)

void hashindex_done(struct hashindex *x)
{
	if (x->budget)
		budget_release(x->budget, x->n_slots * sizeof(*x->slot));
	free(x->slot);
	*x = (struct hashindex){ .budget = x->budget };
}

/* The old and the new slots exist, and are charged, at the same time. */
bool hashindex_grow(struct hashindex *x, bool always)
{
	if (x->n_slots == SLOTS_MAX)
		return false;
	struct hashindex new = { .budget = x->budget, .n = x->n,
				 .n_slots = x->n_slots ? x->n_slots * 2 : FIRST_SLOTS };
	size_t n_bytes = new.n_slots * sizeof(*new.slot);
	if (x->budget && !budget_charge(x->budget, n_bytes)) {
		if (!always)
			return false;
		if (x->n < x->n_slots - x->n_slots / 8)
			return true;
		budget_charge_always(x->budget, n_bytes);
	}
	new.slot = calloc(new.n_slots, sizeof(*new.slot));
	if (!new.slot) {
		if (x->budget)
			budget_release(x->budget, n_bytes);
		return false;
	}
	uint32_t mask = new.n_slots - 1;
	const uint64_t *end = x->n_slots ? x->slot + x->n_slots : NULL;
	for (const uint64_t *from = x->slot; from != end; from++) {
		if (!*from)
			continue;
		uint32_t to = (uint32_t)(*from >> 32) & mask;
		while (new.slot[to])
			to = (to + 1) & mask;
		new.slot[to] = *from;
	}
	hashindex_done(x);
	*x = new;
	return true;
}

/* Closes the gap, so that no probe ends early at it: an entry moves back into the gap unless its
 * own first slot is after the gap. */
void hashindex_remove(struct hashindex *x, uint64_t hash, uint32_t id)
{
	if (!x->n_slots)
		return;
	uint64_t removed = hash >> 32 << 32 | ((uint64_t)id + 1);
	uint32_t mask = x->n_slots - 1, gap = (uint32_t)(hash >> 32) & mask;
	for (; x->slot[gap] != removed; gap = (gap + 1) & mask)
		if (!x->slot[gap])
			return;
	for (uint32_t i = (gap + 1) & mask; x->slot[i]; i = (i + 1) & mask) {
		uint32_t n_probes = (i - (uint32_t)(x->slot[i] >> 32)) & mask;
		if (n_probes >= ((i - gap) & mask)) {
			x->slot[gap] = x->slot[i];
			gap = i;
		}
	}
	x->slot[gap] = 0;
	x->n--;
}
