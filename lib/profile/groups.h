#ifndef CPROF_PROFILE_GROUPS_H
#define CPROF_PROFILE_GROUPS_H

/* The label sets of a profile by group: those with the same cgroup and program. */

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct engine;

struct groups_group {
	uint32_t cgroup, exe, build_id; /* strings of the engine; 0: none */
	uint32_t process_name;         /* 0: several, or none */
	uint64_t n_samples, value;
};

#define GROUPS_NONE UINT32_MAX

struct groups {
	VEC(struct groups_group) group;/* the largest value first */
	uint32_t *of_set;              /* by label set; GROUPS_NONE: it has no samples */
	uint32_t n_sets;
};

/* -ENOMEM.  groups_done in any case. */
int groups_make(const struct engine *g, uint32_t event, struct groups *ret);
void groups_done(struct groups *g);

#endif
