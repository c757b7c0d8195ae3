#ifndef CPROF_INTERP_CODESPANS_H
#define CPROF_INTERP_CODESPANS_H

/* Where the instructions of an interpreter's functions are. */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define CODESPANS_NONE UINT32_MAX

struct codespan { uint64_t start, n_bytes; uint32_t id; };

struct codespans { VEC(struct codespan) v; };  /* sorted */

/* Those that overlap are gone, because they had the same memory, or functions share instructions.
 * Without memory nothing changes. */
void codespans_put(struct codespans *s, const struct codespan *one);

/* The id of the last one that begins at or before an address; CODESPANS_NONE: none. */
uint32_t codespans_find(const struct codespans *s, uint64_t at);

#endif
