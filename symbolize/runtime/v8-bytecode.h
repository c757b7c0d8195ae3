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

#include "base/vec.h"
#include "symbolize/runtime/runtime-code.h"

struct v8_heap;

#define V8_BYTECODE_PAIRS 1024u

/* One piece; addresses in the process. */
struct v8_bytecode {
	uint64_t start, end;            /* of the object; bytecode begins within it */
	uint64_t shared;                /* its SharedFunctionInfo, an object */
};

struct v8_bytecodes {
	VEC(struct v8_bytecode) v;      /* sorted, not overlapping */
	/* Private: functions and bytecode of frames that were looked at. */
	struct { uint64_t function, bytecode; bool is_equal; } pair[V8_BYTECODE_PAIRS];
};

void v8_bytecodes_done(struct v8_bytecodes *b);

/* What is known of the bytecode at an address; NULL: nothing. */
const struct v8_bytecode *v8_bytecodes_find(const struct v8_bytecodes *b, uint64_t at);
void v8_bytecodes_remove(struct v8_bytecodes *b, const struct v8_bytecode *which);

/* The bytecode that a frame executes; NULL: it is not that of a function, or its function and its
 * bytecode do not agree.  h is for one question. */
const struct v8_bytecode *v8_bytecodes_of_frame(struct v8_bytecodes *b, const struct v8_heap *h,
						const struct runtime_frame *f);

#endif
