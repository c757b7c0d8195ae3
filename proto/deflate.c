/*
 * Input is collected in a buffer, after the last 32 KiB that were compressed.  A table has the last
 * place of each hash of four bytes; a match there is taken at once (no look ahead for a better
 * one).  Matches and literals are kept until a block is full, which gets codes of its own.  With
 * two places for each hash, files were 3 % smaller, and took a third more time.
 *
 * A place is the number of bytes since the beginning, modulo 2^16.  It may be stale, so its
 * distance is checked, and its bytes are compared.
 */

#include "proto/deflate.h"

#include "proto/huffman.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_BYTES 32768u
#define INPUT_BYTES 65536u
#define BUFFER_BYTES (WINDOW_BYTES + INPUT_BYTES)
#define HASH_BITS 14
#define TOKENS_MAX 16384u
#define MATCH_MIN 4u
#define MATCH_MAX 258u
/* Of a match so long, only the end is entered in the table. */
#define LONG_MATCH 32u
#define OUT_BYTES 65536u
/* A block: its codes and its tokens, or stored input. */
#define BLOCK_OUT_MAX (TOKENS_MAX * 8 + 1024)

#define N_LITLEN 286
#define N_DISTANCE 30
#define N_CODELEN 19
#define END_OF_BLOCK 256
#define LENGTH_BASE 257

/* A literal is its byte; a match has its length above its distance. */
#define TOKEN_MATCH(length, distance) ((uint32_t)(length) << 16 | ((distance) - 1))

/* A symbol of a length or a distance, its smallest value, and additional bits. */
struct extra {
	uint16_t symbol, base;
	uint8_t n_bits;
};

struct deflate {
	int (*write)(void *ctx, const void *data, size_t n_bytes);
	void *ctx;
	uint32_t base;                 /* the place of buffer[0] */
	uint32_t n, n_done;            /* bytes in the buffer, compressed ones */
	uint32_t block;                /* where the present block begins */
	uint32_t n_tokens;
	uint64_t bits;                 /* not yet in out */
	unsigned n_bits;
	size_t n_out;
	/* By length - 3, and by distance - 1: below 256 each one, above by 128. */
	struct extra length_of[256], distance_of[512];
	uint32_t litlen_count[N_LITLEN], distance_count[N_DISTANCE];
	uint16_t last[1u << HASH_BITS];
	uint32_t token[TOKENS_MAX];
	uint8_t buffer[BUFFER_BYTES + 8];
	uint8_t out[OUT_BYTES + BLOCK_OUT_MAX];
};

static const struct extra *length_code(const struct deflate *d, unsigned length)
{
	return &d->length_of[length - 3];
}

static const struct extra *distance_code(const struct deflate *d, unsigned distance)
{
	unsigned v = distance - 1;
	return &d->distance_of[v < 256 ? v : 256 + (v >> 7)];
}

static void make_tables(struct deflate *d)
{
	for (unsigned v = 0; v < 256; v++) {
		unsigned n = v < 8 ? 0 : 29 - (unsigned)__builtin_clz(v), group = v >> n;
		d->length_of[v] = (struct extra){ (uint16_t)(LENGTH_BASE + 4 * n + group),
						  (uint16_t)((group << n) + 3), (uint8_t)n };
	}
	d->length_of[MATCH_MAX - 3] = (struct extra){ LENGTH_BASE + 28, MATCH_MAX, 0 };
	for (unsigned i = 0; i < 512; i++) {
		unsigned v = i < 256 ? i : (i - 256) << 7;
		unsigned n = v < 4 ? 0 : 30 - (unsigned)__builtin_clz(v), group = v >> n;
		d->distance_of[i] = (struct extra){ (uint16_t)(2 * n + group),
						    (uint16_t)((group << n) + 1), (uint8_t)n };
	}
}

struct deflate *deflate_new(int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx)
{
	struct deflate *d = malloc(sizeof(*d));
	if (!d)
		return NULL;
	/* Reading an entry of the table that was never written must be defined; the rest is written
	 * before it is read. */
	memset(d, 0, offsetof(struct deflate, token));
	make_tables(d);
	d->write = write;
	d->ctx = ctx;
	return d;
}

