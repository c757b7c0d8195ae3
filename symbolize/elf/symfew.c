/*
 * What decides about an address are the symbols from some start L up to the address, if
 *
 *  - a symbol starts at L,
 *  - all symbols that cover the address start at L or above,
 *  - and no symbol that starts below L ends above it.
 *
 * Then nothing below L covers the address, hides a label above L, or ends between L and the address
 * (symtab.c has these rules).  The first round finds the highest L with the first two properties;
 * the second one takes the symbols and checks the third, which fails only where symbols overlap.
 */

#include "symbolize/elf/symfew.h"

#include "base/search.h"

#include <stdlib.h>

bool symfew_init(struct symfew *f, const uint64_t *vaddr, size_t n)
{
	uint64_t *v = n <= SIZE_MAX / 3 ? calloc(3 * n, sizeof(*v)) : NULL;
	if (!v)
		return false;
	*f = (struct symfew){
		.vaddr = vaddr, .n = n, .from = v, .nearest = v + n, .next = v + 2 * n,
	};
	for (size_t i = 0; i < n; i++)
		f->from[i] = f->next[i] = UINT64_MAX;
	return true;
}

void symfew_done(struct symfew *f)
{
	free(f->from);
	*f = (struct symfew){ 0 };
}

/* The number of the first address that is not below start. */
static size_t first_from(const struct symfew *f, uint64_t start)
{
	return SEARCH_COUNT(f->n, k, f->vaddr[k] < start);
}

static bool is_unsure_about(const struct symfew *f, uint64_t start, uint64_t end)
{
	size_t i = SEARCH_COUNT(f->n, k, f->from[k] <= start);
	return i < f->n && f->from[i] < end;
}

static bool is_taken(const struct symfew *f, uint64_t start)
{
	size_t i = first_from(f, start);
	return i < f->n && f->from[i] <= start;
}

bool symfew_matters(const struct symfew *f, uint64_t start, uint64_t end)
{
	if (f->is_chosen)
		return is_taken(f, start) || is_unsure_about(f, start, end);
	size_t i = first_from(f, start);
	if ((i > 0 && start < f->next[i - 1]) || (i < f->n && start >= f->nearest[i]))
		return true;
	for (; i < f->n && f->vaddr[i] < end; i++)
		if (start < f->from[i])
			return true;
	return false;
}

bool symfew_take(struct symfew *f, uint64_t start, uint64_t end)
{
	if (f->is_chosen) {
		f->is_unsure |= is_unsure_about(f, start, end);
		return is_taken(f, start);
	}
	size_t i = first_from(f, start);
	if (i > 0 && start < f->next[i - 1])
		f->next[i - 1] = start;
	if (i < f->n && start > f->nearest[i])
		f->nearest[i] = start;
	for (; i < f->n && f->vaddr[i] < end; i++)
		if (start < f->from[i])
			f->from[i] = start;
	return false;
}

void symfew_choose(struct symfew *f)
{
	for (size_t i = 0; i < f->n; i++) {
		uint64_t before = i ? f->nearest[i - 1] : 0;
		if (before > f->nearest[i])
			f->nearest[i] = before;
		if (f->nearest[i] < f->from[i])
			f->from[i] = f->nearest[i];
	}
	for (size_t i = f->n; i-- > 1;)
		if (f->next[i] < f->next[i - 1])
			f->next[i - 1] = f->next[i];
	f->is_chosen = true;
}

bool symfew_has(const struct symfew *f, uint64_t vaddr, uint64_t *ret_next)
{
	size_t i = first_from(f, vaddr);
	if (i == f->n || f->vaddr[i] != vaddr)
		return false;
	*ret_next = f->next[i];
	return true;
}
