#ifndef CPROF_SYMBOLIZE_PACK_DEFLATE_CODE_H
#define CPROF_SYMBOLIZE_PACK_DEFLATE_CODE_H

/*
 * The codes of a deflate stream (RFC 1951, sections 3.2.2 and 3.2.5) as tables to look bits up in.
 *
 * An entry of a table: the length of the code with the extra bits that follow (bits 0 to 7; 0: no
 * such code), the length without them (8 to 11), flags (12 to 14), and from bit 16 on the
 * literal, what the extra bits are added to, or where the second table is.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEFLATE_CODE_LITERAL (1u << 12)
#define DEFLATE_CODE_END (1u << 13)
#define DEFLATE_CODE_SECOND (1u << 14)

#define DEFLATE_LENGTH_BITS 11   /* looked up at once, the rest in a second table */
#define DEFLATE_DISTANCE_BITS 9
#define DEFLATE_N_ENTRIES ((1 << DEFLATE_LENGTH_BITS) + 288 * 16)
#define DEFLATE_N_LENGTHS 288    /* codes that there can be */
#define DEFLATE_N_DISTANCES 32

struct deflate_code {
	unsigned n_bits;         /* of the first table */
	uint32_t second_mask;    /* of an index into one of the others */
	size_t n_entries;
	uint32_t entry[DEFLATE_N_ENTRIES];
};

/* The tables for n codes of those lengths (0: unused), which mean the upper 16 bits of meaning and
 * the extra bits in the lower ones.  False when more codes are claimed than there can be. */
bool deflate_code_build(struct deflate_code *c, unsigned n_bits, const uint8_t *length,
			const uint32_t *meaning, unsigned n);

/* The same for codes of literals and lengths, and for those of distances. */
bool deflate_code_lengths(struct deflate_code *c, const uint8_t *length, unsigned n);
bool deflate_code_distances(struct deflate_code *c, const uint8_t *length, unsigned n);

/* The entry of the first table, of n bits. */
static inline uint32_t deflate_code_first(const struct deflate_code *c, uint64_t bits,
					  unsigned n_bits)
{
	return c->entry[bits & ((1u << n_bits) - 1)];
}

/* What the next bits mean; 0: nothing. */
static inline uint32_t deflate_code_look_up(const struct deflate_code *c, uint64_t bits)
{
	uint32_t e = c->entry[bits & ((1u << c->n_bits) - 1)];
	if (__builtin_expect(e & DEFLATE_CODE_SECOND, 0))
		e = c->entry[(e >> 16) + ((bits >> c->n_bits) & c->second_mask)];
	return e;
}

/* What the entry stands for, and the extra bits behind its code, in `bits`. */
static inline size_t deflate_code_value(uint32_t e, uint64_t bits)
{
	return (e >> 16) + ((bits & ((1ull << (e & 0xff)) - 1)) >> (e >> 8 & 15));
}

#endif
