/*
 * What zlib's level 1 costs is mostly its loop, byte by byte, with a state that is looked at each
 * time.  Here a block is searched in one go: the last place where the same four bytes stood
 * is in a small table, and of the inside of a match only two places are entered.  Samples repeat
 * most of what the sample before has, so that is enough.  (Two places for each hash make a profile
 * 3 % smaller, and take a third more time.)
 *
 * A block is written with the cheapest of the three forms that there are.  Lengths and distances
 * become symbols by arithmetic: behind the first few, each power of two has four lengths'
 * symbols, or two of distances.
 */

#include "proto/pack.h"

#include "proto/huffman.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_BYTES 32768u
#define BLOCK_BYTES 65535u   /* what a stored block can hold */
#define MATCH_MIN 4u
#define MATCH_MAX 258u
#define HASH_BITS 14
#define N_HASHES (1u << HASH_BITS)

#define N_LITERALS 286u      /* and lengths */
#define N_DISTANCES 30u
#define N_LENGTHS 19u        /* of codes */
#define END_OF_BLOCK 256u
#define OUT_BYTES (BLOCK_BYTES + 1024u)

enum { STORED, FIXED, DYNAMIC };

/* A match: distance << 16 | length; a literal: the byte. */
#define TOKEN(distance, length) ((uint32_t)(distance) << 16 | (uint32_t)(length))

/* How often symbols occur in a block, and the code made of that. */
struct alphabet {
	uint32_t frequency[HUFFMAN_SYMBOLS_MAX];
	uint8_t bits[HUFFMAN_SYMBOLS_MAX];
	uint16_t code[HUFFMAN_SYMBOLS_MAX];
};

int pack_open(struct pack *p, int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx)
{
	struct pack new = {
		.write = write, .ctx = ctx, .in = malloc(WINDOW_BYTES + BLOCK_BYTES),
		.recent = calloc(N_HASHES, sizeof(*new.recent)),
		.token = malloc(BLOCK_BYTES * sizeof(*new.token)), .out = malloc(OUT_BYTES),
	};
	if (!new.in || !new.recent || !new.token || !new.out) {
		pack_close(&new);
		return -ENOMEM;
	}
	new.bits.to = new.out;
	*p = new;
	return 0;
}

void pack_close(struct pack *p)
{
	free(p->in);
	free(p->recent);
	free(p->token);
	free(p->out);
	*p = (struct pack){ 0 };
}

/* ---- matches ------------------------------------------------------------------------- */

static uint32_t load_u32(const uint8_t *p)
{
	uint32_t x;
	memcpy(&x, p, sizeof(x));
	return x;
}

static size_t hash_of(uint32_t x)
{
	return (x * 0x9e3779b1u) >> (32 - HASH_BITS);
}

