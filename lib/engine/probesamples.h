#ifndef CPROF_ENGINE_PROBESAMPLES_H
#define CPROF_ENGINE_PROBESAMPLES_H

#include <stdint.h>

struct engine;
struct evusdt_args;
struct record;

/* Counts a sample of a USDT probe, which stands for n_hits hits, with what its arguments say. */
void probesamples_add(struct engine *g, const struct record *r, const struct evusdt_args *args,
		      uint64_t n_hits);

#endif
