#ifndef CPROF_ENGINE_ALLOCAGE_H
#define CPROF_ENGINE_ALLOCAGE_H

#include <stdint.h>

struct engine;

/* Gives the blocks in use the label age, in seconds: 0, 1, 2, 4, 8 ... */
void allocage_add(struct engine *g, uint64_t now_ns);

#endif
