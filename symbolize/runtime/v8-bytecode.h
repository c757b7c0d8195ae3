#ifndef CPROF_SYMBOLIZE_RUNTIME_V8_BYTECODE_H
#define CPROF_SYMBOLIZE_RUNTIME_V8_BYTECODE_H

/*
 * Which function a piece of bytecode belongs to.  Nothing in it says that, but the frame of a
 * function has both the bytecode and the function, and the function leads to its bytecode, too: a
 * frame whose two do not agree is not believed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/runtime/runtime-code.h"
#include "symbolize/runtime/v8-ranges.h"

struct v8_heap;

#define V8_BYTECODE_PAIRS 1024u

struct v8_bytecodes {
	struct v8_ranges ranges;        /* objects: bytecode begins within them */
	uint32_t n_learned;
	/* Private: functions and bytecode of frames that were looked at. */
	struct { uint64_t function, bytecode; bool is_equal; } pair[V8_BYTECODE_PAIRS];
};

void v8_bytecodes_remove(struct v8_bytecodes *b, const struct v8_range *which);

/* The SharedFunctionInfo of a function; 0: it cannot be read. */
uint64_t v8_bytecodes_shared(const struct v8_heap *h, uint64_t function);

/* The bytecode that a frame executes; NULL: it is not that of a function, or its function and its
 * bytecode do not agree.  h is for one question. */
const struct v8_range *v8_bytecodes_of_frame(struct v8_bytecodes *b, const struct v8_heap *h,
					     const struct runtime_frame *f);

#endif
