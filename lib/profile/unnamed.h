#ifndef CPROF_PROFILE_UNNAMED_H
#define CPROF_PROFILE_UNNAMED_H

/* Samples that show no functions of the program's own language: JIT code without names, or an
 * interpreter's frames alone. */

#include <stdint.h>

#include "cprof.h"

struct engine;
struct names;

/* Less is not reported. */
#define UNNAMED_MIN_PERCENT 5.0

/* The language with the largest share of a profile's value. */
struct cprof_unnamed unnamed_find(const struct engine *g, const struct names *names,
				  uint32_t output);

#endif
