#ifndef CPROF_INTERP_INTERP_ENTRIES_H
#define CPROF_INTERP_INTERP_ENTRIES_H

/*
 * What native code makes the loop execute: a function, or a generator, which goes on.  These are
 * different calls of the loop, so the return address of an activation says which; readings teach
 * it.
 */

#include <stdbool.h>
#include <stdint.h>

#define INTERP_ENTRIES 64u

enum interp_entry { INTERP_ENTRY_UNKNOWN, INTERP_ENTRY_FUNCTION, INTERP_ENTRY_GENERATOR };

struct interp_entries {
	struct { uint64_t pc; uint32_t n_functions, n_generators; } v[INTERP_ENTRIES];
};

/* An activation that returns to pc executes first a function, or a generator. */
void interp_entries_learn(struct interp_entries *e, uint64_t pc, bool is_generator);

enum interp_entry interp_entries_find(const struct interp_entries *e, uint64_t pc);

#endif
