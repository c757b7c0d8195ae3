#include "symbolize/pack/deflate-code.h"

#include <string.h>

/*
 * Codes come with their first bit lowest, so all of this is done with reversed codes: the first
 * table has a code at each index that ends with it.
 */

#define CODE_BITS_MAX 15
#define MEANS_NOTHING UINT32_MAX /* of codes that are there, but not to be used */

static unsigned reverse(unsigned code, unsigned n_bits)
{
	unsigned r = 0;
	for (unsigned i = 0; i < n_bits; i++)
		r |= (code >> i & 1) << (n_bits - 1 - i);
	return r;
}

/* The next code of n bits, both reversed. */
static unsigned next_code(unsigned code, unsigned n_bits)
{
	unsigned bit = 1u << (n_bits - 1);
	while (code & bit)
		bit >>= 1;
	return bit ? (code & (bit - 1)) | bit : 0;
}

/* Enters one code, reversed, wherever it stands followed by other bits. */
static bool enter(struct deflate_code *c, unsigned code, unsigned n_bits, uint32_t entry,
		  unsigned n_second_bits)
{
	entry += n_bits | n_bits << 8;
	if (n_bits <= c->n_bits) {
		for (unsigned i = code; i < 1u << c->n_bits; i += 1u << n_bits)
			c->entry[i] = entry;
		return true;
	}
	uint32_t *first = &c->entry[code & ((1u << c->n_bits) - 1)];
	size_t n = (size_t)1 << n_second_bits;
	if (!*first) {
		if (c->n_entries + n > DEFLATE_N_ENTRIES)
			return false;
		memset(c->entry + c->n_entries, 0, n * sizeof(*c->entry));
		*first = DEFLATE_CODE_SECOND | (uint32_t)c->n_entries << 16;
		c->n_entries += n;
	}
	if (!(*first & DEFLATE_CODE_SECOND))
		return false;
	for (size_t i = code >> c->n_bits; i < n; i += (size_t)1 << (n_bits - c->n_bits))
		c->entry[(*first >> 16) + i] = entry;
	return true;
}

bool deflate_code_build(struct deflate_code *c, unsigned n_bits, const uint8_t *length,
			const uint32_t *meaning, unsigned n)
{
	unsigned count[CODE_BITS_MAX + 1] = {0}, next[CODE_BITS_MAX + 2] = {0}, longest = 0;
	for (unsigned i = 0; i < n; i++)
		count[length[i]]++;
	count[0] = 0;
	for (unsigned i = 1; i <= CODE_BITS_MAX; i++) {
		if (count[i])
			longest = i;
		if (next[i] + count[i] > 1u << i)
			return false;
		next[i + 1] = (next[i] + count[i]) << 1;
	}
	for (unsigned i = 1; i <= longest; i++)
		next[i] = reverse(next[i], i);
	c->n_bits = n_bits;
	c->n_entries = (size_t)1 << n_bits;
	unsigned n_second_bits = longest > n_bits ? longest - n_bits : 0;
	c->second_mask = (1u << n_second_bits) - 1;
	memset(c->entry, 0, c->n_entries * sizeof(*c->entry));
	for (unsigned i = 0; i < n; i++) {
		unsigned n_code_bits = length[i], code = next[n_code_bits];
		if (!n_code_bits)
			continue;
		next[n_code_bits] = next_code(code, n_code_bits);
		if (meaning[i] != MEANS_NOTHING &&
		    !enter(c, code, n_code_bits, meaning[i], n_second_bits))
			return false;
	}
	return true;
}

/* What the codes mean (section 3.2.5). */
static void length_meanings(uint32_t meaning[DEFLATE_N_LENGTHS])
{
	for (unsigned i = 0; i < 256; i++)
		meaning[i] = DEFLATE_CODE_LITERAL | i << 16;
	meaning[256] = DEFLATE_CODE_END;
	for (unsigned i = 257, base = 3; i < 285; i++) {
		unsigned n_extra = i < 265 ? 0 : (i - 261) / 4;
		meaning[i] = base << 16 | n_extra;
		base += 1u << n_extra;
	}
	meaning[285] = 258u << 16;
	meaning[286] = meaning[287] = MEANS_NOTHING;
}

static void distance_meanings(uint32_t meaning[DEFLATE_N_DISTANCES])
{
	for (unsigned i = 0, base = 1; i < 30; i++) {
		unsigned n_extra = i < 4 ? 0 : (i - 2) / 2;
		meaning[i] = base << 16 | n_extra;
		base += 1u << n_extra;
	}
	meaning[30] = meaning[31] = MEANS_NOTHING;
}

bool deflate_code_lengths(struct deflate_code *c, const uint8_t *length, unsigned n)
{
	uint32_t meaning[DEFLATE_N_LENGTHS];
	length_meanings(meaning);
	return deflate_code_build(c, DEFLATE_LENGTH_BITS, length, meaning, n);
}

bool deflate_code_distances(struct deflate_code *c, const uint8_t *length, unsigned n)
{
	uint32_t meaning[DEFLATE_N_DISTANCES];
	distance_meanings(meaning);
	return deflate_code_build(c, DEFLATE_DISTANCE_BITS, length, meaning, n);
}
