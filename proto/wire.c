/*
 * Nested messages are written in place: begin reserves one byte for the length, and end moves the
 * body if a long one needs more.  This is cheaper than measuring first and needs no second buffer.
 */

#include "proto/wire.h"

#include "base/vec.h"

#include <stdlib.h>

#define TAG_MAX WIRE_VARINT_MAX
#define FIELD_NUMBER_MAX ((1u << 29) - 1)

void wire_done(struct wire *w)
{
	free(w->p);
	*w = (struct wire){ 0 };
}

#define FIRST_BYTES 4096

bool wire_reserve(struct wire *w, size_t n_bytes)
{
	if (w->failed)
		return false;
	if (w->cap - w->n >= n_bytes)
		return true;
	size_t more = w->cap == 0 && n_bytes < FIRST_BYTES ? FIRST_BYTES : n_bytes;
	w->failed = !vec_grow((void **)&w->p, &w->cap, w->n, more, 1);
	return !w->failed;
}

static uint8_t *put_tag(uint8_t *p, unsigned int field, enum wire_type type)
{
	return wire_put_varint(p, (uint64_t)field << 3 | type);
}

void wire_uint_always(struct wire *w, unsigned int field, uint64_t value)
{
	if (!wire_reserve(w, TAG_MAX + WIRE_VARINT_MAX))
		return;
	uint8_t *p = put_tag(w->p + w->n, field, WIRE_VARINT);
	p = wire_put_varint(p, value);
	w->n = (size_t)(p - w->p);
}

void wire_uint(struct wire *w, unsigned int field, uint64_t value)
{
	if (value != 0)
		wire_uint_always(w, field, value);
}

void wire_fixed64(struct wire *w, unsigned int field, uint64_t value)
{
	if (value == 0 || !wire_reserve(w, TAG_MAX + sizeof(value)))
		return;
	uint8_t *p = put_tag(w->p + w->n, field, WIRE_FIXED64);
	for (unsigned int i = 0; i < sizeof(value); i++)
		*p++ = (uint8_t)(value >> 8 * i);
	w->n = (size_t)(p - w->p);
}

void wire_bytes(struct wire *w, unsigned int field, const void *data, size_t n_bytes)
{
	if (!wire_reserve(w, TAG_MAX + WIRE_VARINT_MAX + n_bytes))
		return;
	uint8_t *p = put_tag(w->p + w->n, field, WIRE_BYTES);
	p = wire_put_varint(p, n_bytes);
	if (n_bytes > 0)
		memcpy(p, data, n_bytes);
	w->n = (size_t)(p - w->p) + n_bytes;
}

void wire_packed(struct wire *w, unsigned int field, const uint64_t *values, size_t n)
{
	if (n == 0)
		return;
	size_t mark = wire_begin(w, field);
	if (!wire_reserve(w, n * WIRE_VARINT_MAX))
		return;
	uint8_t *p = w->p + w->n;
	for (size_t i = 0; i < n; i++)
		p = wire_put_varint(p, values[i]);
	w->n = (size_t)(p - w->p);
	wire_end(w, mark);
}

size_t wire_begin(struct wire *w, unsigned int field)
{
	if (!wire_reserve(w, TAG_MAX + 1))
		return 0;
	uint8_t *p = put_tag(w->p + w->n, field, WIRE_BYTES);
	w->n = (size_t)(p - w->p) + 1;
	return w->n;
}

void wire_end(struct wire *w, size_t mark)
{
	if (!wire_reserve(w, WIRE_VARINT_MAX))
		return;
	uint8_t length[WIRE_VARINT_MAX];
	size_t n_body = w->n - mark;
	size_t n_length = (size_t)(wire_put_varint(length, n_body) - length);
	uint8_t *body = w->p + mark;
	if (n_length > 1)
		memmove(body + n_length - 1, body, n_body);
	memcpy(body - 1, length, n_length);
	w->n += n_length - 1;
}

uint64_t wire_get_long_varint(struct bytes *b)
{
	uint64_t value = 0;
	size_t n = b->bad ? 0 : bytes_left(b);
	if (n > WIRE_VARINT_MAX)
		n = WIRE_VARINT_MAX;
	for (unsigned int i = 0; i < n; i++) {
		uint8_t byte = b->p[i];
		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte < 0x80) {
			b->p += i + 1;
			return value;
		}
	}
	b->bad = true;
	return 0;
}

int wire_next_long(struct bytes *b, struct wire_field *ret_field)
{
	if (b->bad)
		return -1;
	if (bytes_left(b) == 0)
		return 0;
	struct wire_field f = { 0 };
	const uint8_t *start = b->p;
	uint64_t tag = wire_get_varint(b);
	if (b->bad || tag >> 3 == 0 || tag >> 3 > FIELD_NUMBER_MAX)
		goto malformed;
	f.number = (unsigned int)(tag >> 3);
	f.type = (enum wire_type)(tag & 7);
	switch (tag & 7) {
	case WIRE_VARINT:
		f.value = wire_get_varint(b);
		break;
	case WIRE_FIXED64:
		f.value = bytes_u64(b);
		break;
	case WIRE_FIXED32:
		f.value = bytes_u32(b);
		break;
	case WIRE_BYTES: {
		uint64_t n = wire_get_varint(b);
		if (b->bad || n > bytes_left(b))
			goto malformed;
		f.body = bytes_of(bytes_take(b, (size_t)n), (size_t)n);
		break;
	}
	default:
		goto malformed;
	}
	if (b->bad)
		goto malformed;
	*ret_field = f;
	return 1;
malformed:
	b->bad = true;
	b->p = start;
	return -1;
}
