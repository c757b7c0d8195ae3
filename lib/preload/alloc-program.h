#ifndef CPROF_PRELOAD_ALLOC_PROGRAM_H
#define CPROF_PRELOAD_ALLOC_PROGRAM_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Does the program itself, not its libraries, refer to a symbol whose name begins so? */
bool alloc_program_refers_to(const char *prefix);

#pragma GCC visibility pop

#endif