void deflate_free(struct deflate *d)
{
	free(d);
}

/* ---- output ------------------------------------------------------------------------ */

/* At most 57 bits may be waiting before the next call. */
static void flush_bits(struct deflate *d)
{
	memcpy(d->out + d->n_out, &(uint64_t){ htole64(d->bits) }, 8);
	d->n_out += d->n_bits / 8;
	d->bits >>= d->n_bits & ~7u;
	d->n_bits &= 7;
}

static void add_bits(struct deflate *d, uint64_t bits, unsigned n)
{
	d->bits |= bits << d->n_bits;
	d->n_bits += n;
}

static void put_bits(struct deflate *d, uint64_t bits, unsigned n)
{
	add_bits(d, bits, n);
	flush_bits(d);
}

/* Up to the next whole byte. */
static void align_bits(struct deflate *d)
{
	d->n_bits = (d->n_bits + 7) & ~7u;
	flush_bits(d);
}

void deflate_put_raw(struct deflate *d, const void *data, size_t n_bytes)
{
	memcpy(d->out + d->n_out, data, n_bytes);
	d->n_out += n_bytes;
}

int deflate_flush(struct deflate *d)
{
	size_t n = d->n_out;
	d->n_out = 0;
	return n ? d->write(d->ctx, d->out, n) : 0;
}

/* ---- blocks ------------------------------------------------------------------------ */

/* Lengths of codes with repetitions: symbols of the third code, with additional bits above. */
struct lengths {
	uint16_t symbol[N_LITLEN + N_DISTANCE];
	size_t n;
	uint32_t count[N_CODELEN];
};

static void add_length(struct lengths *l, unsigned symbol, unsigned extra)
{
	l->symbol[l->n++] = (uint16_t)(symbol | extra << 8);
	l->count[symbol]++;
}

static void add_run(struct lengths *l, unsigned length, size_t n)
{
	while (length == 0 && n >= 11) {
		size_t part = n < 138 ? n : 138;
		add_length(l, 18, (unsigned)(part - 11));
		n -= part;
	}
	if (length == 0 && n >= 3) {
		add_length(l, 17, (unsigned)(n - 3));
		return;
	}
	if (n == 0)
		return;
	add_length(l, length, 0);
	n--;
	while (length != 0 && n >= 3) {
		size_t part = n < 6 ? n : 6;
		add_length(l, 16, (unsigned)(part - 3));
		n -= part;
	}
	for (; n > 0; n--)
		add_length(l, length, 0);
}

static void list_lengths(struct lengths *l, const uint8_t *length, size_t n)
{
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && length[k] == length[i];)
			k++;
		add_run(l, length[i], k - i);
	}
}

struct block_codes {
	struct huffman_code litlen[N_LITLEN], distance[N_DISTANCE], codelen[N_CODELEN];
	size_t n_litlen, n_distance, n_codelen;
	struct lengths lengths;
};

static const uint8_t codelen_order[N_CODELEN] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
						  11, 4,  12, 3, 13, 2, 14, 1, 15 };
static const uint8_t codelen_extra[N_CODELEN] = { [16] = 2, [17] = 3, [18] = 7 };

static void make_codes(const struct deflate *d, struct block_codes *c)
{
	uint8_t length[N_LITLEN + N_DISTANCE];
	huffman_build(d->litlen_count, N_LITLEN, 15, c->litlen);
	huffman_build(d->distance_count, N_DISTANCE, 15, c->distance);
	for (c->n_litlen = N_LITLEN; c->litlen[c->n_litlen - 1].n_bits == 0;)
		c->n_litlen--;
	for (c->n_distance = N_DISTANCE; c->distance[c->n_distance - 1].n_bits == 0;)
		c->n_distance--;
	for (size_t i = 0; i < c->n_litlen; i++)
		length[i] = c->litlen[i].n_bits;
	for (size_t i = 0; i < c->n_distance; i++)
		length[c->n_litlen + i] = c->distance[i].n_bits;
	c->lengths.n = 0;
	memset(c->lengths.count, 0, sizeof(c->lengths.count));
	list_lengths(&c->lengths, length, c->n_litlen + c->n_distance);
	huffman_build(c->lengths.count, N_CODELEN, 7, c->codelen);
	for (c->n_codelen = N_CODELEN; c->codelen[codelen_order[c->n_codelen - 1]].n_bits == 0;)
		c->n_codelen--;
}

