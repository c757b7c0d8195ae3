#ifndef CPROF_BASE_RADIX_H
#define CPROF_BASE_RADIX_H

/* Radix sort: linear in the number of items. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct radix_item {
	uint64_t key;
	uint32_t value;
};

/* Sorts by key; items with equal keys keep their order.  False, with nothing changed, when memory
 * is out or there are more than UINT32_MAX items. */
bool radix_sort(struct radix_item *v, size_t n);

#endif
