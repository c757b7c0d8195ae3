/*
 * Binary search over the whole table of .eh_frame_hdr touches a dozen lines of memory that nothing
 * else uses, and each of them is waited for.  The entries that the first steps look at are always
 * the same few thousand: their starts are kept, in the order of the steps (root, its two halves,
 * their halves), in an array that stays in the processor's cache.  Only the last steps look at the
 * table itself, within four lines.  The array is filled as searches come by, so that nothing is
 * read in advance.
 */

#include "symbolize/cfi-table.h"

#include "symbolize/cfi-section.h"

#include <stdlib.h>
#include <string.h>

#define ENTRY_BYTES 8u

/* What the steps in the array leave to the table, entries. */
#define LEFT 32u

/* A start that was not looked at yet.  If one is that, it is read each time. */
#define UNKNOWN INT32_MIN

void cfi_table_init(struct cfi_table *t, struct cfi_section *hdr, uint64_t off, uint64_t n)
{
	*t = (struct cfi_table){ .hdr = hdr, .off = off, .n = n };
}

void cfi_table_done(struct cfi_table *t)
{
	free(t->kept);
	t->kept = NULL;
}

size_t cfi_table_bytes_held(const struct cfi_table *t)
{
	return t->kept ? t->n_kept * sizeof(*t->kept) : 0;
}

static int32_t table_number(const uint8_t *p)
{
	int32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

/* A start, then where its FDE is; NULL when that cannot be read. */
static const uint8_t *table_entry(const struct cfi_table *t, uint64_t i, uint64_t n)
{
	return cfi_section_get(t->hdr, t->off + i * ENTRY_BYTES, n * ENTRY_BYTES);
}

static bool table_make_kept(struct cfi_table *t)
{
	for (t->n_kept = 1; t->n_kept < t->n / LEFT;)
		t->n_kept *= 2;
	t->kept = calloc(t->n_kept, sizeof(*t->kept));
	for (uint64_t i = 0; t->kept && i < t->n_kept; i++)
		t->kept[i] = UNKNOWN;
	return t->kept;
}

/* What is sought lies in [lo, hi). */
struct range {
	uint64_t lo, hi, node;
};

/* The half of r behind its middle, mid, or before it: without a branch, for none would be
 * predicted. */
static inline struct range table_half(struct range r, uint64_t mid, bool is_behind)
{
	uint64_t mask = -(uint64_t)is_behind;
	return (struct range){ .lo = r.lo + ((mid + 1 - r.lo) & mask),
		.hi = r.hi - ((r.hi - mid) & ~mask), .node = 2 * r.node + is_behind };
}

bool cfi_table_search(struct cfi_table *t, uint64_t vaddr, uint64_t *ret_fde)
{
	int64_t x = (int64_t)(vaddr - t->hdr->vaddr);
	struct range r = { .hi = t->n, .node = 1 };
	const uint8_t *p;
	if (!t->kept && !table_make_kept(t))
		return false;
	while (r.node < t->n_kept && r.lo < r.hi) {
		uint64_t mid = r.lo + (r.hi - r.lo) / 2;
		if (__builtin_expect(t->kept[r.node] == UNKNOWN, 0)) {
			p = table_entry(t, mid, 1);
			if (!p)
				return false;
			t->kept[r.node] = table_number(p);
		}
		r = table_half(r, mid, t->kept[r.node] <= x);
	}
	uint64_t from = r.lo;
	p = table_entry(t, from, r.hi - from);
	if (!p)
		return false;
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
