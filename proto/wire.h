#ifndef CPROF_PROTO_WIRE_H
#define CPROF_PROTO_WIRE_H

/*
 * The wire format of protocol buffers (protobuf.dev, "Encoding"): a message is a sequence of
 * fields, each a varint tag (field number << 3 | wire type) and a payload.
 *
 * Writing appends to a growing buffer.  If out of memory, `failed` is set and later calls do
 * nothing, so a writer checks only at the end.
 */

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

#define WIRE_VARINT_MAX 10

struct wire {
	uint8_t *p;
	size_t n, cap;
	bool failed;
};

void wire_done(struct wire *w);

/* Makes room for n more bytes; false if out of memory. */
bool wire_reserve(struct wire *w, size_t n_bytes);

/* Writes a varint to p, which has room for WIRE_VARINT_MAX bytes.  Returns the byte after it. */
static inline uint8_t *wire_put_varint(uint8_t *p, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*p++ = (uint8_t)(value | 0x80);
	*p++ = (uint8_t)value;
	return p;
}

/* Fields.  wire_uint omits zero, the default of every number in proto3.  A negative int64 is passed
 * as uint64_t. */
void wire_uint(struct wire *w, unsigned int field, uint64_t value);
void wire_uint_always(struct wire *w, unsigned int field, uint64_t value);
/* Omits zero, too. */
void wire_fixed64(struct wire *w, unsigned int field, uint64_t value);
void wire_bytes(struct wire *w, unsigned int field, const void *data, size_t n_bytes);
/* A packed repeated field; nothing if n is 0. */
void wire_packed(struct wire *w, unsigned int field, const uint64_t *values, size_t n);

/* A message inside a message: its body is written between begin and end.  Calls nest. */
size_t wire_begin(struct wire *w, unsigned int field);
void wire_end(struct wire *w, size_t mark);

/* ---- reading -------------------------------------------------------------- */

struct wire_field {
	unsigned int number;
	enum wire_type type;
	uint64_t value;       /* WIRE_VARINT, WIRE_FIXED64 and WIRE_FIXED32 */
	struct bytes body;    /* WIRE_BYTES: points into the input */
};

/* Reads a varint; sets `bad` and returns 0 if it is truncated or longer than ten bytes. */
uint64_t wire_get_long_varint(struct bytes *b);

static inline uint64_t wire_get_varint(struct bytes *b)
{
	if (b->p < b->end && *b->p < 0x80 && !b->bad)
		return *b->p++;
	return wire_get_long_varint(b);
}

int wire_next_long(struct bytes *b, struct wire_field *ret_field);

/* 1: a field; 0: the end; -1: malformed (truncated, field number 0, a group or an unknown wire
 * type), with b->bad set and b->p at that place.  Nearly all fields of a profile have a tag of one
 * byte, and a value or a length of one or two bytes. */
static inline int wire_next(struct bytes *b, struct wire_field *ret_field)
{
	const uint8_t *p = b->p;
	if (b->bad || bytes_left(b) < 3 || p[0] < 8 || (p[0] & 0x80))
		return wire_next_long(b, ret_field);
	uint32_t value = p[1];
	const uint8_t *after = p + 2;
	if (value & 0x80) {
		if (p[2] & 0x80)
			return wire_next_long(b, ret_field);
		value = (value & 0x7f) | (uint32_t)p[2] << 7;
		after++;
	}
	if ((p[0] & 7) == WIRE_VARINT) {
		*ret_field = (struct wire_field){ .number = p[0] >> 3, .value = value };
		b->p = after;
		return 1;
	}
	if ((p[0] & 7) != WIRE_BYTES || (size_t)(b->end - after) < value)
		return wire_next_long(b, ret_field);
	*ret_field = (struct wire_field){ .number = p[0] >> 3, .type = WIRE_BYTES,
					  .body = bytes_of(after, value) };
	b->p = after + value;
	return 1;
}

#endif
