#ifndef CPROF_AGG_SLOTS_H
#define CPROF_AGG_SLOTS_H

/*
 * The growing of the interning tables: an array of items by id, and a hash table of slots
 * (open addressing, linear probing, power of two, at most half full) that hold id + 1, 0 when
 * free.  Both double, and are charged to the budget before they do; an array grows by less, a
 * sixteenth at least, where that is all that the budget has left.  An item that must go in though
 * the budget is out grows the array by itself alone, and fills the slots to three quarters.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget;

#define SLOTS_FIRST_CAP 256u

/*
 * Makes room for `more` items behind the first n.  False, with nothing changed, when the budget
 * (unless `always`) or memory is out, or when ids would pass 31 bits.
 */
bool slots_grow_array(struct budget *b, void **v, uint32_t *cap, uint32_t n, uint32_t more,
		      size_t item_bytes, bool always);

/* The hash of item id of a table; false for an item that is in no slot. */
typedef bool slots_hash_fn(const void *table, uint32_t id, uint64_t *ret_hash);

/*
 * Makes room for one further item in the slots, which hold n_placed of the n items.
 * False, with nothing changed, as above.
 */
bool slots_grow(struct budget *b, uint32_t **slot, uint32_t *n_slots, uint32_t n_placed,
		uint32_t n, slots_hash_fn *hash, const void *table, bool always);

/* Puts an item that is not there yet into its slot. */
static inline void slots_place(uint32_t *slot, uint32_t n_slots, uint64_t hash, uint32_t id)
{
	uint32_t i = (uint32_t)hash & (n_slots - 1);
	while (slot[i])
		i = (i + 1) & (n_slots - 1);
	slot[i] = id + 1;
}

#endif
