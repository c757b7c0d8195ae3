/*
 * UNSIGNED5 (compressedStream.hpp, unsigned5.hpp of OpenJDK): up to five bytes, each of which adds
 * its value times 64 to the power of its place.  A byte below 192 is the last one.  Since JDK 20
 * there is no byte 0, and all values are one less than the bytes.
 *
 * A PcDesc belongs to the offset of the code where it applies: a safepoint, whose pc is the return
 * address of a call or the next instruction.  So a pc is described by the first one that is not
 * before it.  Its scope is a place in the stream: the place of the caller's scope (0: there is
 * none), the method and the bytecode.
 *
 * The line table has pairs of steps in bytecode and lines, packed into a byte where they are small
 * and not negative; 255 announces two signed numbers, 0 ends it.
 */

#include "symbolize/runtime/hotspot-scopes.h"

#include "base/search.h"
#include "symbolize/runtime/hotspot-layout.h"

#define LAST_BELOW 192u
#define DIGIT_BITS 6
#define DIGITS_MAX 5u
#define LINES_MAX 65536u

struct stream {
	const uint8_t *p;
	size_t at, n;
	uint32_t base;                  /* of a byte */
	bool is_bad;
};

static uint32_t take(struct stream *s)
{
	uint32_t sum = 0;
	for (unsigned int i = 0; i < DIGITS_MAX; i++) {
		if (s->at >= s->n || s->p[s->at] < s->base) {
			s->is_bad = true;
			return 0;
		}
		uint32_t byte = s->p[s->at++];
		sum += (byte - s->base) << (DIGIT_BITS * i);
		if (byte < LAST_BELOW)
			return sum;
	}
	return sum;
}

static int32_t take_signed(struct stream *s)
{
	uint32_t value = take(s);
	return (int32_t)(value >> 1) ^ -(int32_t)(value & 1);
}

/* ---- scopes ------------------------------------------------------------------------------ */

static int32_t pc_off(const struct hotspot_layout *l, const struct hotspot_debug *d, size_t i)
{
	return (int32_t)hotspot_get(d->pcs + i * l->pc_bytes, l->pc_off);
}

size_t hotspot_scopes_find(const struct hotspot_layout *l, const struct hotspot_debug *d,
			   uint32_t off, struct hotspot_scope ret[HOTSPOT_SCOPES_MAX])
{
	if (l->pc_bytes < 8 || l->pc_off.n_bytes != 4 || l->pc_scope.n_bytes != 4 ||
	    l->pc_off.off + 4u > l->pc_bytes || l->pc_scope.off + 4u > l->pc_bytes)
		return 0;
	size_t n_pcs = d->n_pcs_bytes / l->pc_bytes, n = 0;
	size_t i = SEARCH_COUNT(n_pcs, k, pc_off(l, d, k) < (int64_t)off);
	if (i == n_pcs)
		return 0;
	uint32_t at = (uint32_t)hotspot_get(d->pcs + i * l->pc_bytes, l->pc_scope);
	while (at && at < d->n_scopes_bytes && n < HOTSPOT_SCOPES_MAX) {
		struct stream s = { .p = d->scopes, .at = at, .n = d->n_scopes_bytes,
				    .base = d->has_no_zeros };
		uint32_t sender = take(&s), metadata = take(&s), bci = take(&s);
		if (s.is_bad || !metadata)
			return 0;
		ret[n++] = (struct hotspot_scope){ metadata, (int32_t)bci - 1 };
		/* callers are written first */
		if (sender >= at)
			return sender ? 0 : n;
		at = sender;
	}
	return at ? 0 : n;
}

/* ---- lines ------------------------------------------------------------------------------- */

struct place {
	int32_t bci, line;
};

/* The next pair.  False: the end. */
static bool next_place(struct stream *s, struct place *p)
{
	if (s->at >= s->n || s->p[s->at] == 0)
		return false;
	uint8_t byte = s->p[s->at++];
	int32_t bci = byte >> 3, line = byte & 7;
	if (byte == 255) {
		bci = take_signed(s);
		line = take_signed(s);
	}
	p->bci = (int32_t)((uint32_t)p->bci + (uint32_t)bci);
	p->line = (int32_t)((uint32_t)p->line + (uint32_t)line);
	return !s->is_bad;
}

uint32_t hotspot_scopes_line(const uint8_t *table, size_t n_bytes, bool has_no_zeros, int32_t bci)
{
	struct stream s = { .p = table, .n = n_bytes, .base = has_no_zeros };
	struct place p = { 0, 0 }, best = { -1, 0 };
	for (unsigned int i = 0; i < LINES_MAX && next_place(&s, &p); i++)
		if (p.bci <= bci && p.bci >= best.bci)
			best = p;
	return best.bci >= 0 && best.line > 0 ? (uint32_t)best.line : 0;
}

size_t hotspot_scopes_lines_end(const uint8_t *table, size_t n_bytes, bool has_no_zeros)
{
	struct stream s = { .p = table, .n = n_bytes, .base = has_no_zeros };
	struct place p = { 0, 0 };
	while (next_place(&s, &p))
		continue;
	return s.at < n_bytes && !s.is_bad ? s.at + 1 : n_bytes;
}
