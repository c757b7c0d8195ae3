#ifndef CPROF_VIEW_MODEL_DEDUP_H
#define CPROF_VIEW_MODEL_DEDUP_H

/*
 * From the hash of a thing to the indices of things with that hash in some array,
 * which the caller compares.  Indices are below UINT32_MAX.  Not found and growing:
 *
 *	size_t at = 0;
 *	for (uint32_t i; (i = dedup_next(&d, hash, &at)) != DEDUP_NONE;)
 *		if (equal(i)) return i;
 *	dedup_add(&d, hash, n);
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define DEDUP_NONE UINT32_MAX

struct dedup {
	uint64_t *slot;  /* high half of the hash << 32 | index + 1; 0: free */
	size_t n, n_slots;
};

/* The next index with this hash, DEDUP_NONE when there is none.  *at is 0 at first. */
static inline uint32_t dedup_next(const struct dedup *d, uint64_t hash, size_t *at)
{
	if (d->n_slots == 0)
		return DEDUP_NONE;
	size_t mask = d->n_slots - 1;
	for (size_t i = *at ? *at : ((hash >> 32) & mask) + 1;; i = (i & mask) + 1) {
		uint64_t slot = d->slot[i - 1];
		if (!slot)
			return DEDUP_NONE;
		if (slot >> 32 == hash >> 32) {
			*at = (i & mask) + 1;
			return (uint32_t)slot - 1;
		}
	}
}

static inline void dedup_put(uint64_t *slot, size_t n_slots, uint64_t value)
{
	size_t i = (value >> 32) & (n_slots - 1);
	while (slot[i])
		i = (i + 1) & (n_slots - 1);
	slot[i] = value;
}

/* false when memory is out. */
static inline bool dedup_add(struct dedup *d, uint64_t hash, uint32_t index)
{
	if (2 * (d->n + 1) > d->n_slots) {
		size_t n_slots = d->n_slots ? d->n_slots * 2 : 64;
		uint64_t *slot = calloc(n_slots, sizeof(*slot));
		if (!slot)
			return false;
		for (size_t i = 0; i < d->n_slots; i++)
			if (d->slot[i])
				dedup_put(slot, n_slots, d->slot[i]);
		free(d->slot);
		d->slot = slot;
		d->n_slots = n_slots;
	}
	dedup_put(d->slot, d->n_slots, hash >> 32 << 32 | ((uint64_t)index + 1));
	d->n++;
	return true;
}

static inline void dedup_done(struct dedup *d)
{
	free(d->slot);
	*d = (struct dedup){ 0 };
}

#endif
