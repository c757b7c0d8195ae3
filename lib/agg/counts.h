#ifndef CPROF_AGG_COUNTS_H
#define CPROF_AGG_COUNTS_H

/*
 * The profile proper: (event, stack, label set) -> number of samples and sum of their periods.
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

/* Adds to the entry, making it if need be; false, with nothing added, when it is new and the
 * budget is out (unless `always`) or memory. */
bool counts_add(struct counts *c, uint32_t event, uint32_t stack, uint32_t labels,
		uint64_t n_samples, uint64_t value, bool always);

/* Takes back what was added; false, with nothing done, when so much was not.  The entry stays, and
 * may be of 0 samples then: it is to be passed over. */
bool counts_take(struct counts *c, uint32_t event, uint32_t stack, uint32_t labels,
		 uint64_t n_samples, uint64_t value);

#endif
