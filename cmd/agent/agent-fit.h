#ifndef CPROF_CMD_AGENT_FIT_H
#define CPROF_CMD_AGENT_FIT_H

/*
 * How much detail a window has, so that its profiles fit into window-size.  In this order:
 * functions have one address each, and no mangled names; more services are combined; some samples
 * stand for their neighbours, too.  The next window begins with what the last one needed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cmd/agent/agent-config.h"

struct agent_fit {
	bool only_functions;
	double keep;                   /* the share of the samples that are written; 1: all */
	unsigned services_max;         /* with a profile of their own */
};

/* All detail. */
void agent_fit_init(struct agent_fit *f, const struct agent_config *c);

/* window-size, or what replaces it. */
uint64_t agent_fit_limit(const struct agent_config *c, unsigned n_cpus);

/* A window with so many profiles has so many bytes, more than the limit.  False if nothing more can
 * be left out. */
bool agent_fit_shrink(struct agent_fit *f, uint64_t bytes, unsigned n_profiles, uint64_t limit);

/* For the window after one that did fit. */
void agent_fit_relax(struct agent_fit *f, const struct agent_config *c, uint64_t bytes,
		     unsigned n_profiles, uint64_t limit);

#endif
