/* A reading may be too late, and be that of another activation. */

#include "interp/interp-entries.h"

#include "base/hash.h"

#define LEARNED_MIN 4u
#define OTHERS_PART 16u                 /* so many readings may have one that says otherwise */
#define LEARNED_MAX 100000u

void interp_entries_learn(struct interp_entries *e, uint64_t pc, bool is_generator)
{
	uint64_t slot = hash_u64(pc) % INTERP_ENTRIES;
	if (e->v[slot].pc != pc) {
		e->v[slot].pc = pc;
		e->v[slot].n_functions = e->v[slot].n_generators = 0;
	}
	if (e->v[slot].n_functions + e->v[slot].n_generators >= LEARNED_MAX)
		return;
	e->v[slot].n_functions += !is_generator;
	e->v[slot].n_generators += is_generator;
}

enum interp_entry interp_entries_find(const struct interp_entries *e, uint64_t pc)
{
	uint64_t slot = hash_u64(pc) % INTERP_ENTRIES;
	uint32_t n_functions = e->v[slot].n_functions, n_generators = e->v[slot].n_generators;
	if (e->v[slot].pc != pc || n_functions + n_generators < LEARNED_MIN)
		return INTERP_ENTRY_UNKNOWN;
	if (n_generators * OTHERS_PART <= n_functions)
		return INTERP_ENTRY_FUNCTION;
	return n_functions * OTHERS_PART <= n_generators ? INTERP_ENTRY_GENERATOR :
							    INTERP_ENTRY_UNKNOWN;
}
