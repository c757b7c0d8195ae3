#ifndef CPROF_VIEW_CONVERT_FROM_JEMALLOC_H
#define CPROF_VIEW_CONVERT_FROM_JEMALLOC_H

/*
 * Heap profiles of jemalloc: version 2 of its text (prof.dump), with sums over all threads for each
 * stack.  Allocated blocks are there only with prof_accum; without, the profile has blocks in use
 * only.  Values are corrected for sampling.
 */

#include <stdbool.h>
#include <stddef.h>

struct err;
struct model;

/* Does the text begin with a heap profile of any version? */
bool from_jemalloc_is(const char *text, size_t n_bytes);

/* -EINVAL: another version, or a line that is wrong (e names it); -E2BIG; -ENOMEM. */
int from_jemalloc_read(const char *text, size_t n_bytes, struct model **ret, struct err *e);

#endif
