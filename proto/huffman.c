/*
 * Lengths come from the usual merging of the two rarest nodes.  Leaves are sorted, and merged nodes
 * are made in ascending order, so two queues replace the heap.  Codes that are too long are
 * shortened as in JPEG (ITU-T T.81, K.3): a pair of them moves up, and a shorter code moves down
 * for it.
 */

#include "proto/huffman.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#define DEPTH_MAX 64           /* counts of 32 bits cannot make deeper trees */
#define BITS_MAX 15

struct leaf {
	uint32_t count;
	uint16_t symbol;
};

static int compare_leaves(const void *a, const void *b)
{
	const struct leaf *x = a, *y = b;
	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	return x->symbol < y->symbol ? -1 : x->symbol > y->symbol;
}

/* In ascending order, and at least two. */
static size_t list_leaves(const uint32_t *count, size_t n, struct leaf *leaf)
{
	size_t n_leaves = 0;
	for (size_t i = 0; i < n; i++)
		if (count[i])
			leaf[n_leaves++] = (struct leaf){ count[i], (uint16_t)i };
	for (size_t i = 0; i < n && n_leaves < 2; i++)
		if (!count[i])
			leaf[n_leaves++] = (struct leaf){ 1, (uint16_t)i };
	qsort(leaf, n_leaves, sizeof(*leaf), compare_leaves);
	return n_leaves;
}

/* How many leaves are at each depth. */
static void count_depths(const struct leaf *leaf, size_t n_leaves, uint32_t *n_at)
{
	uint64_t weight[HUFFMAN_SYMBOLS_MAX];
	uint16_t parent_of_leaf[HUFFMAN_SYMBOLS_MAX], parent[HUFFMAN_SYMBOLS_MAX];
	uint8_t depth[HUFFMAN_SYMBOLS_MAX];
	size_t next_leaf = 0, next_node = 0, n_nodes = 0;
	do {
		uint64_t sum = 0;
		for (int i = 0; i < 2; i++) {
			bool is_leaf = next_leaf < n_leaves &&
				       (next_node >= n_nodes ||
					leaf[next_leaf].count <= weight[next_node]);
			if (is_leaf) {
				sum += leaf[next_leaf].count;
				parent_of_leaf[next_leaf++] = (uint16_t)n_nodes;
			} else {
				sum += weight[next_node];
				parent[next_node++] = (uint16_t)n_nodes;
			}
		}
		weight[n_nodes++] = sum;
	} while (n_nodes + 1 < n_leaves);
	depth[n_nodes - 1] = 0;
	for (size_t i = n_nodes - 1; i-- > 0;)
		depth[i] = (uint8_t)(depth[parent[i]] + 1);
	for (size_t i = 0; i < n_leaves; i++)
		n_at[depth[parent_of_leaf[i]] + 1]++;
}

static void limit_depths(uint32_t *n_at, unsigned max_bits)
{
	for (unsigned i = DEPTH_MAX - 1; i > max_bits; i--) {
		while (n_at[i] > 0) {
			unsigned k = i - 2;
			while (n_at[k] == 0)
				k--;
			n_at[i] -= 2;
			n_at[i - 1]++;
			n_at[k + 1] += 2;
			n_at[k]--;
		}
	}
}

static uint16_t reversed(uint16_t v, unsigned n_bits)
{
	uint16_t r = 0;
	for (unsigned i = 0; i < n_bits; i++)
		r = (uint16_t)(r | (v >> i & 1) << (n_bits - 1 - i));
	return r;
}

void huffman_assign(struct huffman_code *code, size_t n)
{
	uint16_t n_at[BITS_MAX + 2] = { 0 }, next[BITS_MAX + 2] = { 0 };
	for (size_t i = 0; i < n; i++)
		n_at[code[i].n_bits]++;
	n_at[0] = 0;
	for (unsigned i = 1; i <= BITS_MAX; i++)
		next[i + 1] = (uint16_t)((next[i] + n_at[i]) << 1);
	for (size_t i = 0; i < n; i++)
		if (code[i].n_bits)
			code[i].bits = reversed(next[code[i].n_bits]++, code[i].n_bits);
}

void huffman_build(const uint32_t *count, size_t n, unsigned max_bits, struct huffman_code *ret)
{
	struct leaf leaf[HUFFMAN_SYMBOLS_MAX];
	uint32_t n_at[DEPTH_MAX] = { 0 };
	assert(n >= 2 && n <= HUFFMAN_SYMBOLS_MAX && max_bits <= BITS_MAX);
	size_t n_leaves = list_leaves(count, n, leaf), k = 0;
	count_depths(leaf, n_leaves, n_at);
	limit_depths(n_at, max_bits);
	for (size_t i = 0; i < n; i++)
		ret[i] = (struct huffman_code){ 0 };
	for (unsigned depth = DEPTH_MAX - 1; depth > 0; depth--)
		for (uint32_t i = 0; i < n_at[depth]; i++)
			ret[leaf[k++].symbol].n_bits = (uint8_t)depth;
	huffman_assign(ret, n);
}
