/*
 * A binary search over the whole table of .eh_frame_hdr touches a dozen cache lines that nothing
 * else uses, and waits for each.  The first steps always read the same few thousand entries.  Their
 * starts are kept in an array that is a tree: each node is one cache line with all the entries that
 * four steps may read.  Only the last steps read the table itself.  Searches fill the array as
 * they go, so nothing is read in advance.
 */

#include "symbolize/cfi/cfi-table.h"

#include "symbolize/cfi/cfi-section.h"

#include <stdlib.h>
#include <string.h>

#define ENTRY_BYTES 8u

/* Steps within a line of the array.  They may read words 1 to 15 of 16. */
#define LINE_STEPS 4u
#define LINE 16u

/* Three levels take 17 KB.  A level pays off from LEAST entries on. */
#define LEVELS_MAX 3u
#define LEAST 16u

/* Entries that the last steps may read. */
#define AHEAD 64u

/* A start that has not been read yet.  An entry with this value is read each time. */
#define UNKNOWN INT32_MIN

void cfi_table_init(struct cfi_table *t, struct cfi_section *hdr, uint64_t off, uint64_t n)
{
	*t = (struct cfi_table){ .hdr = hdr, .off = off, .n = n };
}

void cfi_table_done(struct cfi_table *t)
{
	free(t->cached);
	t->cached = NULL;
}

/* Words of all lines: 1, 16 and 256 lines on the three levels. */
static size_t table_n_cached(const struct cfi_table *t)
{
	size_t n = 0;
	for (unsigned int k = 0; k < t->n_levels; k++)
		n = n * LINE + 1;
	return n * LINE;
}

size_t cfi_table_bytes_held(const struct cfi_table *t)
{
	return t->cached ? table_n_cached(t) * sizeof(*t->cached) : 0;
}

static int32_t table_number(const uint8_t *p)
{
	int32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

/* n entries from entry i on, each a start and an FDE; NULL: cannot be read. */
static const uint8_t *table_entry(const struct cfi_table *t, uint64_t i, uint64_t n)
{
	return cfi_section_get(t->hdr, t->off + i * ENTRY_BYTES, n * ENTRY_BYTES);
}

static bool table_make_cache(struct cfi_table *t)
{
	t->n_levels = 1;
	for (uint64_t n = t->n / LEAST / LINE; n >= LINE && t->n_levels < LEVELS_MAX; n /= LINE)
		t->n_levels++;
	size_t n = table_n_cached(t);
	t->cached = aligned_alloc(LINE * sizeof(*t->cached), n * sizeof(*t->cached));
	for (size_t i = 0; t->cached && i < n; i++)
		t->cached[i] = UNKNOWN;
	return t->cached;
}

/* The entries that are left: [lo, hi). */
struct range {
	uint64_t lo, hi;
};

/* The half of r after mid, its middle, or before it.  Branchless: a branch would be
 * mispredicted half of the time. */
static inline struct range table_half(struct range r, uint64_t mid, bool is_behind)
{
	uint64_t mask = -(uint64_t)is_behind;
	return (struct range){ .lo = r.lo + ((mid + 1 - r.lo) & mask),
		.hi = r.hi - ((r.hi - mid) & ~mask) };
}

/* The steps within one line of the array; *ret_next is which of its LINE children follows. */
static bool table_by_line(const struct cfi_table *t, int32_t *line, int64_t x, struct range *r,
			  uint64_t *ret_next)
{
	uint64_t word = 1;
	for (unsigned int k = 0; k < LINE_STEPS && r->lo < r->hi; k++) {
		uint64_t mid = r->lo + (r->hi - r->lo) / 2;
		if (__builtin_expect(line[word] == UNKNOWN, 0)) {
			const uint8_t *p = table_entry(t, mid, 1);
			if (!p)
				return false;
			line[word] = table_number(p);
		}
		bool is_behind = line[word] <= x;
		*r = table_half(*r, mid, is_behind);
		word = 2 * word + is_behind;
	}
	*ret_next = word - LINE;
	return true;
}

bool cfi_table_search(struct cfi_table *t, uint64_t vaddr, uint64_t *ret_fde)
{
	int64_t x = (int64_t)(vaddr - t->hdr->vaddr);
	struct range r = { .hi = t->n };
	uint64_t line = 0, next;
	const uint8_t *p;
	if (!t->cached && !table_make_cache(t))
		return false;
	for (unsigned int k = 0; k < t->n_levels && r.lo < r.hi; k++) {
		if (!table_by_line(t, t->cached + line * LINE, x, &r, &next))
			return false;
		line = line * LINE + 1 + next;
	}
	uint64_t from = r.lo;
	p = table_entry(t, from, r.hi - from);
	if (!p)
		return false;
	/* few cache lines, which are fetched in parallel */
	for (uint64_t i = 0; i < r.hi - from && i < AHEAD; i += LINE / 2)
		__builtin_prefetch(p + i * ENTRY_BYTES);
	while (r.lo < r.hi) {
		uint64_t mid = r.lo + (r.hi - r.lo) / 2;
		r = table_half(r, mid, table_number(p + (mid - from) * ENTRY_BYTES) <= x);
	}
	p = r.lo ? table_entry(t, r.lo - 1, 1) : NULL;
	if (!p)
		return false;
	*ret_fde = t->hdr->vaddr + (uint64_t)(int64_t)table_number(p + sizeof(int32_t));
	return true;
}
