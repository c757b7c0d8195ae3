#ifndef CPROF_AGG_COUNTS_H
#define CPROF_AGG_COUNTS_H

/*
 * The profile itself: (event, stack, label set) -> number of samples and sum of their periods.
 */

#include "base/hashindex.h"

#include <stdbool.h>
#include <stdint.h>

struct budget;

struct count {
	uint32_t stack;      /* stacks id */
	uint32_t labels;     /* labels id */
	uint32_t event;
	uint64_t n_samples;
	uint64_t value;      /* sum of periods, in the event's unit; saturates */
};

struct counts {
	struct budget *budget;
	struct count *v;
	uint32_t n, cap;
	struct hashindex index;
};

int counts_init(struct counts *c, struct budget *budget);
void counts_done(struct counts *c);

/* Adds to an entry, which is created if needed.  False, with nothing added, when that needs memory
 * and there is none, or the budget refuses (not with `always`). */
bool counts_add(struct counts *c, uint32_t event, uint32_t stack, uint32_t labels,
		uint64_t n_samples, uint64_t value, bool always);

/* The same; *place is where the entry may be, any number, and becomes where it is. */
bool counts_add_near(struct counts *c, uint32_t event, uint32_t stack, uint32_t labels,
		     uint64_t n_samples, uint64_t value, bool always, uint32_t *place);

/* Starts to load what counts_add_near will read. */
void counts_prefetch(const struct counts *c, uint32_t event, uint32_t stack, uint32_t labels);
static inline void counts_prefetch_place(const struct counts *c, uint32_t place)
{
	if (place < c->n)
		__builtin_prefetch(&c->v[place], 1);
}

/* Subtracts from an entry.  False, with nothing changed, if it contains less.  An entry stays even
 * with 0 samples; readers must skip it then. */
bool counts_take(struct counts *c, uint32_t event, uint32_t stack, uint32_t labels,
		 uint64_t n_samples, uint64_t value);

/* The index of an entry in v; UINT32_MAX: there is none. */
uint32_t counts_find(const struct counts *c, uint32_t event, uint32_t stack, uint32_t labels);

#endif
