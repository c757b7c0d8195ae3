#ifndef CPROF_ENGINE_UNWOUND_H
#define CPROF_ENGINE_UNWOUND_H

#include <stdint.h>

struct engine;

/* Stacks unwound by CFI since the start, never reset. */
struct unwound {
	uint64_t n_stacks;             /* all */
	uint64_t n_beyond;             /* longer than their copy */
	uint64_t n_switched;           /* of a runtime that works on other stacks */
};

/* Those of an engine and its shards (shards.h). */
struct unwound unwound_by(const struct engine *g);

#endif
