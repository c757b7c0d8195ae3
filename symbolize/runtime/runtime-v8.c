/* V8 in Node.js: the compilers keep the frame pointer, so that only names are missing. */

#include "symbolize/runtime/runtime-private.h"

#include "symbolize/runtime/v8-code.h"

const struct runtime runtime_v8 = {
	.name = "V8",
	.library = "libnode.so",
	.program = "node",
	.code = &v8_code_ops,
};
