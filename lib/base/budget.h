#ifndef CPROF_BASE_BUDGET_H
#define CPROF_BASE_BUDGET_H

/*
 * One account for all memory that grows with what is recorded (--max-memory).
 * A table charges before it grows and releases what it gives back.  A refusal
 * is an expected outcome, not a failure: the caller gives up something, in the
 * order that cprof-internals(7) lists.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget {
	size_t limit_bytes;  /* 0: no limit */
	size_t used_bytes;
	size_t peak_bytes;   /* highest used_bytes ever */
	size_t n_refused;    /* charges that were refused */
};

void budget_init(struct budget *b, size_t limit_bytes);

/* Charges n bytes; false, with nothing charged, when the limit would be passed. */
bool budget_charge(struct budget *b, size_t n_bytes);

/* Charges even beyond the limit: for what is never dropped (maps, forks, totals). */
void budget_charge_always(struct budget *b, size_t n_bytes);

void budget_release(struct budget *b, size_t n_bytes);

/*
 * Makes room for `more` items behind the first n of an array that is charged to b (NULL: to no
 * budget).  The array doubles; near the limit it grows by less, but at least by a sixteenth.
 * `always` grows beyond the limit, by `more` items only.  False, with nothing changed, when the
 * budget refuses, when memory is out, or when there would be 2^31 items.
 */
bool budget_grow_array(struct budget *b, void **v, uint32_t *cap, uint32_t n, uint32_t more,
		       size_t item_bytes, bool always);

#endif
