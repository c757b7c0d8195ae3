#include "base/budget.h"

#include <assert.h>

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
