#ifndef CPROF_PROFILE_LOCKNAMES_H
#define CPROF_PROFILE_LOCKNAMES_H

/* Names of the variables that are locks, for the label lock (labels/locklabels.h): "table+8". */

#include <stdint.h>

#include "base/vec.h"

struct engine;
struct symbolizer_options;

/* Both are strtab ids of the engine's strings. */
struct locknames_name { uint32_t text, name; };

/* All zeros: empty. */
struct locknames { VEC(struct locknames_name) name; };  /* sorted by text */

/* Looks up the names of those that are new since the last call.  -ENOMEM. */
int locknames_resolve(struct engine *g, const struct symbolizer_options *o, struct locknames *l);
void locknames_done(struct locknames *l);

/* What to write for that value of the label: the variable's name, or the value itself. */
uint32_t locknames_of(const struct locknames *l, uint32_t text);

#endif
