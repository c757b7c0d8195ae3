/*
 * A source is read once, in pieces, for where its lines start; its text is not kept.  Positions are
 * found by dividing these in halves.
 */

#include "symbolize/runtime/v8-script.h"

#include "base/search.h"
#include "symbolize/runtime/runtime-memory.h"
#include "symbolize/runtime/runtime-pages.h"
#include "symbolize/runtime/v8-layout.h"
#include "symbolize/runtime/v8-text.h"

#include <stdlib.h>
#include <string.h>

#define CHARACTERS_MAX (16u << 20)
#define PIECE_BYTES 16384u
#define TABLES_BYTES_MAX (16u << 20)
#define SCRIPTS_MAX 2048u

/* Fields without a constant: the same since V8 10.2. */
#define LINE_OFF 24

static void script_free(struct v8_scripts *s, struct v8_script *x)
{
	s->n_bytes -= x->n * sizeof(*x->start);
	free(x->start);
}

void v8_scripts_done(struct v8_scripts *s)
{
	for (size_t i = 0; i < s->scripts.n; i++)
		script_free(s, &s->scripts.v[i]);
	VEC_FREE(&s->scripts);
}

struct v8_script_key v8_script_key(const struct v8_heap *h, uint64_t script)
{
	uint64_t source = v8_word(h, script, h->layout->script_source);
	uint64_t line = v8_word(h, script, LINE_OFF);
	return (struct v8_script_key){
		.at = script, .source = source,
		.n_chars = v8_int(h, source, h->layout->string_length),
		.first_line = v8_is_integer(line) ? (uint32_t)(line >> 32) : 0,
	};
}

/* ---- sources ----------------------------------------------------------------------------- */

struct scan {
	VEC(uint32_t) start;
	uint32_t n_done;                /* characters */
	bool is_return;                 /* the last one was a carriage return */
};

/* A line ends with a line feed, a carriage return, both, U+2028 or U+2029. */
static bool scan_char(struct scan *s, uint32_t c)
{
	bool fits = true;
	if (s->is_return && c != '\n')
		fits = VEC_PUSH(&s->start, s->n_done);
	s->is_return = c == '\r';
	s->n_done++;
	if (c == '\n' || c == 0x2028 || c == 0x2029)
		fits &= VEC_PUSH(&s->start, s->n_done);
	return fits;
}

static bool scan_piece(struct scan *s, const uint8_t *bytes, size_t n, bool is_wide)
{
	bool fits = true;
	for (size_t i = 0; i < n && fits; i++) {
		uint16_t c = bytes[i];
		if (is_wide)
			memcpy(&c, bytes + 2 * i, 2);
		fits = scan_char(s, c);
	}
	return fits;
}

static bool scan_source(const struct v8_heap *h, const struct v8_chars *c, struct scan *s)
{
	uint8_t bytes[PIECE_BYTES];
	for (uint32_t done = 0, n; done < c->n; done += n) {
		n = PIECE_BYTES >> c->is_wide;
		n = n < c->n - done ? n : c->n - done;
		uint64_t at = c->at + ((uint64_t)done << c->is_wide);
		if (!runtime_memory_read(h->pages->memory, at, bytes, (size_t)n << c->is_wide) ||
		    !scan_piece(s, bytes, n, c->is_wide))
			return false;
	}
	return true;
}

static bool is_same(const struct v8_script_key *a, const struct v8_script_key *b)
{
	return a->at == b->at && a->source == b->source && a->n_chars == b->n_chars;
}

static struct v8_script *find(struct v8_scripts *s, const struct v8_script_key *key)
{
	for (size_t i = 0; i < s->scripts.n; i++)
		if (is_same(&s->scripts.v[i].key, key))
			return &s->scripts.v[i];
	return NULL;
}

/* The one that was not used for the longest time goes. */
static void make_room(struct v8_scripts *s)
{
	size_t oldest = 0;
	if (s->scripts.n < SCRIPTS_MAX && s->n_bytes < TABLES_BYTES_MAX)
		return;
	for (size_t i = 0; i < s->scripts.n; i++)
		if (s->scripts.v[i].used < s->scripts.v[oldest].used)
			oldest = i;
	script_free(s, &s->scripts.v[oldest]);
	s->scripts.v[oldest] = s->scripts.v[--s->scripts.n];
}

static struct v8_script *read_script(const struct v8_heap *h, struct v8_scripts *s,
				     const struct v8_script_key *key)
{
	struct v8_chars c;
	struct scan scan = { .n_done = 0 };
	bool is_read = VEC_PUSH(&scan.start, 0) && v8_chars_find(h, key->source, &c) &&
		       c.n == key->n_chars && c.n <= CHARACTERS_MAX && scan_source(h, &c, &scan);
	/* what cannot be read is remembered, too */
	if (!is_read)
		scan.start.n = 0;
	make_room(s);
	struct v8_script x = { .key = *key, .start = scan.start.v,
			       .n = (uint32_t)scan.start.n };
	if (!VEC_PUSH(&s->scripts, x)) {
		VEC_FREE(&scan.start);
		return NULL;
	}
	s->n_bytes += x.n * sizeof(*x.start);
	return &s->scripts.v[s->scripts.n - 1];
}

uint32_t v8_script_line(const struct v8_heap *h, struct v8_scripts *s,
			const struct v8_script_key *key, int64_t position)
{
	struct v8_script *x = key->at ? find(s, key) : NULL;
	if (!x && key->at && key->source)
		x = read_script(h, s, key);
	if (!x || !x->n || position < 0 || position > key->n_chars)
		return 0;
	x->used = ++s->n_used;
	return key->first_line + (uint32_t)SEARCH_COUNT(x->n, i, x->start[i] <= position);
}

/* ---- tables of positions ----------------------------------------------------------------- */

/* Seven bits in each byte, the lowest ones first, then the sign in bit 0. */
static bool read_number(const uint8_t **p, const uint8_t *end, int64_t *ret)
{
	uint64_t bits = 0;
	for (unsigned int shift = 0; *p < end && shift < 64; shift += 7) {
		uint8_t b = *(*p)++;
		bits |= (uint64_t)(b & 0x7f) << shift;
		if (b & 0x80)
			continue;
		*ret = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
		return true;
	}
	return false;
}

/* Bit 0 is set in positions of another language; the next 30 bits are the offset plus one, and 16
 * bits the inlined function plus one. */
struct v8_position v8_position_of(uint64_t bits)
{
	return (struct v8_position){
		.offset = bits & 1 ? -1 : (int64_t)(bits >> 1 & ((1u << 30) - 1)) - 1,
		.inlined = (uint32_t)(bits >> 31 & 0xffff),
	};
}

struct v8_position v8_positions_find(const uint8_t *table, size_t n_bytes, uint32_t off)
{
	const uint8_t *end = table + n_bytes;
	struct v8_position found = { .offset = -1 };
	uint64_t at = 0, bits = 0;
	int64_t step, more;
	while (read_number(&table, end, &step) && read_number(&table, end, &more)) {
		/* the sign of the first says whether it is a statement */
		at += (uint64_t)(step < 0 ? -(step + 1) : step);
		bits += (uint64_t)more;
		if (at > off)
			break;
		found = v8_position_of(bits);
	}
	return found;
}
