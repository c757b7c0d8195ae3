/* Ruby's instruction sequences: names, files and lines. */

#include "base/utf8.h"
#include "symbolize/runtime/ruby-program.h"
#include "symbolize/runtime/runtime-pages.h"

#include <stdlib.h>
#include <string.h>

/* The flags of an object: its type, of an internal one its kind, and whether its contents are
 * elsewhere (internal/fl_type.h, value_type.h, core/rstring.h, core/rarray.h, internal/imemo.h). */
#define TYPE(flags) ((flags) & 31u)
#define TYPE_STRING 5u
#define TYPE_ARRAY 7u
#define TYPE_INTERNAL 26u
#define KIND(flags) ((flags) >> 12 & 15u)
#define KIND_ISEQ 7u
#define FLAG_OWN (1u << 13)             /* strings: the text is elsewhere; arrays: it is not */
#define EMBEDDED_BYTES(flags) ((flags) >> 14 & 31u)

#define TEXT_BYTES_MAX ((RUNTIME_FUNCTION_TEXT_BYTES - 1) / 3)

struct body { uint8_t bytes[RUBY_BODY_BYTES]; };

static uint64_t word_at(const struct body *b, size_t off)
{
	uint64_t x;
	memcpy(&x, b->bytes + off, sizeof(x));
	return x;
}

static bool read_word(struct runtime_pages *pages, uint64_t at, uint64_t *ret)
{
	return runtime_pages_read(pages, at, ret, sizeof(*ret));
}

static bool read_body(struct runtime_pages *pages, uint64_t at, struct body *ret)
{
	uint64_t flags, body;
	return at % 8 == 0 && read_word(pages, at, &flags) && TYPE(flags) == TYPE_INTERNAL &&
	       KIND(flags) == KIND_ISEQ && read_word(pages, at + RUBY_ISEQ_BODY, &body) &&
	       runtime_pages_read(pages, body, ret->bytes, sizeof(ret->bytes));
}

bool ruby_function_key(const struct ruby_program *p, struct runtime_pages *pages, uint64_t at,
		       struct runtime_function_key *ret)
{
	const struct ruby_layout *l = p->layout;
	struct body b;
	if (!read_body(pages, at, &b))
		return false;
	*ret = (struct runtime_function_key){ {
		word_at(&b, RUBY_BODY_CODE), word_at(&b, 0), word_at(&b, RUBY_BODY_PATH),
		word_at(&b, RUBY_BODY_LABEL), word_at(&b, RUBY_BODY_FIRST_LINE),
		word_at(&b, l->info), word_at(&b, l->info_size), word_at(&b, l->info_index),
	} };
	return true;
}

/* A String's text; false: it is no String. */
static bool read_text(const struct ruby_layout *l, struct runtime_pages *pages, uint64_t at,
		      char ret[RUNTIME_FUNCTION_TEXT_BYTES])
{
	char raw[TEXT_BYTES_MAX];
	uint64_t flags, n, text = at + RUBY_STRING_TEXT;
	if (at % 8 != 0 || !read_word(pages, at, &flags) || TYPE(flags) != TYPE_STRING)
		return false;
	n = EMBEDDED_BYTES(flags);
	if ((l->has_string_length || (flags & FLAG_OWN)) &&
	    !read_word(pages, at + RUBY_STRING_TEXT, &n))
		return false;
	if (l->has_string_length)
		text += 8;
	if ((flags & FLAG_OWN) && !read_word(pages, at + RUBY_STRING_TEXT + 8, &text))
		return false;
	n = n < sizeof(raw) ? n : sizeof(raw);
	if (!runtime_pages_read(pages, text, raw, n))
		return false;
	ret[utf8_clean(ret, raw, strnlen(raw, n))] = '\0';
	return true;
}

/* That of a path, which may be an Array with its absolute form. */
static bool read_path(const struct ruby_layout *l, struct runtime_pages *pages, uint64_t at,
		      char ret[RUNTIME_FUNCTION_TEXT_BYTES])
{
	uint64_t flags, items = at + RUBY_ARRAY_ITEMS;
	if (at % 8 != 0 || !read_word(pages, at, &flags))
		return false;
	if (TYPE(flags) != TYPE_ARRAY)
		return read_text(l, pages, at, ret);
	if (!(flags & FLAG_OWN) && !read_word(pages, at + RUBY_ARRAY_ITEMS + 16, &items))
		return false;
	return read_word(pages, items, &at) && read_text(l, pages, at, ret);
}

