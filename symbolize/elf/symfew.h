#ifndef CPROF_SYMBOLIZE_ELF_SYMFEW_H
#define CPROF_SYMBOLIZE_ELF_SYMFEW_H

/*
 * The symbols that decide about a few addresses.  Sorting a whole table takes longer than reading
 * it, so for a few addresses it is read twice, and the others are left out.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symfew {
	const uint64_t *vaddr;  /* sorted; borrowed */
	size_t n;
	bool is_chosen;         /* the second round */
	bool is_unsure;         /* all symbols are needed after all */
	uint64_t *from;         /* the symbols of each address begin here and end at the address */
	uint64_t *nearest;      /* the last start at or below it; 0: none */
	uint64_t *next;         /* the first start above it */
};

/* False: out of memory. */
bool symfew_init(struct symfew *f, const uint64_t *vaddr, size_t n);
void symfew_done(struct symfew *f);

/* May a symbol be needed?  Its end is not below the real one. */
bool symfew_matters(const struct symfew *f, uint64_t start, uint64_t end);

/* The next symbol; end: start if it has no size.  Returns whether it is needed, in the second
 * round. */
bool symfew_take(struct symfew *f, uint64_t start, uint64_t end);

/* Ends the first round, in which all symbols were seen. */
void symfew_choose(struct symfew *f);

/* Is it one of the addresses?  *ret_next: the first start of a symbol above it. */
bool symfew_has(const struct symfew *f, uint64_t vaddr, uint64_t *ret_next);

#endif
