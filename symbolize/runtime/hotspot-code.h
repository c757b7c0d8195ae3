#ifndef CPROF_SYMBOLIZE_RUNTIME_HOTSPOT_CODE_H
#define CPROF_SYMBOLIZE_RUNTIME_HOTSPOT_CODE_H

/* Names of a JVM's compiled methods and stubs. */

#include "symbolize/runtime/runtime-code.h"

extern const struct runtime_code_ops hotspot_code_ops;

#endif