/* How many bytes at x and y are equal, up to max. */
static size_t n_equal(const uint8_t *x, const uint8_t *y, size_t max)
{
	size_t n = 0;
	while (n + 8 <= max) {
		uint64_t a, b;
		memcpy(&a, x + n, 8);
		memcpy(&b, y + n, 8);
		if (a != b && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
			return n + (size_t)__builtin_ctzll(a ^ b) / 8;
		if (a != b)
			break;
		n += 8;
	}
	while (n < max && x[n] == y[n])
		n++;
	return n;
}

static void remember(struct pack *p, size_t at)
{
	if (at + MATCH_MIN <= p->n_in)
		p->recent[hash_of(load_u32(p->in + at))] = (uint32_t)at;
}

/* The length of the match that is remembered for what stands at `at`; 0: less than MATCH_MIN. */
static size_t find_match(struct pack *p, size_t at, size_t *ret_distance)
{
	uint32_t here = load_u32(p->in + at);
	uint32_t *recent = &p->recent[hash_of(here)];
	size_t from = *recent, max = p->n_in - at < MATCH_MAX ? p->n_in - at : MATCH_MAX;
	*recent = (uint32_t)at;
	if (from >= at || at - from > WINDOW_BYTES || load_u32(p->in + from) != here)
		return 0;
	*ret_distance = at - from;
	return n_equal(p->in + from, p->in + at, max);
}

/* Makes tokens of the block; the number of them. */
static size_t find_tokens(struct pack *p)
{
	size_t at = p->n_window, n = 0;
	while (at + MATCH_MIN <= p->n_in) {
		size_t distance, length = find_match(p, at, &distance);
		if (!length) {
			p->token[n++] = p->in[at++];
			continue;
		}
		p->token[n++] = TOKEN(distance, length);
		remember(p, at + 1);
		at += length;
		remember(p, at - 2);
	}
	while (at < p->n_in)
		p->token[n++] = p->in[at++];
	return n;
}

/* ---- symbols --------------------------------------------------------------------------- */

struct symbol {
	unsigned symbol, n_extra, extra;
};

static inline struct symbol length_symbol(unsigned length)
{
	unsigned x = length - 3;
	if (x < 8 || length == MATCH_MAX)
		return (struct symbol){ x < 8 ? 257 + x : 285, 0, 0 };
	unsigned power = 31 - (unsigned)__builtin_clz(x);
	return (struct symbol){ 257 + 4 * (power - 1) + (x >> (power - 2) & 3), power - 2,
				x & ((1u << (power - 2)) - 1) };
}

static inline struct symbol distance_symbol(unsigned distance)
{
	unsigned x = distance - 1;
	if (x < 4)
		return (struct symbol){ x, 0, 0 };
	unsigned power = 31 - (unsigned)__builtin_clz(x);
	return (struct symbol){ 2 * power + (x >> (power - 1) & 1), power - 1,
				x & ((1u << (power - 1)) - 1) };
}

/* Counts the symbols of the tokens; returns the number of their extra bits. */
static size_t count_symbols(const uint32_t *token, size_t n, struct alphabet *literals,
			    struct alphabet *distances)
{
	size_t n_extra = 0;
	uint32_t n_length[MATCH_MAX + 1] = { 0 };
	for (size_t i = 0; i < n; i++) {
		if (!(token[i] >> 16)) {
			literals->frequency[token[i]]++;
			continue;
		}
		struct symbol d = distance_symbol(token[i] >> 16);
		n_length[token[i] & 0xffff]++;
		distances->frequency[d.symbol]++;
		n_extra += d.n_extra;
	}
	for (unsigned length = MATCH_MIN; length <= MATCH_MAX; length++) {
		struct symbol l = length_symbol(length);
		literals->frequency[l.symbol] += n_length[length];
		n_extra += (size_t)n_length[length] * l.n_extra;
	}
	literals->frequency[END_OF_BLOCK]++;
	return n_extra;
}

static size_t n_bits_of(const struct alphabet *a, const uint8_t *bits, size_t n)
{
	size_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (size_t)a->frequency[i] * bits[i];
	return sum;
}

/* ---- bits -------------------------------------------------------------------------------- */

/* Up to 56 bits. */
static inline void put(struct pack_bits *b, uint64_t bits, unsigned n)
{
	b->bits |= bits << b->n;
	b->n += n;
	uint64_t all = htole64(b->bits);
	memcpy(b->to, &all, sizeof(all));
	b->to += b->n / 8;
	b->bits >>= b->n & ~7u;
	b->n %= 8;
}

static inline void put_code(struct pack_bits *b, const struct alphabet *a, unsigned symbol)
{
	put(b, a->code[symbol], a->bits[symbol]);
}

static void fill_byte(struct pack_bits *b)
{
	put(b, 0, (8 - b->n) % 8);
}

/* What is written for each length: its code, and its extra bits above that. */
struct length_code {
	uint32_t bits[MATCH_MAX + 1];
	uint8_t n[MATCH_MAX + 1];
};

static void make_length_codes(const struct alphabet *literals, struct length_code *ret)
{
	for (unsigned length = 3; length <= MATCH_MAX; length++) {
		struct symbol s = length_symbol(length);
		unsigned n = literals->bits[s.symbol];
		ret->bits[length] = literals->code[s.symbol] | s.extra << n;
		ret->n[length] = (uint8_t)(n + s.n_extra);
	}
}

static void put_tokens(struct pack *p, size_t n, const struct alphabet *literals,
		       const struct alphabet *distances)
{
	struct length_code lengths;
	make_length_codes(literals, &lengths);
	/* a copy, which no store to memory can change: it stays in registers */
	struct pack_bits out = p->bits;
	for (size_t i = 0; i < n; i++) {
		uint32_t token = p->token[i];
		if (!(token >> 16)) {
			put_code(&out, literals, token);
			continue;
		}
		unsigned n_length = lengths.n[token & 0xffff];
		struct symbol d = distance_symbol(token >> 16);
		unsigned n_distance = distances->bits[d.symbol];
		uint64_t distance = distances->code[d.symbol] | (uint64_t)d.extra << n_distance;
		put(&out, lengths.bits[token & 0xffff] | distance << n_length,
		    n_length + n_distance + d.n_extra);
	}
	put_code(&out, literals, END_OF_BLOCK);
	p->bits = out;
}

/* ---- the code of a block ------------------------------------------------------------------ */

/* The lengths of both codes in the form in which they are written: run lengths, and a code of
 * their own. */
struct lengths {
	size_t n_literals, n_distances, n_orders, n;
	struct alphabet alphabet;
	uint8_t symbol[N_LITERALS + N_DISTANCES], extra[N_LITERALS + N_DISTANCES];
};

static const uint8_t length_order[N_LENGTHS] = {
	16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
};

static unsigned n_extra_of_length(unsigned symbol)
{
	return symbol == 16 ? 2 : symbol == 17 ? 3 : symbol == 18 ? 7 : 0;
}

static void add_length(struct lengths *l, unsigned symbol, size_t extra)
{
	l->symbol[l->n] = (uint8_t)symbol;
	l->extra[l->n++] = (uint8_t)extra;
	l->alphabet.frequency[symbol]++;
}

/* A run of n equal lengths. */
static void add_run(struct lengths *l, uint8_t bits, size_t n)
{
	if (bits) {
		add_length(l, bits, 0);
		n--;
	}
	while (n >= 3) {
		size_t most = bits ? 6 : 138, run = n < most ? n : most;
		if (bits)
			add_length(l, 16, run - 3);
		else if (run <= 10)
			add_length(l, 17, run - 3);
		else
			add_length(l, 18, run - 11);
		n -= run;
	}
	for (; n > 0; n--)
		add_length(l, bits, 0);
}

static size_t n_used(const uint8_t *bits, size_t n, size_t min)
{
	while (n > min && !bits[n - 1])
		n--;
	return n;
}

/* Returns the number of bits that the description takes. */
static size_t describe(struct lengths *l, const struct alphabet *literals,
		       const struct alphabet *distances)
{
	uint8_t all[N_LITERALS + N_DISTANCES];
	*l = (struct lengths){
		.n_literals = n_used(literals->bits, N_LITERALS, 257),
		.n_distances = n_used(distances->bits, N_DISTANCES, 1),
	};
	memcpy(all, literals->bits, l->n_literals);
	memcpy(all + l->n_literals, distances->bits, l->n_distances);
	size_t n = l->n_literals + l->n_distances;
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && all[end] == all[i];)
			end++;
		add_run(l, all[i], end - i);
	}
	struct alphabet *a = &l->alphabet;
	huffman_lengths(a->frequency, N_LENGTHS, 7, a->bits);
	huffman_codes(a->bits, N_LENGTHS, a->code);
	for (l->n_orders = N_LENGTHS; l->n_orders > 4 && !a->bits[length_order[l->n_orders - 1]];)
		l->n_orders--;
	size_t n_bits = 5 + 5 + 4 + 3 * l->n_orders;
	for (size_t i = 0; i < l->n; i++)
		n_bits += a->bits[l->symbol[i]] + n_extra_of_length(l->symbol[i]);
	return n_bits;
}