static void put_codes(struct deflate *d, const struct block_codes *c)
{
	put_bits(d, c->n_litlen - 257, 5);
	put_bits(d, c->n_distance - 1, 5);
	put_bits(d, c->n_codelen - 4, 4);
	for (size_t i = 0; i < c->n_codelen; i++)
		put_bits(d, c->codelen[codelen_order[i]].n_bits, 3);
	for (size_t i = 0; i < c->lengths.n; i++) {
		unsigned symbol = c->lengths.symbol[i] & 0xff;
		put_bits(d, c->codelen[symbol].bits, c->codelen[symbol].n_bits);
		put_bits(d, c->lengths.symbol[i] >> 8, codelen_extra[symbol]);
	}
}

/* A token has at most 15 + 5 + 15 + 13 bits. */
static void put_tokens(struct deflate *d, const struct block_codes *c)
{
	for (uint32_t i = 0; i < d->n_tokens; i++) {
		uint32_t t = d->token[i];
		if (t < 256) {
			put_bits(d, c->litlen[t].bits, c->litlen[t].n_bits);
			continue;
		}
		unsigned length = t >> 16, distance = (t & 0xffff) + 1;
		const struct extra *l = length_code(d, length), *s = distance_code(d, distance);
		add_bits(d, c->litlen[l->symbol].bits, c->litlen[l->symbol].n_bits);
		add_bits(d, length - l->base, l->n_bits);
		add_bits(d, c->distance[s->symbol].bits, c->distance[s->symbol].n_bits);
		add_bits(d, distance - s->base, s->n_bits);
		flush_bits(d);
	}
	put_bits(d, c->litlen[END_OF_BLOCK].bits, c->litlen[END_OF_BLOCK].n_bits);
}

static uint64_t bits_of(const uint32_t *count, const struct huffman_code *code, size_t n)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (uint64_t)count[i] * code[i].n_bits;
	return sum;
}

/* Without the additional bits of matches, so that storing may be chosen a little too early: matches
 * that do not pay are rare. */
static bool is_better_stored(const struct deflate *d, const struct block_codes *c, size_t n_bytes)
{
	uint64_t bits = bits_of(d->litlen_count, c->litlen, N_LITLEN) +
			bits_of(d->distance_count, c->distance, N_DISTANCE);
	return bits / 8 >= n_bytes;
}

static void put_stored(struct deflate *d, const uint8_t *data, size_t n_bytes, bool is_last)
{
	do {
		size_t n = n_bytes < 65535 ? n_bytes : 65535;
		put_bits(d, is_last && n == n_bytes, 3);
		align_bits(d);
		put_bits(d, n | (n ^ 0xffff) << 16, 32);
		memcpy(d->out + d->n_out, data, n);
		d->n_out += n;
		data += n;
		n_bytes -= n;
	} while (n_bytes > 0);
}

static int end_block(struct deflate *d, uint32_t end, bool is_last)
{
	struct block_codes c;
	d->litlen_count[END_OF_BLOCK] = 1;
	make_codes(d, &c);
	if (is_better_stored(d, &c, end - d->block)) {
		put_stored(d, d->buffer + d->block, end - d->block, is_last);
	} else {
		put_bits(d, is_last | 2 << 1, 3);
		put_codes(d, &c);
		put_tokens(d, &c);
	}
	memset(d->litlen_count, 0, sizeof(d->litlen_count));
	memset(d->distance_count, 0, sizeof(d->distance_count));
	d->n_tokens = 0;
	d->block = end;
	return d->n_out >= OUT_BYTES ? deflate_flush(d) : 0;
}

/* ---- matches ------------------------------------------------------------------------- */

