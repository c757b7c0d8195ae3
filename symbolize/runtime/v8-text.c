/*
 * Kinds of strings (v8's instance-type.h and string.tq): the characters follow the head (SEQ), are
 * outside of the heap (EXTERNAL), are those of another string (THIN, SLICED), or of two (CONS).
 * Names are small, and the number of pieces that are looked at is bounded.
 */

#include "symbolize/runtime/v8-text.h"

#include "base/utf8.h"
#include "symbolize/runtime/runtime-pages.h"
#include "symbolize/runtime/v8-layout.h"

#include <string.h>

#define STRING_TYPES 128                /* all types below are strings */
enum { SEQ, CONS, EXTERNAL, SLICED, THIN = 5 };
#define KIND(type) ((type) & 7)
#define IS_ONE_BYTE(type) ((type) >> 3 & 1)

/* The first and the second field after a string's length. */
#define FIRST_OFF 16
#define SECOND_OFF 24

#define ELEMENTS_MAX 65536u
#define PIECES_MAX 32u
#define CHARACTERS_MAX 512u

uint64_t v8_word(const struct v8_heap *h, uint64_t object, int32_t off)
{
	uint64_t word;
	return off >= 0 && v8_is_object(object) &&
	       runtime_pages_read(h->pages, object - 1 + (uint64_t)off, &word, sizeof(word)) ?
		word : 0;
}

uint32_t v8_int(const struct v8_heap *h, uint64_t object, int32_t off)
{
	uint32_t value;
	return off >= 0 && v8_is_object(object) &&
	       runtime_pages_read(h->pages, object - 1 + (uint64_t)off, &value, sizeof(value)) ?
		value : 0;
}

uint64_t v8_element(const struct v8_heap *h, uint64_t array, uint32_t i)
{
	uint64_t n = v8_word(h, array, V8_LENGTH_OFF) >> 32;
	return i < n && i < ELEMENTS_MAX ? v8_word(h, array, V8_FIRST_OFF + 8 * (int32_t)i) : 0;
}

int32_t v8_type(const struct v8_heap *h, uint64_t object)
{
	uint64_t map = v8_word(h, object, 0);
	uint16_t type;
	return v8_is_object(map) &&
	       runtime_pages_read(h->pages, map - 1 + (uint64_t)h->layout->map_type, &type,
				  sizeof(type)) ? type : -1;
}

/* A part of a string: n characters from first on. */
struct part {
	uint64_t string;
	uint32_t first, n;
};

static bool is_string(int32_t type)
{
	return type >= 0 && type < STRING_TYPES;
}

static uint32_t length_of(const struct v8_heap *h, uint64_t string)
{
	return v8_int(h, string, h->layout->string_length);
}

/* The characters of a part that is in one piece. */
static bool find_chars(const struct v8_heap *h, struct part p, int32_t type, struct v8_chars *ret)
{
	*ret = (struct v8_chars){ .n = p.n, .is_wide = !IS_ONE_BYTE(type) };
	if (KIND(type) == SEQ)
		ret->at = p.string - 1 + (uint64_t)h->layout->string_chars;
	else if (KIND(type) == EXTERNAL)
		ret->at = v8_word(h, p.string, SECOND_OFF);
	ret->at += ret->at ? (uint64_t)p.first << ret->is_wide : 0;
	return ret->at;
}

/* Replaces a thin or sliced string, or one that was joined and is flat now, by the one that it
 * refers to.  False: it has more than one part, or is in one piece. */
static bool follow(const struct v8_heap *h, int32_t type, struct part *p)
{
	uint64_t first = v8_word(h, p->string, FIRST_OFF), off;
	switch (KIND(type)) {
	case THIN:
		break;
	case SLICED:
		off = v8_word(h, p->string, SECOND_OFF);
		if (!v8_is_integer(off))
			return false;
		p->first += (uint32_t)(off >> 32);
		break;
	case CONS:
		if (length_of(h, v8_word(h, p->string, SECOND_OFF)))
			return false;
		break;
	default:
		return false;
	}
	p->string = first;
	return true;
}