static void put_description(struct pack_bits *b, const struct lengths *l)
{
	put(b, l->n_literals - 257, 5);
	put(b, l->n_distances - 1, 5);
	put(b, l->n_orders - 4, 4);
	for (size_t i = 0; i < l->n_orders; i++)
		put(b, l->alphabet.bits[length_order[i]], 3);
	for (size_t i = 0; i < l->n; i++) {
		put_code(b, &l->alphabet, l->symbol[i]);
		put(b, l->extra[i], n_extra_of_length(l->symbol[i]));
	}
}

/* The code that needs no description; it has two more symbols, which never occur. */
static void set_fixed(struct alphabet *literals, struct alphabet *distances)
{
	for (unsigned i = 0; i < HUFFMAN_SYMBOLS_MAX; i++)
		literals->bits[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
	memset(distances->bits, 5, 32);
	huffman_codes(literals->bits, HUFFMAN_SYMBOLS_MAX, literals->code);
	huffman_codes(distances->bits, 32, distances->code);
}

/* ---- blocks -------------------------------------------------------------------------------- */

static void put_stored(struct pack_bits *b, const uint8_t *from, size_t n)
{
	fill_byte(b);
	put(b, n, 16);
	put(b, ~n & 0xffff, 16);
	memcpy(b->to, from, n);
	b->to += n;
}

static void put_block(struct pack *p, bool is_last)
{
	struct alphabet literals = { 0 }, distances = { 0 }, fixed = { 0 }, fixed_distances = { 0 };
	struct lengths lengths;
	size_t n = find_tokens(p);
	size_t n_extra = count_symbols(p->token, n, &literals, &distances);
	huffman_lengths(literals.frequency, N_LITERALS, HUFFMAN_BITS_MAX, literals.bits);
	huffman_lengths(distances.frequency, N_DISTANCES, HUFFMAN_BITS_MAX, distances.bits);
	set_fixed(&fixed, &fixed_distances);
	size_t dynamic_bits = describe(&lengths, &literals, &distances) +
			      n_bits_of(&literals, literals.bits, N_LITERALS) +
			      n_bits_of(&distances, distances.bits, N_DISTANCES) + n_extra;
	size_t fixed_bits = n_bits_of(&literals, fixed.bits, N_LITERALS) +
			    n_bits_of(&distances, fixed_distances.bits, N_DISTANCES) + n_extra;
	size_t stored_bits = (p->n_in - p->n_window + 5) * 8;
	unsigned form = dynamic_bits < fixed_bits ? DYNAMIC : FIXED;
	if (stored_bits < dynamic_bits && stored_bits < fixed_bits)
		form = STORED;
	put(&p->bits, is_last, 1);
	put(&p->bits, form, 2);
	if (form == STORED) {
		put_stored(&p->bits, p->in + p->n_window, p->n_in - p->n_window);
	} else if (form == FIXED) {
		put_tokens(p, n, &fixed, &fixed_distances);
	} else {
		put_description(&p->bits, &lengths);
		huffman_codes(literals.bits, N_LITERALS, literals.code);
		huffman_codes(distances.bits, N_DISTANCES, distances.code);
		put_tokens(p, n, &literals, &distances);
	}
}

static int hand_on(struct pack *p)
{
	size_t n = (size_t)(p->bits.to - p->out);
	assert(n + sizeof(uint64_t) <= OUT_BYTES);
	p->bits.to = p->out;
	return n > 0 ? p->write(p->ctx, p->out, n) : 0;
}

/* The last bytes become the window of the next block. */
static void slide(struct pack *p)
{
	size_t keep = p->n_in < WINDOW_BYTES ? p->n_in : WINDOW_BYTES, by = p->n_in - keep;
	memmove(p->in, p->in + by, keep);
	p->n_window = p->n_in = keep;
	/* 0 is a place like any other: whether the same bytes stand there is looked at anyway */
	for (size_t i = 0; i < N_HASHES; i++)
		p->recent[i] = p->recent[i] > by ? p->recent[i] - (uint32_t)by : 0;
}

int pack_write(struct pack *p, const void *data, size_t n_bytes)
{
	const uint8_t *from = data;
	while (n_bytes > 0) {
		size_t room = p->n_window + BLOCK_BYTES - p->n_in;
		size_t n = n_bytes < room ? n_bytes : room;
		memcpy(p->in + p->n_in, from, n);
		p->n_in += n;
		from += n;
		n_bytes -= n;
		if (n < room)
			break;
		put_block(p, false);
		slide(p);
		int r = hand_on(p);
		if (r < 0)
			return r;
	}
	return 0;
}

int pack_finish(struct pack *p)
{
	put_block(p, true);
	fill_byte(&p->bits);
	return hand_on(p);
}
