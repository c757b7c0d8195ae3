/*
 * Entries stay in order of arrival.  An index sorts them by start, then by arrival, and holds at
 * each place the highest end so far.  The entries that cover an address are found by walking back
 * from the last one that starts at or below it, until no earlier one reaches that far.  New entries
 * are sorted separately and merged, since they arrive in small batches and the table may be large.
 */

#include "symbolize/jit/jitcode.h"

#include "base/arena.h"
#include "base/budget.h"
#include "base/cleanup.h"
#include "base/search.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Limit of the walk back.  Nested code is rare, and a hostile file must not cost more. */
#define WALK_MAX 512u

void jitcode_init(struct jitcode *j, struct budget *budget)
{
	*j = (struct jitcode){ .budget = budget };
}

void jitcode_done(struct jitcode *j)
{
	if (j->budget)
		budget_release(j->budget, j->n_charged_bytes);
	arena_free(j->arena);
	free(j->entry);
	free(j->order);
	free(j->reach);
	VEC_FREE(&j->regions);
	*j = (struct jitcode){ 0 };
}

/* ---- memory ---------------------------------------------------------------- */

static bool charge(struct jitcode *j, size_t n_bytes)
{
	if (j->budget && !budget_charge(j->budget, n_bytes)) {
		j->is_full = true;
		return false;
	}
	j->n_charged_bytes += n_bytes;
	return true;
}

static void *allocate(struct jitcode *j, size_t n_bytes)
{
	if (!charge(j, n_bytes))
		return NULL;
	void *p = arena_alloc(&j->arena, n_bytes, 1, 8);
	j->is_full |= !p;
	return p;
}

void *jitcode_keep(struct jitcode *j, const void *bytes, size_t n_bytes)
{
	void *p = allocate(j, n_bytes);
	if (p && n_bytes)
		memcpy(p, bytes, n_bytes);
	return p;
}

const char *jitcode_keep_name(struct jitcode *j, const char *name, size_t n_bytes)
{
	if (n_bytes > JITCODE_NAME_BYTES_MAX)
		n_bytes = JITCODE_NAME_BYTES_MAX;
	char *p = allocate(j, n_bytes + 1);
	if (!p)
		return NULL;
	for (size_t i = 0; i < n_bytes; i++)
		p[i] = (unsigned char)name[i] < ' ' || name[i] == 0x7f ? '?' : name[i];
	p[n_bytes] = '\0';
	return p;
}

/* Not a VEC: the budget is asked first, for all three arrays. */
static bool grow(struct jitcode *j)
{
	if (j->n < j->cap)
		return true;
	uint32_t cap = j->cap ? j->cap * 2 : 64;
	size_t more = (size_t)(cap - j->cap) * (sizeof(*j->entry) + sizeof(*j->order) +
						sizeof(*j->reach));
	if (cap < j->cap || !charge(j, more))
		return false;
	struct jitcode_entry *p = reallocarray(j->entry, cap, sizeof(*p));
	if (!p) {
		j->is_full = true;
		return false;
	}
	j->entry = p;
	j->cap = cap;
	return true;
}

/* ---- finding --------------------------------------------------------------- */

static uint64_t end_of(const struct jitcode_entry *e)
{
	return e->start + e->n_bytes;
}

/* How many ordered entries start at or below pc. */
static uint32_t n_up_to(const struct jitcode *j, uint64_t pc)
{
	return SEARCH_COUNT(j->n_ordered, i, j->entry[j->order[i]].start <= pc);
}

/* Is entry a a better match than entry b for a sample at that time? */
static bool is_better(const struct jitcode *j, uint32_t a, uint32_t b, uint64_t at_ns)
{
	const struct jitcode_entry *x = &j->entry[a], *y = &j->entry[b];
	bool x_before = x->from_ns <= at_ns, y_before = y->from_ns <= at_ns;
	if (x_before != y_before)
		return x_before;
	if (x->from_ns != y->from_ns)
		return x_before ? x->from_ns > y->from_ns : x->from_ns < y->from_ns;
	return x_before ? a > b : a < b;
}

const struct jitcode_entry *jitcode_find(const struct jitcode *j, uint64_t pc, uint64_t at_ns)
{
	uint32_t best = UINT32_MAX, n_walked = 0;
	for (uint32_t i = n_up_to(j, pc); i-- > 0 && j->reach[i] > pc && n_walked < WALK_MAX;
	     n_walked++) {
		uint32_t k = j->order[i];
		if (end_of(&j->entry[k]) > pc &&
		    (best == UINT32_MAX || is_better(j, k, best, at_ns)))
			best = k;
	}
	return best == UINT32_MAX ? NULL : &j->entry[best];
}

const struct jitcode_line *jitcode_find_line(const struct jitcode_entry *e, uint64_t pc)
{
	uint64_t off = pc - e->start;
	uint32_t low = SEARCH_COUNT(e->n_lines, i, e->line[i].off <= off);
	return low ? &e->line[low - 1] : NULL;
}

/* ---- adding ---------------------------------------------------------------- */

