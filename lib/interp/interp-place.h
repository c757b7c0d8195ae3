#ifndef CPROF_INTERP_INTERP_PLACE_H
#define CPROF_INTERP_INTERP_PLACE_H

/* What a sample says of the functions in its places (activations.h). */

#include <stdbool.h>
#include <stdint.h>

#include "interp/activations.h"
#include "interp/interp-ops.h"

struct interp_chains;

/* A sample, and what is remembered. */
struct interp_place_sample {
	const struct interp_runtime *r;
	const struct interp_chains *chains;
	const struct activations *a;
};

/* May it be an address of memory that programs allocate? */
static inline bool interp_place_is_address(uint64_t value)
{
	return value >= 65536 && value >> 47 == 0;
}

/* The function whose instruction is in that place, and its offset.
 * INTERP_NO_CODE: there is none. */
static inline uint32_t interp_place_code(const struct interp_place_sample *s,
					 const struct activation *one, uint32_t place,
					 uint32_t *ret_off)
{
	uint64_t value;
	if (place == ACTIVATION_NO_PLACE || !activations_value(s->a, one, place, &value) ||
	    !interp_place_is_address(value))
		return INTERP_NO_CODE;
	return s->r->code_of(s->r->ctx, value, INTERP_SEARCH_LIKELY, ret_off);
}

#endif