/* ---- lines --------------------------------------------------------------------------------- */

/* The number of entries of insns_info up to a position, from a bit vector with ranks: of positions
 * below IMMEDIATE_POSITIONS 9 ranks of 7 bits per word, then blocks of 512 bits (iseq.c:
 * succ_index_lookup). */
#define IMMEDIATE_POSITIONS 54u
#define IMMEDIATE_RANKS 9u
#define BLOCK_POSITIONS 512u
#define BLOCK_BYTES 80u

static bool find_entry(struct runtime_pages *pages, uint64_t index, uint32_t position,
		       uint64_t *ret)
{
	uint64_t word;
	struct { uint32_t rank, unused; uint64_t small, bits[8]; } block;
	_Static_assert(sizeof(block) == BLOCK_BYTES, "as in the program");
	if (position < IMMEDIATE_POSITIONS) {
		if (!read_word(pages, index + 8 * (position / IMMEDIATE_RANKS), &word))
			return false;
		*ret = word >> 7 * (position % IMMEDIATE_RANKS) & 0x7f;
		return true;
	}
	position -= IMMEDIATE_POSITIONS;
	uint64_t at = index + 8 * (IMMEDIATE_POSITIONS / IMMEDIATE_RANKS) +
		      (uint64_t)(position / BLOCK_POSITIONS) * BLOCK_BYTES;
	if (!runtime_pages_read(pages, at, &block, sizeof(block)))
		return false;
	uint32_t k = position % BLOCK_POSITIONS / 64;
	uint64_t small = k ? block.small >> 9 * (k - 1) & 0x1ff : 0;
	*ret = block.rank + small +
	       (uint64_t)__builtin_popcountll(block.bits[k] << (63 - position % 64));
	return true;
}

static bool read_line(const struct ruby_layout *l, struct runtime_pages *pages,
		      const struct body *b, uint32_t position, uint32_t *ret)
{
	uint32_t n = (uint32_t)word_at(b, l->info_size);
	uint64_t entry = 1;
	*ret = 0;
	if (n > 1 && !find_entry(pages, word_at(b, l->info_index), position, &entry))
		return false;
	return !n || !entry || entry > n ||
	       runtime_pages_read(pages, word_at(b, l->info) +
				  (entry - 1) * RUBY_INFO_BYTES, ret, sizeof(*ret));
}

static void read_lines(const struct ruby_layout *l, struct runtime_pages *pages,
		       const struct body *b, uint32_t n, struct runtime_function_lines *ret)
{
	n = n < RUNTIME_FUNCTION_LINES_MAX ? n : RUNTIME_FUNCTION_LINES_MAX;
	ret->line = calloc(n, sizeof(*ret->line));
	ret->bytes = RUBY_WORD_BYTES;
	while (ret->line && ret->n < n && read_line(l, pages, b, ret->n, &ret->line[ret->n]))
		ret->n++;
	uint32_t *all = reallocarray(ret->line, ret->n + 1u, sizeof(*ret->line));
	ret->line = all ? all : ret->line;
}

bool ruby_function_read(const struct ruby_program *p, struct runtime_pages *pages, uint64_t at,
			struct runtime_function *ret)
{
	const struct ruby_layout *l = p->layout;
	struct body b;
	*ret = (struct runtime_function){ .first_line = 0 };
	if (!read_body(pages, at, &b))
		return false;
	uint32_t n = (uint32_t)(word_at(&b, 0) >> 32);
	ret->start = word_at(&b, RUBY_BODY_CODE);
	ret->n_bytes = (uint64_t)n * RUBY_WORD_BYTES;
	ret->first_line = (uint32_t)(word_at(&b, RUBY_BODY_FIRST_LINE) >> l->has_number_objects);
	if (!n || ret->start % 8 != 0 ||
	    !read_text(l, pages, word_at(&b, RUBY_BODY_LABEL), ret->name) ||
	    !read_path(l, pages, word_at(&b, RUBY_BODY_PATH), ret->file))
		return false;
	read_lines(l, pages, &b, n, &ret->lines);
	return true;
}
