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

/* The first mapping that ends after pc; s->map.n if there is none. */
static uint32_t first_ending_after(const struct procs_space *s, uint64_t pc)
{
	return SEARCH_COUNT(s->map.n, i, s->map.v[i].end <= pc);
}

const struct procs_map *procs_space_find(struct procs_space *s, uint64_t pc)
{
	if (s->hint < s->map.n) {
		const struct procs_map *m = &s->map.v[s->hint];
		if (pc >= m->start && pc < m->end)
			return m;
	}
	uint32_t i = first_ending_after(s, pc);
	if (i == s->map.n || pc < s->map.v[i].start)
		return NULL;
	s->hint = i;
	return &s->map.v[i];
}

/* Do both map an address that they share to the same file offset? */
static bool same_meaning(const struct procs_map *a, const struct procs_map *b)
{
	return a->dso == b->dso && a->pgoff - a->start == b->pgoff - b->start;
}

int procs_space_insert(struct procs_space *s, struct procs_map m)
{
	struct procs_map piece[3];  /* replaces mappings i .. j - 1 */
	uint32_t n_pieces = 0;
	uint32_t i = first_ending_after(s, m.start), j = i;
	bool replaced = false;

	for (; j < s->map.n && s->map.v[j].start < m.end; j++)
		replaced |= !same_meaning(&s->map.v[j], &m);
	if (j == i + 1 && !replaced && s->map.v[i].start <= m.start && m.end <= s->map.v[i].end)
		return PROCS_SPACE_SAME;

	struct procs_map before = i < j ? s->map.v[i] : m, after = i < j ? s->map.v[j - 1] : m;
	if (i == j || before.start >= m.start) {
		if (i > 0 && s->map.v[i - 1].end == m.start && same_meaning(&s->map.v[i - 1], &m))
			before = s->map.v[--i];
	}
	if (j < s->map.n && after.end <= m.end && s->map.v[j].start == m.end &&
	    same_meaning(&s->map.v[j], &m))
		after = s->map.v[j++];

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

	size_t n = s->map.n - (j - i) + n_pieces;
	if (n > s->map.n && !VEC_RESERVE(&s->map, n - s->map.n))
		return -ENOMEM;
	memmove(&s->map.v[i + n_pieces], &s->map.v[j], (s->map.n - j) * sizeof(*s->map.v));
	memcpy(&s->map.v[i], piece, n_pieces * sizeof(*piece));
	s->map.n = n;
	s->n_changes++;
	return replaced ? PROCS_SPACE_REPLACED : PROCS_SPACE_ADDED;
}

int procs_space_copy(struct procs_space *to, const struct procs_space *from)
{
	if (!VEC_EXTEND(&to->map, from->map.n))
		return -ENOMEM;
	if (from->map.n)
		memcpy(to->map.v, from->map.v, from->map.n * sizeof(*from->map.v));
	to->hint = from->hint;
	return 0;
}
