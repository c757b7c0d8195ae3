#ifndef CPROF_SYMBOLIZE_RUNTIME_V8_CODE_H
#define CPROF_SYMBOLIZE_RUNTIME_V8_CODE_H

/* Compiled and interpreted functions of JavaScript by V8's own objects: struct runtime_code_ops.
 * Where they are is in v8-layout.h. */

extern const struct runtime_code_ops v8_code_ops;

#endif