bool v8_chars_find(const struct v8_heap *h, uint64_t string, struct v8_chars *ret)
{
	struct part p = { .string = string, .n = length_of(h, string) };
	for (unsigned int i = 0; i < PIECES_MAX; i++) {
		int32_t type = v8_type(h, p.string);
		if (!is_string(type))
			return false;
		if (!follow(h, type, &p))
			return find_chars(h, p, type, ret);
	}
	return false;
}

/* ---- text -------------------------------------------------------------------------------- */

/* A low half follows; otherwise it stays alone, and becomes '?'. */
static uint32_t joined(uint32_t c, uint32_t next)
{
	return c >> 10 == 0x36 && next >> 10 == 0x37 ?
		0x10000 + ((c & 0x3ff) << 10) + (next & 0x3ff) : c;
}

/* What was written. */
struct output {
	char *buf;
	size_t n, n_max;
	bool is_full;
};

/* Appends characters; false: they cannot be read. */
static bool put_chars(const struct v8_heap *h, const struct v8_chars *c, struct output *o)
{
	uint8_t bytes[2 * CHARACTERS_MAX];
	uint16_t wide[CHARACTERS_MAX + 1];
	char text[UTF8_BYTES_MAX];
	size_t n = c->n < CHARACTERS_MAX ? c->n : CHARACTERS_MAX;
	if (n && !runtime_pages_read(h->pages, c->at, bytes, n << c->is_wide))
		return false;
	for (size_t i = 0; i < n; i++) {
		wide[i] = bytes[i];
		if (c->is_wide)
			memcpy(&wide[i], bytes + 2 * i, 2);
	}
	wide[n] = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t one = joined(wide[i], wide[i + 1]);
		size_t n_one = utf8_encode(text, one);
		o->is_full = n_one >= o->n_max - o->n;
		if (o->is_full)
			break;
		memcpy(o->buf + o->n, text, n_one);
		o->n += n_one;
		i += one > 0xffff;
	}
	return true;
}

/* The parts that are still to be written: the last one comes next. */
struct parts {
	struct part v[PIECES_MAX];
	size_t n;
};

static void push(struct parts *p, struct part part)
{
	if (part.n && p->n < PIECES_MAX)
		p->v[p->n++] = part;
}

/* Replaces the last part, of two strings, by its parts of each. */
static void split(const struct v8_heap *h, struct parts *p)
{
	struct part old = p->v[--p->n];
	uint64_t first = v8_word(h, old.string, FIRST_OFF);
	uint32_t n_first = length_of(h, first);
	uint32_t skip = old.first < n_first ? old.first : n_first;
	uint32_t n_here = n_first - skip < old.n ? n_first - skip : old.n;
	push(p, (struct part){ v8_word(h, old.string, SECOND_OFF),
			       old.first - skip, old.n - n_here });
	push(p, (struct part){ first, skip, n_here });
}

bool v8_text(const struct v8_heap *h, uint64_t string, char *buf, size_t n_buf)
{
	struct parts p = { .n = 0 };
	struct output o = { .buf = buf, .n_max = n_buf };
	struct v8_chars c;
	*buf = '\0';
	if (!is_string(v8_type(h, string)))
		return false;
	push(&p, (struct part){ string, 0, length_of(h, string) });
	for (unsigned int i = 0; p.n && i < 2 * PIECES_MAX && !o.is_full; i++) {
		struct part *last = &p.v[p.n - 1];
		int32_t type = v8_type(h, last->string);
		if (!is_string(type))
			return false;
		if (follow(h, type, last))
			continue;
		if (KIND(type) == CONS) {
			split(h, &p);
			continue;
		}
		if (!find_chars(h, *last, type, &c) || !put_chars(h, &c, &o))
			return false;
		p.n--;
	}
	buf[o.n] = '\0';
	return true;
}
