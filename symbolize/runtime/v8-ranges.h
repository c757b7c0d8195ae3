#ifndef CPROF_SYMBOLIZE_RUNTIME_V8_RANGES_H
#define CPROF_SYMBOLIZE_RUNTIME_V8_RANGES_H

/* Which functions ranges of memory belong to: bytecode, or compiled code. */

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct v8_range {
	uint64_t start, end;
	uint64_t shared;                /* the function's SharedFunctionInfo, an object */
};

struct v8_ranges {
	VEC(struct v8_range) v;         /* sorted, not overlapping */
};

/* The range that contains an address; NULL: none. */
const struct v8_range *v8_ranges_find(const struct v8_ranges *r, uint64_t at);

/* Takes the place of the ranges that it overlaps.  NULL: there are too many, or no memory. */
const struct v8_range *v8_ranges_add(struct v8_ranges *r, struct v8_range new);

void v8_ranges_remove(struct v8_ranges *r, const struct v8_range *which);

#endif
