#ifndef CPROF_INTERP_VMCODES_H
#define CPROF_INTERP_VMCODES_H

/*
 * The functions of a process that were met so far, for languages whose functions are described by
 * objects in its memory.  An object may be copied or replaced: a function is known by what its
 * object says, which is read again for each reading.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/hashindex.h"
#include "base/vec.h"
#include "interp/codespans.h"
#include "symbolize/runtime/runtime-frames.h"

struct vfuncs;

#define VMCODES_NONE UINT32_MAX

struct vmcode {
	struct runtime_function_key key;
	uint32_t function;              /* of vfuncs */
	uint64_t start, n_bytes;        /* its instructions */
	struct runtime_function_lines lines;
	uint32_t met;                   /* in which reading */
	bool is_read_twice;
};

struct vmcodes {
	/* Borrowed; set by the owner. */
	struct vfuncs *vfuncs;
	const char *prefix;             /* of names: "php::" */
	uint32_t reading;               /* another number each time that memory is read anew */
	uint32_t epoch;                 /* ids are valid until it changes */
	/* Private. */
	VEC(struct vmcode) v;
	struct codespans spans;
	struct hashindex by_key;
};
void vmcodes_done(struct vmcodes *c);

/* Forgets all if there are too many. */
void vmcodes_limit(struct vmcodes *c);

/* VMCODES_NONE: it was not met. */
uint32_t vmcodes_find(const struct vmcodes *c, const struct runtime_function_key *key);

/* A function that was not met; takes its lines.  VMCODES_NONE: no memory. */
uint32_t vmcodes_add(struct vmcodes *c, const struct runtime_function_key *key,
		     struct runtime_function *f);

/* Is it to be read once more?  When it was met, the page with its name may have been read before it
 * was made. */
bool vmcodes_is_young(const struct vmcodes *c, uint32_t id);

/* What it says then; takes its lines.  NULL: it could not be read. */
void vmcodes_read_again(struct vmcodes *c, uint32_t id, struct runtime_function *f);

/* The function with an instruction that contains that address; VMCODES_NONE: none. */
uint32_t vmcodes_of(const struct vmcodes *c, uint64_t instruction);

#endif
