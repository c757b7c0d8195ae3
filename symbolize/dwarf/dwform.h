#ifndef CPROF_SYMBOLIZE_DWARF_DWFORM_H
#define CPROF_SYMBOLIZE_DWARF_DWFORM_H

/*
 * Values of attributes by form (DWARF 5, section 7.5.6), and numbers of variable length (section
 * 7.6).
 */

#include "base/bytes.h"

/* The sizes on which a form's size depends. */
struct dwformat {
	uint16_t version;
	uint8_t addr_bytes;      /* 4 or 8 */
	uint8_t off_bytes;       /* 4, or 8 in 64-bit DWARF */
};

struct dwvalue {
	uint16_t form;           /* 0: no such attribute; never DW_FORM_indirect */
	uint64_t u;              /* number, offset, index */
	const char *text;        /* of DW_FORM_string; else NULL */
};

static inline uint64_t dwform_uleb(struct bytes *b)
{
	uint64_t x = 0;
	if (b->p < b->end && !(*b->p & 0x80) && !b->bad)
		return *b->p++;
	/* abbreviation codes of large units */
	if (b->end - b->p > 1 && !(b->p[1] & 0x80) && !b->bad) {
		b->p += 2;
		return (b->p[-2] & 0x7fu) | (uint64_t)b->p[-1] << 7;
	}
	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = bytes_u8(b);
		if (shift < 64)
			x |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return x;
	}
}

static inline int64_t dwform_sleb(struct bytes *b)
{
	uint64_t x = 0;
	if (b->p < b->end && !(*b->p & 0x80) && !b->bad)
		return (int64_t)(*b->p++ ^ 0x40) - 0x40;
	for (unsigned shift = 0;;) {
		uint8_t byte = bytes_u8(b);
		if (shift < 64)
			x |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte & 0x80)
			continue;
		if (byte & 0x40 && shift < 64)
			x |= ~0ull << shift;
		return (int64_t)x;
	}
}

/* A number of 1, 2, 3, 4 or 8 bytes. */
uint64_t dwform_unsigned(struct bytes *b, unsigned n_bytes);

/* The length at the start of units, line programs and tables (section 7.4).  Narrows *b to the
 * counted bytes, sets *ret_off_bytes to 4 or 8, and returns the bytes after them.  Both are bad if
 * there are fewer. */
struct bytes dwform_length(struct bytes *b, uint8_t *ret_off_bytes);

#define DWFORM_VARIABLE (-1)
#define DWFORM_UNKNOWN (-2)

/* The size of a value in bytes, or one of the constants above. */
int dwform_size(unsigned form, const struct dwformat *f);

/* Reads one value; implicit is the value of DW_FORM_implicit_const.  Sets b->bad, also for unknown
 * forms. */
void dwform_read(struct bytes *b, unsigned form, int64_t implicit, const struct dwformat *f,
		 struct dwvalue *ret);

/* Skips one value. */
void dwform_skip(struct bytes *b, unsigned form, const struct dwformat *f);

#endif
