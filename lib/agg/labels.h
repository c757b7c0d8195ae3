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

/* Are the functions of an interpreter in the stack: exact, unknown? */
#define LABEL_PYTHON_STACK "py::stack"
#define LABEL_PHP_STACK "php::stack"
#define LABEL_RUBY_STACK "rb::stack"

/* Has the thread Python's global lock: held, waiting? */
#define LABEL_PYTHON_LOCK "py::gil"

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

/* The id of a set of n labels in any order, which are sorted in place; the last label with a key
 * wins.  LABELS_NONE when n is above LABELS_PER_SET_MAX, or when the set is new and memory is out
 * or the budget refuses (not with `always`). */
uint32_t labels_add(struct labels *l, struct label *label, size_t n, bool always);

/* The labels of a set, sorted by key.  Borrowed until the next labels_add. */
const struct label *labels_get(const struct labels *l, uint32_t set, uint32_t *ret_n);

/* The union of two sets; for equal keys, the second set's label.  The first set when memory is
 * out. */
uint32_t labels_join(struct labels *l, uint32_t first, uint32_t second);

#endif
