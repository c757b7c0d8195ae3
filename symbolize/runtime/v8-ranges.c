#include "symbolize/runtime/v8-ranges.h"

#include "base/search.h"

#include <string.h>

#define RANGES_MAX 65536u

static size_t first_after(const struct v8_ranges *r, uint64_t at)
{
	return SEARCH_COUNT(r->v.n, i, r->v.v[i].end <= at);
}

const struct v8_range *v8_ranges_find(const struct v8_ranges *r, uint64_t at)
{
	size_t i = first_after(r, at);
	return i < r->v.n && r->v.v[i].start <= at ? &r->v.v[i] : NULL;
}

static void remove_some(struct v8_ranges *r, size_t i, size_t n)
{
	memmove(&r->v.v[i], &r->v.v[i + n], (r->v.n - i - n) * sizeof(*r->v.v));
	r->v.n -= n;
}

void v8_ranges_remove(struct v8_ranges *r, const struct v8_range *which)
{
	remove_some(r, (size_t)(which - r->v.v), 1);
}

const struct v8_range *v8_ranges_add(struct v8_ranges *r, struct v8_range new)
{
	size_t i = first_after(r, new.start), n = 0;
	if (!VEC_RESERVE(&r->v, 1))
		return NULL;
	while (i + n < r->v.n && r->v.v[i + n].start < new.end)
		n++;
	remove_some(r, i, n);
	if (r->v.n >= RANGES_MAX)
		return NULL;
	memmove(&r->v.v[i + 1], &r->v.v[i], (r->v.n - i) * sizeof(*r->v.v));
	r->v.v[i] = new;
	r->v.n++;
	return &r->v.v[i];
}
