#ifndef CPROF_SYMBOLIZE_RUNTIME_RUNTIME_PRIVATE_H
#define CPROF_SYMBOLIZE_RUNTIME_RUNTIME_PRIVATE_H

/* The runtimes.  Only this folder and its tests use this. */

#include "symbolize/runtime/runtime.h"

extern const struct runtime runtime_go, runtime_hotspot, runtime_v8, runtime_musl, runtime_boost,
	runtime_libcrypto;

#define RUNTIME_N 6u
extern const struct runtime *const runtime_table[RUNTIME_N];

#endif
