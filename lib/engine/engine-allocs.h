#ifndef CPROF_ENGINE_ENGINE_ALLOCS_H
#define CPROF_ENGINE_ENGINE_ALLOCS_H

/* What an engine does for profiles of memory besides records: see allocs.h. */

#include "engine/allocs.h"
#include "engine/engine.h"

/* The profile that counts of an event belong to; those of blocks in use are of the first one. */
static inline uint32_t engine_output_of(const struct engine *g, uint32_t event)
{
	event = event < g->options.n_events ? event : 0;
	return g->options.output ? g->options.output[event] : event;
}

/* Where SAMPLE r of a target belongs, which counts as one of the event's samples with this value,
 * but is not in the profile yet.  False: of no target, or there is no memory. */
bool engine_place_sample(struct engine *g, const struct record *r, const struct engine_values *v,
			 uint32_t *ret_stack, uint32_t *ret_labels);

#endif
