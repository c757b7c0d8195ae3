#ifndef CPROF_SYMBOLIZE_RUNTIME_HOTSPOT_INTERPRETER_H
#define CPROF_SYMBOLIZE_RUNTIME_HOTSPOT_INTERPRETER_H

/*
 * Frames of interpreted methods.  All of them have their pc in the interpreter, but the frame has
 * the method and the next bytecode, whose address takes the place of the pc.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/hashindex.h"
#include "base/vec.h"

struct hotspot_layout;
struct runtime_frame;
struct runtime_memory;

struct hotspot_interpreted {
	uint64_t method;                /* address of the Method */
	uint64_t start, end;            /* its bytecode; of a native method the Method itself */
};

struct hotspot_interpreter {
	uint64_t low, high;             /* its code; 0: not known yet */
	VEC(struct hotspot_interpreted) methods;
	struct hashindex by_method;
};

void hotspot_interpreter_done(struct hotspot_interpreter *p);

/* Is it a frame of an interpreted method?  Then *ret_pc is an address in its bytecode. */
bool hotspot_interpreter_frame(struct hotspot_interpreter *p, const struct hotspot_layout *l,
			       const struct runtime_memory *memory, const struct runtime_frame *f,
			       uint64_t *ret_pc);

/* The method at such an address, or NULL.  Borrowed until the next frame. */
const struct hotspot_interpreted *hotspot_interpreter_at(const struct hotspot_interpreter *p,
							 uint64_t pc);

#endif
