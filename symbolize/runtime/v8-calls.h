#ifndef CPROF_SYMBOLIZE_RUNTIME_V8_CALLS_H
#define CPROF_SYMBOLIZE_RUNTIME_V8_CALLS_H

/*
 * The line of a call in a function's code, and the functions that the compiler has inlined there.
 * Its tables have calls only, so that nothing is known of other instructions.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "symbolize/runtime/runtime-code.h"
#include "symbolize/runtime/v8-function.h"

struct v8_heap;

/* A function that is inlined, by its number among the code's constants. */
struct v8_inlined {
	uint32_t number;
	struct v8_function function;    /* name NULL: it cannot be read */
};

/* What is known of one piece of code. */
struct v8_calls {
	struct v8_function own;
	uint64_t positions;             /* a table of V8, an object */
	uint64_t first;                 /* the address that its offsets count from */
	uint64_t deopt;                 /* the data of the deoptimizer; 0: it is bytecode */
	VEC(struct v8_inlined *) inlined;
};

void v8_calls_done(struct v8_calls *c);
size_t v8_calls_bytes(const struct v8_calls *c);

/* The functions at pc, innermost first; strings are c's.  Returns their number, at least 1. */
size_t v8_calls_find(const struct v8_heap *h, struct v8_scripts *scripts, struct v8_calls *c,
		     uint64_t pc, struct runtime_call ret[RUNTIME_CALLS_MAX]);

#endif
