/*
 * Sources: Objects/codeobject.c (line tables), Objects/lnotab_notes.txt of 3.8 to 3.10,
 * Objects/locations.md of 3.11, and Include/cpython/unicodeobject.h.  The bytes are the program's:
 * a table that ends in the middle of an entry has no more entries.
 */

#include "symbolize/runtime/python-code.h"

#include "base/utf8.h"
#include "symbolize/runtime/runtime-pages.h"

#include <stdlib.h>
#include <string.h>

static uint64_t word_at(const uint8_t *p, uint16_t off)
{
	uint64_t x;
	memcpy(&x, p + off, sizeof(x));
	return x;
}

static uint32_t int_at(const uint8_t *p, uint16_t off)
{
	uint32_t x;
	memcpy(&x, p + off, sizeof(x));
	return x;
}

/* ---- text ---------------------------------------------------------------------------------- */

/* Of struct PyASCIIObject's state. */
#define KIND(state) ((state) >> 2 & 7u) /* bytes of a character */
#define IS_COMPACT(state) ((state) >> 5 & 1u)
#define IS_ASCII(state) ((state) >> 6 & 1u)

#define CHARACTERS_MAX PYTHON_TEXT_BYTES_MAX

/* Appends a character; false: it does not fit. */
static bool put_character(char *buf, size_t n_buf, size_t *n, uint32_t c)
{
	char text[UTF8_BYTES_MAX];
	size_t n_text = utf8_encode(text, c);
	if (n_text >= n_buf - *n)
		return false;
	memcpy(buf + *n, text, n_text);
	*n += n_text;
	return true;
}

bool python_code_text(struct runtime_pages *p, const struct python_layout *l, uint64_t at,
		      char *buf, size_t n_buf)
{
	uint8_t head[PYTHON_TEXT_STATE_OFF + 4], bytes[4 * CHARACTERS_MAX];
	size_t n_text = 0;
	if (!runtime_pages_read(p, at, head, sizeof(head)))
		return false;
	uint32_t state = int_at(head, PYTHON_TEXT_STATE_OFF), kind = KIND(state);
	uint64_t n = word_at(head, PYTHON_SIZE_OFF);
	if (!IS_COMPACT(state) || (kind != 1 && kind != 2 && kind != 4) || n >> 48)
		return false;
	n = n < CHARACTERS_MAX ? n : CHARACTERS_MAX;
	uint64_t first = at + (IS_ASCII(state) ? l->text_bytes : l->wide_text_bytes);
	if (!runtime_pages_read(p, first, bytes, n * kind))
		return false;
	for (uint64_t i = 0; i < n; i++) {
		uint32_t c = 0;
		memcpy(&c, bytes + i * kind, kind);
		if (!put_character(buf, n_buf, &n_text, c))
			break;
	}
	buf[n_text] = '\0';
	return true;
}

/* ---- code objects -------------------------------------------------------------------------- */

static bool read_head(struct runtime_pages *p, const struct python_layout *l, uint64_t type_at,
		      uint64_t at, uint8_t head[UINT8_MAX + 1])
{
	return at % 8 == 0 && l->code_bytes <= UINT8_MAX &&
	       runtime_pages_read(p, at, head, l->code_bytes) &&
	       word_at(head, PYTHON_TYPE_OFF) == type_at;
}

static uint64_t name_of(const struct python_layout *l, const uint8_t *head)
{
	return word_at(head, l->code_qualname != PYTHON_LAYOUT_NONE ? l->code_qualname :
			     l->code_name);
}

bool python_code_key(struct runtime_pages *p, const struct python_layout *l, uint64_t type_at,
		     uint64_t at, struct python_code_key *ret)
{
	uint8_t head[UINT8_MAX + 1];
	if (!read_head(p, l, type_at, at, head))
		return false;
	*ret = (struct python_code_key){
		.name = name_of(l, head), .file = word_at(head, l->code_file),
		.lines = word_at(head, l->code_lines),
		.n_bytes = word_at(head, l->has_object_code ? l->code_start : PYTHON_SIZE_OFF),
		.first_line = int_at(head, l->code_first_line),
	};
	return true;
}