static uint32_t load32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static uint16_t *slot_of(struct deflate *d, uint32_t v)
{
	return &d->last[v * 0x9e3779b1u >> (32 - HASH_BITS)];
}

static uint32_t match_length(const uint8_t *a, const uint8_t *b, uint32_t max)
{
	uint32_t n = MATCH_MIN;
	for (; n + 8 <= max; n += 8) {
		uint64_t x, y;
		memcpy(&x, a + n, 8);
		memcpy(&y, b + n, 8);
		if (x != y)
			return n + (uint32_t)__builtin_ctzll(le64toh(x ^ y)) / 8;
	}
	while (n < max && a[n] == b[n])
		n++;
	return n;
}

/* The length of the match at i, at most max bytes; 0: there is none. */
static uint32_t find_match(const struct deflate *d, uint32_t distance, uint32_t i, uint32_t v,
			   uint32_t max)
{
	if (distance - 1 >= WINDOW_BYTES || distance > i || load32(d->buffer + i - distance) != v)
		return 0;
	return match_length(d->buffer + i, d->buffer + i - distance, max);
}

static void enter_match(struct deflate *d, uint32_t i, uint32_t length, uint32_t end)
{
	uint32_t from = length < LONG_MATCH ? i + 1 : i + length - 2, to = i + length;
	if (to + MATCH_MIN > end)
		to = end - MATCH_MIN;
	for (uint32_t k = from; k < to; k++)
		*slot_of(d, load32(d->buffer + k)) = (uint16_t)(d->base + k);
}

static void add_match(struct deflate *d, uint32_t length, uint32_t distance)
{
	d->token[d->n_tokens++] = TOKEN_MATCH(length, distance);
	d->litlen_count[length_code(d, length)->symbol]++;
	d->distance_count[distance_code(d, distance)->symbol]++;
}

static void add_literal(struct deflate *d, uint8_t byte)
{
	d->token[d->n_tokens++] = byte;
	d->litlen_count[byte]++;
}

/* Compresses what is in the buffer. */
static int compress(struct deflate *d)
{
	uint32_t i = d->n_done, end = d->n;
	while (i < end) {
		uint32_t length = 0, distance = 0, left = end - i;
		if (d->n_tokens == TOKENS_MAX) {
			int r = end_block(d, i, false);
			if (r < 0)
				return r;
		}
		if (left >= MATCH_MIN) {
			uint32_t v = load32(d->buffer + i);
			uint16_t *slot = slot_of(d, v), here = (uint16_t)(d->base + i);
			distance = (uint16_t)(here - *slot);
			length = find_match(d, distance, i, v, left < MATCH_MAX ? left : MATCH_MAX);
			*slot = here;
		}
		if (length) {
			add_match(d, length, distance);
			enter_match(d, i, length, end);
			i += length;
		} else {
			add_literal(d, d->buffer[i++]);
		}
	}
	d->n_done = end;
	return 0;
}

/* Makes room after the window.  A block ends while all its bytes are in the buffer: it may have to
 * be stored. */
static int slide(struct deflate *d)
{
	int r = d->n_tokens ? end_block(d, d->n, false) : 0;
	uint32_t drop = d->n - WINDOW_BYTES;
	memmove(d->buffer, d->buffer + drop, WINDOW_BYTES);
	d->base += drop;
	d->n = d->n_done = d->block = WINDOW_BYTES;
	return r;
}

int deflate_write(struct deflate *d, const void *data, size_t n_bytes)
{
	const uint8_t *p = data;
	while (n_bytes > 0) {
		size_t room = BUFFER_BYTES - d->n, n = n_bytes < room ? n_bytes : room;
		memcpy(d->buffer + d->n, p, n);
		d->n += (uint32_t)n;
		p += n;
		n_bytes -= n;
		if (d->n < BUFFER_BYTES)
			continue;
		int r = compress(d);
		if (r == 0)
			r = slide(d);
		if (r < 0)
			return r;
	}
	return 0;
}

int deflate_finish(struct deflate *d)
{
	int r = compress(d);
	if (r == 0)
		r = end_block(d, d->n, true);
	align_bits(d);
	return r;
}
