#ifndef CPROF_PROFILE_NAMES_MAPPING_H
#define CPROF_PROFILE_NAMES_MAPPING_H

/*
 * The Mappings of a profile: finds the one of an address, and creates it on first use.
 */

#include "profile/names.h"
#include "symbolize/elf/dso.h"

/* The mapping with that file, build id and start, which is made if there is none; NAMES_NO_MAPPING:
 * no memory. */
uint32_t names_mapping_add(struct names *n, struct names_mapping m);

/* The mapping of the segment that contains vaddr; NAMES_NO_MAPPING: no memory. */
uint32_t names_mapping_dso(struct engine *g, struct names *n, const struct dso *d, uint64_t vaddr);

/* An empty mapping in the place of a main binary, which no location has. */
void names_mapping_none(struct engine *g, struct names *n);

/*
 * The mapping of the kernel proper, or of the module that k names for this address, which becomes
 * the address in the profile.  Unless real addresses are requested, that one does not depend on
 * where the kernel was loaded: in the kernel proper it is the address at link time; in a module, a
 * BPF program or a trampoline the distance from its start; elsewhere 0.
 */
uint32_t names_mapping_kernel(struct engine *g, struct names *n, const struct names_options *o,
			      const struct symkernel *k, uint64_t *address);

/* By how much the running kernel was moved, if one of the mappings shows it; else NULL. */
const uint64_t *names_mapping_kernel_shift(const struct engine *g, const struct names *n,
					   const struct names_options *o);

/* Does mapping m, of a frame of the same DSO, also contain vaddr?  A module's has no bounds. */
bool names_mapping_holds(const struct names *n, uint32_t m, enum dso_kind kind, uint64_t vaddr);

#endif
