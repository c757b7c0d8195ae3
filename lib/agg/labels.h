#ifndef CPROF_AGG_LABELS_H
#define CPROF_AGG_LABELS_H

/*
 * Interned label sets: sorted lists of (key, value) string ids.  Set 0 is the empty set.
 */

#include "base/hashindex.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget;

struct label {
	uint32_t key, value;  /* strtab ids */
};

#define LABELS_NONE UINT32_MAX
#define LABELS_PER_SET_MAX 64

struct labels {
	struct budget *budget;
	struct label *v;       /* all sets' labels back to back */
	uint32_t n_v, cap_v;
	struct labels_set { uint32_t first, n; } *set;
	uint32_t n, cap;
	struct hashindex index;
};

int labels_init(struct labels *l, struct budget *budget);
void labels_done(struct labels *l);

/* The id of the set of n labels (any order, sorted in place by key; of equal keys the last
 * given wins).  LABELS_NONE when it is new and the budget (unless `always`) or memory is out, or
 * n is above LABELS_PER_SET_MAX. */
uint32_t labels_add(struct labels *l, struct label *label, size_t n, bool always);

/* The labels of a set, sorted by key.  Borrowed until the next labels_add. */
const struct label *labels_get(const struct labels *l, uint32_t set, uint32_t *ret_n);

/* The set of both sets' labels; of equal keys, the second's; without memory, the first. */
uint32_t labels_join(struct labels *l, uint32_t first, uint32_t second);

#endif
