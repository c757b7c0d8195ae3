/*
 * Sorts by the lowest digit first, up to the highest digit in use, alternating between the items
 * and a copy.  For 10 000 items qsort(3) takes three times as long, because it calls a comparison.
 */

#include "base/radix.h"

#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGIT_VALUES (1u << DIGIT_BITS)

static void sort_by_digit(const struct radix_item *from, struct radix_item *to, size_t n,
			  unsigned bit)
{
	uint32_t at[DIGIT_VALUES] = { 0 }, sum = 0;  /* half as many cache lines as with size_t */
	for (size_t i = 0; i < n; i++)
		at[from[i].key >> bit & (DIGIT_VALUES - 1)]++;
	for (size_t i = 0; i < DIGIT_VALUES; i++) {
		uint32_t count = at[i];
		at[i] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[at[from[i].key >> bit & (DIGIT_VALUES - 1)]++] = from[i];
}

bool radix_sort(struct radix_item *v, size_t n)
{
	uint64_t highest = 0;
	bool sorted = true;
	for (size_t i = 0; i < n; i++) {
		sorted &= i == 0 || v[i - 1].key <= v[i].key;
		highest = v[i].key > highest ? v[i].key : highest;
	}
	if (sorted)
		return true;
	if (n > UINT32_MAX)
		return false;
	struct radix_item *copy = reallocarray(NULL, n, sizeof(*copy)), *from = v, *to = copy;
	if (!copy)
		return false;
	for (unsigned bit = 0; bit < 64 && highest >> bit; bit += DIGIT_BITS) {
		sort_by_digit(from, to, n, bit);
		struct radix_item *swap = from;
		from = to;
		to = swap;
	}
	if (from != v)
		memcpy(v, from, n * sizeof(*v));
	free(copy);
	return true;
}