bool python_code_has_lines(struct runtime_pages *p, const struct python_layout *l,
			   uint64_t bytes_type, uint64_t at)
{
	uint64_t lines, type;
	return runtime_pages_read(p, at + l->code_lines, &lines, sizeof(lines)) &&
	       runtime_pages_read(p, lines + PYTHON_TYPE_OFF, &type, sizeof(type)) &&
	       type == bytes_type;
}

/* The contents of a bytes object; *ret_n is their number, at most max. */
static bool find_bytes(struct runtime_pages *p, uint64_t at, uint64_t max, uint64_t *ret_n)
{
	return runtime_pages_read(p, at + PYTHON_SIZE_OFF, ret_n, sizeof(*ret_n)) && *ret_n <= max;
}

static bool find_instructions(struct runtime_pages *p, const struct python_layout *l, uint64_t at,
			      const uint8_t *head, struct python_code *ret)
{
	if (!l->has_object_code) {
		ret->start = at + l->code_start;
		ret->n_bytes = 2 * word_at(head, PYTHON_SIZE_OFF);
		return ret->n_bytes && ret->n_bytes < UINT32_MAX;
	}
	uint64_t object = word_at(head, l->code_start);
	ret->start = object + PYTHON_BYTES_OFF;
	return find_bytes(p, object, UINT32_MAX, &ret->n_bytes) && ret->n_bytes;
}

static void read_lines(struct runtime_pages *p, uint64_t at, struct python_lines *ret)
{
	uint64_t n;
	/* it is empty if all is on the first line */
	if (!find_bytes(p, at, PYTHON_LINES_BYTES_MAX, &n) || !(ret->bytes = malloc(n + 1)))
		return;
	ret->n_bytes = (uint32_t)n;
	if (!runtime_pages_read(p, at + PYTHON_BYTES_OFF, ret->bytes, n))
		python_lines_done(ret);
}

/* CO_GENERATOR, CO_COROUTINE and CO_ASYNC_GENERATOR */
#define GENERATOR_FLAGS 0x2a0u

#define FRAME_WORDS_MAX 65536u

static void set_frame(const struct python_layout *l, const uint8_t *head, struct python_code *ret)
{
	ret->n_frame_bytes = 0;
	ret->is_generator = false;
	if (l->code_frame_words == PYTHON_LAYOUT_NONE)
		return;
	uint64_t n = (uint64_t)int_at(head, l->code_frame_words) + l->frame_words;
	if (l->code_stack_words != PYTHON_LAYOUT_NONE)
		n += int_at(head, l->code_stack_words);
	ret->n_frame_bytes = n < FRAME_WORDS_MAX ? 8 * (uint32_t)n : 0;
	ret->is_generator = int_at(head, l->code_flags) & GENERATOR_FLAGS;
}

bool python_code_read(struct runtime_pages *p, const struct python_layout *l, uint64_t type_at,
		      uint64_t at, struct python_code *ret)
{
	uint8_t head[UINT8_MAX + 1];
	ret->lines = (struct python_lines){ .bytes = NULL };
	if (!read_head(p, l, type_at, at, head) || !find_instructions(p, l, at, head, ret) ||
	    !python_code_text(p, l, name_of(l, head), ret->name, sizeof(ret->name)) ||
	    !python_code_text(p, l, word_at(head, l->code_file), ret->file, sizeof(ret->file)))
		return false;
	ret->lines.first = int_at(head, l->code_first_line);
	set_frame(l, head, ret);
	read_lines(p, word_at(head, l->code_lines), &ret->lines);
	return true;
}

#define NAMES_MAX 128u                  /* more are left out */

