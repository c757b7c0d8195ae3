#ifndef CPROF_BASE_HASHINDEX_H
#define CPROF_BASE_HASHINDEX_H

/*
 * A hash index over items that the caller keeps by number: it maps a hash to the ids of the items
 * with that hash, and the caller compares the items.
 *
 *	struct hashindex index = { 0 };
 *	uint64_t hash = hash_u64(key);
 *	uint32_t id = HASHINDEX_FIND(&index, hash, i, item[i].key == key);
 *	if (id == HASHINDEX_NONE)
 *		hashindex_add(&index, hash, new_id);
 *
 * Open addressing with linear probing.  A slot also holds half of the hash: a probe reads an item
 * only when that half matches, and growing and removing read no items at all.  At most half of the
 * slots are in use, but three quarters where a budget makes memory more important than speed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget;

#define HASHINDEX_NONE UINT32_MAX

struct hashindex {               /* all zeros: empty */
	struct budget *budget;   /* charged for the slots; may be NULL */
	uint64_t *slot;          /* high half of the hash << 32 | id + 1; 0: free */
	uint32_t n, n_slots;     /* n_slots is 0 or a power of two */
};

/* Frees the slots and leaves an empty index with the same budget. */
void hashindex_done(struct hashindex *x);

/* Doubles the slots.  See hashindex_reserve. */
bool hashindex_grow(struct hashindex *x, bool always);

/*
 * Makes room for one more id.  False, with nothing changed, when memory is out or when the budget
 * refuses.  `always` charges beyond the budget, but fills seven eighths of the slots first.
 */
static inline bool hashindex_reserve(struct hashindex *x, bool always)
{
	uint32_t limit = x->budget ? x->n_slots - x->n_slots / 4 : x->n_slots / 2;
	return x->n < limit || hashindex_grow(x, always);
}

/* Adds an id (below HASHINDEX_NONE) that is not in the index, after hashindex_reserve. */
static inline void hashindex_put(struct hashindex *x, uint64_t hash, uint32_t id)
{
	uint32_t mask = x->n_slots - 1, i = (uint32_t)(hash >> 32) & mask;
	while (x->slot[i])
		i = (i + 1) & mask;
	x->slot[i] = hash >> 32 << 32 | ((uint64_t)id + 1);
	x->n++;
}

/* Makes room and adds the id; false as hashindex_reserve. */
static inline bool hashindex_add(struct hashindex *x, uint64_t hash, uint32_t id)
{
	if (!hashindex_reserve(x, false))
		return false;
	hashindex_put(x, hash, id);
	return true;
}

/* The id in a slot below n_slots, HASHINDEX_NONE if it is free; for visiting all ids. */
static inline uint32_t hashindex_id(const struct hashindex *x, uint32_t slot)
{
	return (uint32_t)x->slot[slot] - 1;
}

/* Starts to load the slots of a hash, for callers that look up many. */
static inline void hashindex_prefetch(const struct hashindex *x, uint64_t hash)
{
	if (x->n_slots)
		__builtin_prefetch(&x->slot[(uint32_t)(hash >> 32) & (x->n_slots - 1)]);
}

/* Removes an id that was added with this hash; does nothing if it is absent. */
void hashindex_remove(struct hashindex *x, uint64_t hash, uint32_t id);

/*
 * The first id with this hash for which the expression is_equal holds, HASHINDEX_NONE without one.
 * is_equal sees the candidate as a variable of the name given by `id`, as in the example above.
 */
#define HASHINDEX_FIND(index, hash, id, is_equal) \
	({ \
		const struct hashindex *index_ = (index); \
		uint32_t half_ = (uint32_t)((hash) >> 32), mask_ = index_->n_slots - 1; \
		const uint64_t *slots_ = index_->slot; \
		uint32_t id = HASHINDEX_NONE; \
		for (uint32_t at_ = half_ & mask_; slots_; at_ = (at_ + 1) & mask_) { \
			uint64_t slot_ = slots_[at_]; \
			id = (uint32_t)slot_ - 1; /* HASHINDEX_NONE in a free slot */ \
			if (!slot_ || (slot_ >> 32 == half_ && (is_equal))) \
				break; \
		} \
		id; \
	})

#endif
