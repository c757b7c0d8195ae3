#ifndef CPROF_BASE_BUDGET_H
#define CPROF_BASE_BUDGET_H

/*
 * The account of all memory that grows with the recording (--max-memory).  A table charges before
 * it grows and releases what it frees.  A refusal is expected and not an error: the caller drops
 * something, in the order that cprof-internals(7) lists.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget {
	size_t limit_bytes;  /* 0: no limit */
	size_t used_bytes;
	size_t peak_bytes;   /* the highest used_bytes so far */
	size_t n_refused;    /* number of refused charges */
};

void budget_init(struct budget *b, size_t limit_bytes);

/* Charges n bytes.  False, with nothing charged, if that would exceed the limit. */
bool budget_charge(struct budget *b, size_t n_bytes);

/* Charges even beyond the limit, for data that is never dropped (maps, forks, totals). */
void budget_charge_always(struct budget *b, size_t n_bytes);

void budget_release(struct budget *b, size_t n_bytes);

/*
 * Makes room for `more` items after the first n of an array that is charged to b, which may be
 * NULL.  The array doubles; near the limit it grows by less, but at least by a sixteenth.  `always`
 * grows beyond the limit, by `more` items only.  False, with nothing changed, if the budget
 * refuses, memory is out, or n or `more` reaches 2^30.
 */
bool budget_grow_array(struct budget *b, void **v, uint32_t *cap, uint32_t n, uint32_t more,
		       size_t item_bytes, bool always);

#endif
