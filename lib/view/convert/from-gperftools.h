#ifndef CPROF_VIEW_CONVERT_FROM_GPERFTOOLS_H
#define CPROF_VIEW_CONVERT_FROM_GPERFTOOLS_H

/*
 * Heap profiles of gperftools: those of HEAPPROFILE, which have every block, and those of its
 * sampler (MallocExtension::GetHeapSample), whose values are corrected for sampling.
 */

#include <stdbool.h>
#include <stddef.h>

struct err;
struct model;

/* Does the text begin with a heap profile of any version? */
bool from_gperftools_is(const char *text, size_t n_bytes);

/* -EINVAL: another version, or a line that is wrong (e names it); -E2BIG; -ENOMEM. */
int from_gperftools_read(const char *text, size_t n_bytes, struct model **ret, struct err *e);

#endif
