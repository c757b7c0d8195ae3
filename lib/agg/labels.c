/*
 * The labels of all sets are in one array, sorted by key within a set; a set is a range of it.
 * Equal sets are therefore equal bytes.
 */

#include "agg/labels.h"

#include "base/budget.h"
#include "base/hash.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool grow(struct labels *l, uint32_t n, bool always)
{
	return budget_grow_array(l->budget, (void **)&l->v, &l->cap_v, l->n_v, n, sizeof(*l->v),
				 always) &&
	       budget_grow_array(l->budget, (void **)&l->set, &l->cap, l->n, 1, sizeof(*l->set),
				 always) &&
	       hashindex_reserve(&l->index, always);
}

int labels_init(struct labels *l, struct budget *budget)
{
	*l = (struct labels){ .budget = budget, .index.budget = budget };
	if (!grow(l, 1, true)) {
		labels_done(l);
		return -ENOMEM;
	}
	/* The empty set has no entry in the index; labels_add knows it by its length. */
	l->set[l->n++] = (struct labels_set){ 0, 0 };
	return 0;
}

void labels_done(struct labels *l)
{
	if (l->budget)
		budget_release(l->budget, l->cap_v * sizeof(*l->v) + l->cap * sizeof(*l->set));
	free(l->v);
	free(l->set);
	hashindex_done(&l->index);
	*l = (struct labels){ 0 };
}

/* Sorts by key, keeps the last label of each key, and returns how many remain.  Sets are short and
 * mostly sorted, so insertion sort is fastest; it is also stable. */
static uint32_t sort_unique(struct label *label, uint32_t n)
{
	uint32_t n_out = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct label moving = label[i];
		uint32_t at = n_out;
		while (at && label[at - 1].key > moving.key)
			at--;
		if (at && label[at - 1].key == moving.key) {
			label[at - 1] = moving;
			continue;
		}
		memmove(label + at + 1, label + at, (n_out - at) * sizeof(*label));
		label[at] = moving;
		n_out++;
	}
	return n_out;
}

uint32_t labels_add(struct labels *l, struct label *label, size_t n_given, bool always)
{
	if (n_given > LABELS_PER_SET_MAX)
		return LABELS_NONE;
	if (!n_given)
		return 0;
	uint32_t n = sort_unique(label, (uint32_t)n_given);
	size_t n_bytes = n * sizeof(*label);
	uint64_t hash = hash_bytes(label, n_bytes);
	uint32_t id = HASHINDEX_FIND(&l->index, hash, i, l->set[i].n == n &&
				     memcmp(l->v + l->set[i].first, label, n_bytes) == 0);
	if (id != HASHINDEX_NONE)
		return id;
	if (!grow(l, n, always))
		return LABELS_NONE;
	id = l->n++;
	memcpy(l->v + l->n_v, label, n_bytes);
	l->set[id] = (struct labels_set){ .first = l->n_v, .n = n };
	l->n_v += n;
	hashindex_put(&l->index, hash, id);
	return id;
}

const struct label *labels_get(const struct labels *l, uint32_t set, uint32_t *ret_n)
{
	assert(set < l->n);
	*ret_n = l->set[set].n;
	return l->v + l->set[set].first;
}

uint32_t labels_join(struct labels *l, uint32_t first, uint32_t second)
{
	if (!first || !second || first == second)
		return second ? second : first;
	struct label label[LABELS_PER_SET_MAX];
	uint32_t n, n_more;
	const struct label *v = labels_get(l, first, &n);
	memcpy(label, v, n * sizeof(*v));
	v = labels_get(l, second, &n_more);
	if (n_more > LABELS_PER_SET_MAX - n)
		n_more = LABELS_PER_SET_MAX - n;
	memcpy(label + n, v, n_more * sizeof(*v));
	uint32_t id = labels_add(l, label, n + n_more, false);
	return id == LABELS_NONE ? first : id;
}
