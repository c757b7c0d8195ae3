#ifndef CPROF_SYMBOLIZE_JIT_JITCALLS_H
#define CPROF_SYMBOLIZE_JIT_JITCALLS_H

/*
 * What addresses of JIT code are called that was described by its own runtime: one function for
 * each, and those that are inlined there.  Code that took the place of other code is in the next
 * layer, so that an address in a layer has one meaning for ever.
 */

#include "base/hashindex.h"
#include "base/strtab.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget;

struct jitcalls_call {
	uint32_t name, linkage, file;   /* of the strings below; linkage and file may be 0 */
	uint32_t line, first_line;      /* of the function; 0: unknown */
};

struct jitcalls_place {
	uint64_t pc;
	uint32_t layer;
	uint32_t first, n;              /* calls, innermost first */
};

struct jitcalls {
	struct strtab strings;
	VEC(struct jitcalls_call) call;
	VEC(struct jitcalls_place) place;
	struct hashindex index;
};

int jitcalls_init(struct jitcalls *j, struct budget *budget);   /* -ENOMEM */
void jitcalls_done(struct jitcalls *j);

/* The id of a text; 0: NULL, or no memory or budget.  Control characters become '?'. */
uint32_t jitcalls_text(struct jitcalls *j, const char *text);

/* Adds a place that is not known yet.  False: no memory or budget. */
bool jitcalls_add(struct jitcalls *j, uint32_t layer, uint64_t pc,
		  const struct jitcalls_call *call, size_t n);

/* Borrowed until the next jitcalls_add; NULL: nothing is known. */
const struct jitcalls_place *jitcalls_find(const struct jitcalls *j, uint32_t layer, uint64_t pc);

#endif
