/*
 * The two cheapest nodes are joined until one is left.  With the symbols sorted, joined nodes come
 * about in order, too, so both are queues and no heap is needed.  Where that makes a code too
 * long, leaves move up to the limit, and others down until the code is complete again: a
 * little worse than the best code of that length, in blocks where it matters for no symbol
 * that is frequent.
 */

#include "proto/huffman.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct leaf {
	uint32_t frequency;
	uint16_t symbol;
};

static int compare_leaf(const void *a, const void *b)
{
	const struct leaf *x = a, *y = b;
	if (x->frequency != y->frequency)
		return x->frequency < y->frequency ? -1 : 1;
	return x->symbol < y->symbol ? -1 : 1;
}

/* Those that occur, rarest first, and at least two. */
static size_t list_leaves(const uint32_t *frequency, size_t n, struct leaf *leaf)
{
	size_t n_leaves = 0, n_used = 0;
	for (size_t i = 0; i < n; i++)
		n_used += frequency[i] != 0;
	for (size_t i = 0; i < n; i++) {
		bool fills = n_used < 2 && frequency[i] == 0;
		n_used += fills;
		if (frequency[i] || fills)
			leaf[n_leaves++] = (struct leaf){ frequency[i] ? frequency[i] : 1,
							  (uint16_t)i };
	}
	qsort(leaf, n_leaves, sizeof(*leaf), compare_leaf);
	return n_leaves;
}

/* How many leaves have each depth. */
static void count_depths(const struct leaf *leaf, size_t n, unsigned max_bits, uint32_t *at_depth)
{
	/* nodes 0 .. n - 1 are the leaves, the others are joined ones, the last one the root */
	uint32_t weight[2 * HUFFMAN_SYMBOLS_MAX];
	uint16_t parent[2 * HUFFMAN_SYMBOLS_MAX], depth[2 * HUFFMAN_SYMBOLS_MAX];
	size_t next_leaf = 0, next_joined = n, n_nodes = n;
	for (size_t i = 0; i < n; i++)
		weight[i] = leaf[i].frequency;
	while (n_nodes < 2 * n - 1) {
		weight[n_nodes] = 0;
		for (int k = 0; k < 2; k++) {
			bool is_leaf = next_leaf < n && (next_joined == n_nodes ||
							 weight[next_leaf] <= weight[next_joined]);
			size_t i = is_leaf ? next_leaf++ : next_joined++;
			parent[i] = (uint16_t)n_nodes;
			weight[n_nodes] += weight[i];
		}
		n_nodes++;
	}
	depth[n_nodes - 1] = 0;
	for (size_t i = n_nodes - 1; i-- > 0;) {
		depth[i] = (uint16_t)(depth[parent[i]] + 1);
		if (i < n)
			at_depth[depth[i] < max_bits ? depth[i] : max_bits]++;
	}
}

/* Takes leaves down from above the limit, until the code fits: a code of b bits is worth
 * 1 / (1 << b) of all there is. */
static void make_fit(unsigned max_bits, uint32_t *at_depth)
{
	uint64_t sum = 0;
	for (unsigned b = 1; b <= max_bits; b++)
		sum += (uint64_t)at_depth[b] << (max_bits - b);
	for (; sum > 1ull << max_bits; sum--) {
		/* one at the limit becomes the brother of one further up, which goes down by one */
		unsigned b = max_bits - 1;
		while (!at_depth[b])
			b--;
		at_depth[b]--;
		at_depth[b + 1] += 2;
		at_depth[max_bits]--;
	}
}

void huffman_lengths(const uint32_t *frequency, size_t n, unsigned max_bits, uint8_t *ret_bits)
{
	struct leaf leaf[HUFFMAN_SYMBOLS_MAX];
	uint32_t at_depth[HUFFMAN_BITS_MAX + 1] = { 0 };
	assert(n >= 2 && n <= HUFFMAN_SYMBOLS_MAX && max_bits <= HUFFMAN_BITS_MAX);
	size_t n_leaves = list_leaves(frequency, n, leaf), next = 0;
	count_depths(leaf, n_leaves, max_bits, at_depth);
	make_fit(max_bits, at_depth);
	memset(ret_bits, 0, n);
	for (unsigned b = max_bits; b > 0; b--)
		for (uint32_t i = 0; i < at_depth[b]; i++)
			ret_bits[leaf[next++].symbol] = (uint8_t)b;
}

void huffman_codes(const uint8_t *bits, size_t n, uint16_t *ret_code)
{
	unsigned n_of[HUFFMAN_BITS_MAX + 1] = { 0 }, next[HUFFMAN_BITS_MAX + 2] = { 0 };
	for (size_t i = 0; i < n; i++)
		n_of[bits[i]]++;
	n_of[0] = 0;
	for (unsigned b = 1; b <= HUFFMAN_BITS_MAX; b++)
		next[b] = (next[b - 1] + n_of[b - 1]) << 1;
	for (size_t i = 0; i < n; i++) {
		unsigned code = bits[i] ? next[bits[i]]++ : 0, reversed = 0;
		for (unsigned b = 0; b < bits[i]; b++)
			reversed |= (code >> b & 1) << (bits[i] - 1 - b);
		ret_code[i] = (uint16_t)reversed;
	}
}