/* Does one of the entries [first, end) overlap e? */
static bool overlaps(const struct jitcode *j, const struct jitcode_entry *e, uint32_t first,
		     uint32_t end)
{
	uint32_t n_walked = 0;
	for (uint32_t i = n_up_to(j, end_of(e) - 1);
	     i-- > 0 && j->reach[i] > e->start && n_walked < WALK_MAX; n_walked++) {
		uint32_t k = j->order[i];
		if (k >= first && k < end && end_of(&j->entry[k]) > e->start)
			return true;
	}
	return false;
}

/* Is e the same as the newest entry at its place? */
static bool is_known(const struct jitcode *j, const struct jitcode_entry *e)
{
	const struct jitcode_entry *have = jitcode_find(j, e->start, UINT64_MAX);
	return have && have->start == e->start && have->n_bytes == e->n_bytes &&
	       have->index == e->index && strcmp(have->name, e->name) == 0 &&
	       !overlaps(j, e, (uint32_t)(have - j->entry) + 1, j->n);
}

bool jitcode_add(struct jitcode *j, const struct jitcode_entry *e)
{
	if (e->n_bytes == 0 || e->n_bytes > JITCODE_CODE_BYTES_MAX ||
	    e->start + e->n_bytes < e->start)
		return false;
	if (is_known(j, e))
		return true;
	if (!grow(j))
		return false;
	j->entry[j->n++] = *e;
	return true;
}

static int compare_order(const void *a, const void *b, void *ctx)
{
	const struct jitcode_entry *entry = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (entry[x].start != entry[y].start)
		return entry[x].start < entry[y].start ? -1 : 1;
	return (x > y) - (x < y);
}

static int compare_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static bool merge(struct jitcode *j)
{
	if (j->cap_order < j->cap) {
		uint32_t *order = reallocarray(j->order, j->cap, sizeof(*order));
		if (order)
			j->order = order;
		uint64_t *reach = reallocarray(j->reach, j->cap, sizeof(*reach));
		if (reach)
			j->reach = reach;
		if (!order || !reach)
			return false;
		j->cap_order = j->cap;
	}
	uint32_t n_new = j->n - j->n_ordered;
	CLEANUP_FREE uint32_t *fresh = calloc(n_new, sizeof(*fresh));
	if (!fresh)
		return false;
	for (uint32_t i = 0; i < n_new; i++)
		fresh[i] = j->n_ordered + i;
	qsort_r(fresh, n_new, sizeof(*fresh), compare_order, j->entry);
	uint32_t to = j->n, from = j->n_ordered;
	while (n_new) {
		if (from && compare_order(&j->order[from - 1], &fresh[n_new - 1], j->entry) > 0)
			j->order[--to] = j->order[--from];
		else
			j->order[--to] = fresh[--n_new];
	}
	for (uint32_t i = to; i < j->n; i++) {
		uint64_t end = end_of(&j->entry[j->order[i]]);
		j->reach[i] = i && j->reach[i - 1] > end ? j->reach[i - 1] : end;
	}
	j->n_ordered = j->n;
	return true;
}

long jitcode_settle(struct jitcode *j, uint64_t **ret_replaced)
{
	uint32_t first = j->n_ordered;
	VEC(uint64_t) replaced = { 0 };
	*ret_replaced = NULL;
	if (first == j->n)
		return 0;
	if (!merge(j))
		return -ENOMEM;
	for (uint32_t k = first; k < j->n; k++) {
		if (overlaps(j, &j->entry[k], 0, k) && !VEC_PUSH(&replaced, j->entry[k].from_ns)) {
			VEC_FREE(&replaced);
			return -ENOMEM;
		}
	}
	if (replaced.n)
		qsort(replaced.v, replaced.n, sizeof(*replaced.v), compare_time);
	*ret_replaced = replaced.v;
	return (long)replaced.n;
}

/* ---- regions --------------------------------------------------------------- */

/* The first region that ends at or after pc. */
static size_t first_reaching(const struct jitcode *j, uint64_t pc)
{
	return SEARCH_COUNT(j->regions.n, i, j->regions.v[i].end < pc);
}

int jitcode_add_region(struct jitcode *j, uint64_t start, uint64_t end)
{
	size_t i = first_reaching(j, start), k = i;
	for (; k < j->regions.n && j->regions.v[k].start <= end; k++) {
		start = j->regions.v[k].start < start ? j->regions.v[k].start : start;
		end = j->regions.v[k].end > end ? j->regions.v[k].end : end;
	}
	if (k == i) {
		if (!VEC_RESERVE(&j->regions, 1))
			return -ENOMEM;
		memmove(&j->regions.v[i + 1], &j->regions.v[i],
			(j->regions.n - i) * sizeof(*j->regions.v));
		j->regions.n++;
	} else {
		memmove(&j->regions.v[i + 1], &j->regions.v[k],
			(j->regions.n - k) * sizeof(*j->regions.v));
		j->regions.n -= k - i - 1;
	}
	j->regions.v[i] = (struct jitcode_region){ start, end };
	return 0;
}

const struct jitcode_region *jitcode_find_region(const struct jitcode *j, uint64_t pc)
{
	size_t i = first_reaching(j, pc + 1);
	return i < j->regions.n && j->regions.v[i].start <= pc ? &j->regions.v[i] : NULL;
}
