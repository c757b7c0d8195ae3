#ifndef CPROF_BASE_RADIX_H
#define CPROF_BASE_RADIX_H

/* Sorting by a number, digit by digit: linear in the number of items. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct radix_item {
	uint64_t key;
	uint32_t value;
};

/* Sorts by key; items of one key stay in their order.  False when memory is out, then the order is
 * as it was. */
bool radix_sort(struct radix_item *v, size_t n);

#endif
