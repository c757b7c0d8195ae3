#ifndef CPROF_SYMBOLIZE_RUNTIME_HOTSPOT_UNLOADS_H
#define CPROF_SYMBOLIZE_RUNTIME_HOTSPOT_UNLOADS_H

/*
 * How many classes a JVM has unloaded: memory of classes, methods and their code can be used again
 * for others only after that number has risen.
 */

#include <stdbool.h>
#include <stdint.h>

struct hotspot_layout;
struct runtime_memory;

struct hotspot_unloads {
	uint64_t at[2];                 /* addresses of the counters; 0: unknown */
	unsigned int n_tries;
};

/* False: the JVM does not count, as with -XX:-UsePerfData, or does not yet, or it cannot be
 * read. */
bool hotspot_unloads_read(struct hotspot_unloads *u, const struct hotspot_layout *l,
			  const struct runtime_memory *memory, uint64_t *ret);

#endif
