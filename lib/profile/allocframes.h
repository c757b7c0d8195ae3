#ifndef CPROF_PROFILE_ALLOCFRAMES_H
#define CPROF_PROFILE_ALLOCFRAMES_H

/* The innermost frames of a stack that allocates: libcprof-alloc.so, malloc(3) and operator new say
 * nothing, because they are in all stacks. */

#include <stdint.h>

struct engine;
struct names;

/* By id of a stack: the same without these frames; a stack of nothing else stays as it is.  The
 * caller frees it; NULL: no memory. */
uint32_t *allocframes_trim(const struct engine *g, const struct names *names);

#endif
