#ifndef CPROF_SESSION_COMPACT_H
#define CPROF_SESSION_COMPACT_H

/*
 * Forgets frames and stacks that no count refers to any more, after counts were emptied: so a
 * recording that goes on for ever needs memory only for the profile that it would write now.
 */

#include <stdbool.h>
#include <stddef.h>

struct counts;
struct engine;

/* Worth it?  So few times that its cost is small beside that of the samples since. */
bool compact_is_due(const struct engine *g);

/*
 * Gives frames and stacks new ids, in the engine's counts and in n further tables.  What threads
 * remember of their last stacks goes; ids that the caller has kept are void.  -ENOMEM with all as
 * it was.
 */
int compact_run(struct engine *g, struct counts *const *more, size_t n);

#endif
