/*
 * A sorted array.  Processes have tens of executable mappings, rarely thousands, and look up far
 * more often than they map, so that binary search with a memory of the last hit beats any tree.
 * munmap produces no record: a stale mapping stays until something is mapped over it.
 */

#include "proc/procs-space.h"

#include "base/search.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The first mapping that ends after pc; s->n if there is none. */
static uint32_t first_ending_after(const struct procs_space *s, uint64_t pc)
{
	return SEARCH_COUNT(s->n, i, s->map[i].end <= pc);
}

const struct procs_map *procs_space_find(struct procs_space *s, uint64_t pc)
{
	if (s->hint < s->n) {
		const struct procs_map *m = &s->map[s->hint];
		if (pc >= m->start && pc < m->end)
			return m;
	}
	uint32_t i = first_ending_after(s, pc);
	if (i == s->n || pc < s->map[i].start)
		return NULL;
	s->hint = i;
	return &s->map[i];
}

/* Do both map an address that they share to the same file offset? */
static bool same_meaning(const struct procs_map *a, const struct procs_map *b)
{
	return a->dso == b->dso && a->pgoff - a->start == b->pgoff - b->start;
}

static bool reserve(struct procs_space *s, uint32_t want)
{
	if (want <= s->cap)
		return true;
	uint32_t cap = s->cap ? s->cap * 2 : 8;
	if (cap < want)
		cap = want;
	struct procs_map *map = reallocarray(s->map, cap, sizeof(*map));
	if (!map)
		return false;
	s->map = map;
	s->cap = cap;
	return true;
}

int procs_space_insert(struct procs_space *s, struct procs_map m)
{
	struct procs_map piece[3];  /* replaces mappings i .. j - 1 */
	uint32_t n_pieces = 0;
	uint32_t i = first_ending_after(s, m.start), j = i;
	bool replaced = false;

	for (; j < s->n && s->map[j].start < m.end; j++)
		replaced |= !same_meaning(&s->map[j], &m);
	if (j == i + 1 && !replaced && s->map[i].start <= m.start && m.end <= s->map[i].end)
		return PROCS_SPACE_SAME;

	struct procs_map before = i < j ? s->map[i] : m, after = i < j ? s->map[j - 1] : m;
	if (i == j || before.start >= m.start) {
		if (i > 0 && s->map[i - 1].end == m.start && same_meaning(&s->map[i - 1], &m))
			before = s->map[--i];
	}
	if (j < s->n && after.end <= m.end && s->map[j].start == m.end &&
	    same_meaning(&s->map[j], &m))
		after = s->map[j++];

	if (before.start < m.start && same_meaning(&before, &m)) {
		m.pgoff -= m.start - before.start;
		m.start = before.start;
	} else if (before.start < m.start) {
		before.end = m.start;
		piece[n_pieces++] = before;
	}
	struct procs_map *self = &piece[n_pieces++];
	if (after.end > m.end && same_meaning(&after, &m)) {
		m.end = after.end;
	} else if (after.end > m.end) {
		after.pgoff += m.end - after.start;
		after.start = m.end;
		piece[n_pieces++] = after;
	}
	*self = m;

	uint32_t n = s->n - (j - i) + n_pieces;
	if (!reserve(s, n))
		return -ENOMEM;
	memmove(&s->map[i + n_pieces], &s->map[j], (s->n - j) * sizeof(*s->map));
	memcpy(&s->map[i], piece, n_pieces * sizeof(*piece));
	s->n = n;
	s->n_changes++;
	return replaced ? PROCS_SPACE_REPLACED : PROCS_SPACE_ADDED;
}

int procs_space_copy(struct procs_space *to, const struct procs_space *from)
{
	if (!reserve(to, from->n))
		return -ENOMEM;
	if (from->n)
		memcpy(to->map, from->map, from->n * sizeof(*from->map));
	to->n = from->n;
	to->hint = from->hint;
	return 0;
}
