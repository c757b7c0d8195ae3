#ifndef CPROF_SNAPSHOT_REMAPS_H
#define CPROF_SNAPSHOT_REMAPS_H

/* The mappings of a process as they are at the time of a snapshot. */

#include <stdint.h>

struct engine;
struct host;
struct targetmem;

/*
 * Replaces what the engine knows about the process, and notes its owner.  All mappings also go to
 * memory (may be NULL).  0 or -errno: -ENOENT or -ESRCH if it has ended, -EACCES or -EPERM if its
 * mappings may not be read; its name is known even then.
 */
int remaps_read(struct engine *g, const struct host *h, uint32_t pid, struct targetmem *memory);

/* Adds the mappings that the process has by now to those that are known.  Returns as above. */
int remaps_add(struct engine *g, const struct host *h, uint32_t pid);

#endif