bool python_code_uses(struct runtime_pages *p, const struct python_layout *l, uint64_t at,
		      uint64_t other)
{
	uint64_t names, name, n, item[NAMES_MAX];
	if (l->code_names == PYTHON_LAYOUT_NONE ||
	    !runtime_pages_read(p, at + l->code_names, &names, sizeof(names)) ||
	    !runtime_pages_read(p, other + l->code_name, &name, sizeof(name)) ||
	    !runtime_pages_read(p, names + PYTHON_SIZE_OFF, &n, sizeof(n)))
		return false;
	n = n < NAMES_MAX ? n : NAMES_MAX;
	if (!name || !runtime_pages_read(p, names + l->tuple_bytes, item, n * sizeof(*item)))
		return false;
	for (uint64_t i = 0; i < n; i++)
		if (item[i] == name)
			return true;
	return false;
}

void python_lines_done(struct python_lines *l)
{
	free(l->bytes);
	l->bytes = NULL;
	l->n_bytes = 0;
}

/* ---- lines --------------------------------------------------------------------------------- */

static uint32_t as_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint32_t line_by_lnotab(const struct python_lines *l, int64_t off)
{
	int64_t line = l->first, at = 0;
	for (uint32_t i = 0; i + 1 < l->n_bytes; i += 2) {
		at += l->bytes[i];
		if (at > off)
			break;
		line += (int8_t)l->bytes[i + 1];
	}
	return as_line(line);
}

static uint32_t line_by_ranges(const struct python_lines *l, int64_t off)
{
	int64_t line = l->first, at = 0;
	for (uint32_t i = 0; i + 1 < l->n_bytes; i += 2) {
		int8_t more = (int8_t)l->bytes[i + 1];
		line += more == -128 ? 0 : more;
		at += l->bytes[i];
		if (off < at)
			return more == -128 ? 0 : as_line(line);
	}
	return 0;
}

/* Six bits in each byte, the lowest first; bit 6: more follow. */
static uint64_t take_number(const struct python_lines *l, uint32_t *at)
{
	uint64_t x = 0;
	for (unsigned int shift = 0; *at < l->n_bytes; shift += 6) {
		uint8_t b = l->bytes[(*at)++];
		x |= shift < 60 ? (uint64_t)(b & 63) << shift : 0;
		if (!(b & 64))
			break;
	}
	return x;
}

static int64_t take_signed(const struct python_lines *l, uint32_t *at)
{
	uint64_t x = take_number(l, at);
	return x & 1 ? -(int64_t)(x >> 1) : (int64_t)(x >> 1);
}

/* Kinds of entries. */
enum { ONE_LINE_0 = 10, NO_COLUMNS = 13, LONG = 14, NO_LINE = 15 };

static uint32_t line_by_locations(const struct python_lines *l, int64_t off)
{
	int64_t line = l->first, at = 0;
	for (uint32_t i = 0; i < l->n_bytes;) {
		uint8_t head = l->bytes[i++], kind = head >> 3 & 15;
		if (kind == LONG || kind == NO_COLUMNS) {
			line += take_signed(l, &i);
			for (int k = 0; k < 3 && kind == LONG; k++)
				take_number(l, &i);
		} else if (kind != NO_LINE) {
			line += kind >= ONE_LINE_0 ? kind - ONE_LINE_0 : 0;
			i += kind >= ONE_LINE_0 ? 2 : 1;
		}
		if (line < 0 || line > INT32_MAX)
			return 0;
		at += ((head & 7) + 1) * 2;
		if (off < at)
			return kind == NO_LINE ? 0 : as_line(line);
	}
	return 0;
}

uint32_t python_lines_find(enum python_lines_format format, const struct python_lines *l,
			   int64_t off)
{
	if (off < 0)
		return as_line(l->first);
	if (!l->bytes)
		return 0;
	switch (format) {
	case PYTHON_LINES_LNOTAB:
		return line_by_lnotab(l, off);
	case PYTHON_LINES_RANGES:
		return line_by_ranges(l, off);
	case PYTHON_LINES_LOCATIONS:
		return line_by_locations(l, off);
	}
	return 0;
}
