#include "interp/codespans.h"

/* The index of the first one that begins after an address. */
static size_t first_after(const struct codespans *s, uint64_t at)
{
	size_t low = 0, high = s->v.n;
	while (low < high) {
		size_t k = low + (high - low) / 2;
		if (s->v.v[k].start <= at)
			low = k + 1;
		else
			high = k;
	}
	return low;
}

void codespans_put(struct codespans *s, const struct codespan *one)
{
	if (!one->n_bytes || !VEC_RESERVE(&s->v, 1))
		return;
	size_t to = first_after(s, one->start + one->n_bytes - 1), from = to;
	while (from > 0 &&
	       s->v.v[from - 1].start + s->v.v[from - 1].n_bytes > one->start)
		from--;
	memmove(s->v.v + from + 1, s->v.v + to, (s->v.n - to) * sizeof(*s->v.v));
	s->v.n -= to - from;
	s->v.v[from] = *one;
	s->v.n++;
}

uint32_t codespans_find(const struct codespans *s, uint64_t at)
{
	size_t i = first_after(s, at);
	return i ? s->v.v[i - 1].id : CODESPANS_NONE;
}
