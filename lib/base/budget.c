#include "base/budget.h"

#include <assert.h>
#include <stdlib.h>

#define FIRST_CAP 256u
#define ITEMS_MAX (UINT32_C(1) << 30)

void budget_init(struct budget *b, size_t limit_bytes)
{
	*b = (struct budget){ .limit_bytes = limit_bytes };
}

void budget_charge_always(struct budget *b, size_t n_bytes)
{
	b->used_bytes += n_bytes;
	if (b->used_bytes > b->peak_bytes)
		b->peak_bytes = b->used_bytes;
}

bool budget_charge(struct budget *b, size_t n_bytes)
{
	if (b->limit_bytes &&
	    (b->used_bytes > b->limit_bytes || n_bytes > b->limit_bytes - b->used_bytes)) {
		b->n_refused++;
		return false;
	}
	budget_charge_always(b, n_bytes);
	return true;
}

void budget_release(struct budget *b, size_t n_bytes)
{
	assert(n_bytes <= b->used_bytes);
	b->used_bytes -= n_bytes;
}

bool budget_grow_array(struct budget *b, void **v, uint32_t *cap, uint32_t n, uint32_t more,
		       size_t item_bytes, bool always)
{
	if (more <= *cap - n)
		return true;
	if (n >= ITEMS_MAX || more >= ITEMS_MAX)
		return false;
	uint32_t want = *cap ? *cap : FIRST_CAP;
	while (want < n + more)
		want *= 2;
	bool is_charged = !b || budget_charge(b, (want - *cap) * item_bytes);
	for (unsigned i = 0; !is_charged && i < 4 && (want - *cap) / 2 >= more; i++) {
		want -= (want - *cap) / 2;
		is_charged = budget_charge(b, (want - *cap) * item_bytes);
	}
	if (!is_charged) {
		if (!always)
			return false;
		want = n + more;
		budget_charge_always(b, (want - *cap) * item_bytes);
	}
	void *p = reallocarray(*v, want, item_bytes);
	if (!p) {
		if (b)
			budget_release(b, (want - *cap) * item_bytes);
		return false;
	}
	*v = p;
	*cap = want;
	return true;
}
