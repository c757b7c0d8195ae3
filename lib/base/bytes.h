#ifndef CPROF_BASE_BYTES_H
#define CPROF_BASE_BYTES_H

/*
 * A bounded reader of untrusted bytes.  A read beyond the end returns zero, does not advance, and
 * sets `bad`, so a decoder can read all fields and check once at the end.  Integers are in the
 * machine's byte order.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	const uint8_t *p, *end;
	bool bad;
};

static inline struct bytes bytes_of(const void *data, size_t n_bytes)
{
	return (struct bytes){ .p = data, .end = (const uint8_t *)data + n_bytes };
}

static inline size_t bytes_left(const struct bytes *b)
{
	return (size_t)(b->end - b->p);
}

/* Borrows n bytes and advances; NULL, and bad, if fewer are left. */
static inline const void *bytes_take(struct bytes *b, size_t n_bytes)
{
	if (b->bad || bytes_left(b) < n_bytes) {
		b->bad = true;
		return NULL;
	}
	const void *p = b->p;
	b->p += n_bytes;
	return p;
}

#define BYTES_GETTER(name, type)                        \
	static inline type name(struct bytes *b)        \
	{                                               \
		type x = 0;                             \
		const void *p = bytes_take(b, sizeof(x)); \
		if (p)                                  \
			memcpy(&x, p, sizeof(x));       \
		return x;                               \
	}
BYTES_GETTER(bytes_u8, uint8_t)
BYTES_GETTER(bytes_u16, uint16_t)
BYTES_GETTER(bytes_u32, uint32_t)
BYTES_GETTER(bytes_u64, uint64_t)
#undef BYTES_GETTER

/* Borrows a NUL-terminated string and advances past its NUL; "" and bad without a NUL. */
static inline const char *bytes_cstr(struct bytes *b)
{
	const void *nul = b->bad || !bytes_left(b) ? NULL : memchr(b->p, 0, bytes_left(b));
	if (!nul) {
		b->bad = true;
		return "";
	}
	const char *s = (const char *)b->p;
	b->p = (const uint8_t *)nul + 1;
	return s;
}

#endif
