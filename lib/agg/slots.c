#include "agg/slots.h"

#include "base/budget.h"

#include <stdlib.h>

#define IDS_MAX (UINT32_C(1) << 30)

static bool charge(struct budget *b, size_t n_bytes)
{
	return !b || budget_charge(b, n_bytes);
}

static void charge_always(struct budget *b, size_t n_bytes)
{
	if (b)
		budget_charge_always(b, n_bytes);
}

static void release(struct budget *b, size_t n_bytes)
{
	if (b)
		budget_release(b, n_bytes);
}

bool slots_grow_array(struct budget *b, void **v, uint32_t *cap, uint32_t n, uint32_t more,
		      size_t item_bytes, bool always)
{
	if (more <= *cap - n)
		return true;
	if (n >= IDS_MAX || more >= IDS_MAX)
		return false;
	uint32_t want = *cap ? *cap : SLOTS_FIRST_CAP;
	while (want < n + more)
		want *= 2;
	/* Near the limit by less than twice, so that what is left is used. */
	bool is_charged = charge(b, (want - *cap) * item_bytes);
	for (unsigned i = 0; !is_charged && i < 4 && (want - *cap) / 2 >= more; i++) {
		want -= (want - *cap) / 2;
		is_charged = charge(b, (want - *cap) * item_bytes);
	}
	size_t added_bytes = (want - *cap) * item_bytes;
	if (!is_charged) {
		/* What must go in gets room for itself only, not twice the table. */
		if (!always)
			return false;
		want = n + more;
		added_bytes = (size_t)(want - *cap) * item_bytes;
		charge_always(b, added_bytes);
	}
	void *p = reallocarray(*v, want, item_bytes);
	if (!p) {
		release(b, added_bytes);
		return false;
	}
	*v = p;
	*cap = want;
	return true;
}

/* Old and new slots are held, and therefore charged, at the same time. */
bool slots_grow(struct budget *b, uint32_t **slot, uint32_t *n_slots, uint32_t n_placed,
		uint32_t n, slots_hash_fn *hash, const void *table, bool always)
{
	if (n_placed < *n_slots / 2)
		return true;
	uint32_t want = *n_slots ? *n_slots * 2 : SLOTS_FIRST_CAP * 2;
	size_t want_bytes = want * sizeof(**slot);
	if (want > IDS_MAX * 2)
		return false;
	if (!charge(b, want_bytes)) {
		if (!always)
			return false;
		if (n_placed < *n_slots - *n_slots / 4)
			return true;  /* rather fuller than half */
		charge_always(b, want_bytes);
	}
	uint32_t *new = calloc(want, sizeof(*new));
	if (!new) {
		release(b, want_bytes);
		return false;
	}
	uint64_t h;
	for (uint32_t id = 0; id < n; id++)
		if (hash(table, id, &h))
			slots_place(new, want, h, id);
	free(*slot);
	release(b, *n_slots * sizeof(**slot));
	*slot = new;
	*n_slots = want;
	return true;
}
