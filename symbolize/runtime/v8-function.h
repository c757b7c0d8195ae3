#ifndef CPROF_SYMBOLIZE_RUNTIME_V8_FUNCTION_H
#define CPROF_SYMBOLIZE_RUNTIME_V8_FUNCTION_H

/* What a function of JavaScript is called, and where it is: by its SharedFunctionInfo. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/runtime/v8-script.h"

struct v8_heap;

struct v8_function {
	/* Without a name of its own "(anonymous main.js:12)".  file NULL: it has no source. */
	char *name, *file;
	uint32_t first_line;            /* 0: unknown */
	struct v8_script_key script;
};

/* False: it cannot be read, or no memory. */
bool v8_function_read(const struct v8_heap *h, struct v8_scripts *scripts, uint64_t shared,
		      struct v8_function *ret);
void v8_function_done(struct v8_function *f);
size_t v8_function_bytes(const struct v8_function *f);

/* The bytecode that the data of a SharedFunctionInfo, or of baseline code, leads to; 0: there is no
 * bytecode. */
uint64_t v8_function_bytecode(const struct v8_heap *h, uint64_t data);

#endif
