#ifndef CPROF_SYMBOLIZE_RUNTIME_RUNTIME_CYCLE_H
#define CPROF_SYMBOLIZE_RUNTIME_RUNTIME_CYCLE_H

/* Lists in a program's memory may come back to where they were. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds cycles (R. P. Brent, 1980): each element is compared with an earlier one, which is replaced
 * after 1, 2, 4 ... elements.  All zeros: the list begins. */
struct runtime_cycle { uint64_t seen; size_t n, n_next; };

/* May the list go on with the element at that address? */
static inline bool runtime_cycle_is_next(struct runtime_cycle *c, uint64_t at)
{
	if (at % 8 != 0 || (c->n && at == c->seen))
		return false;
	if (c->n++ == c->n_next) {
		c->n_next = 2 * c->n;
		c->seen = at;
	}
	return true;
}

#endif
