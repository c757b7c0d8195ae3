#ifndef CPROF_SYMBOLIZE_RUNTIME_PYTHON_GLUE_H
#define CPROF_SYMBOLIZE_RUNTIME_PYTHON_GLUE_H

/* Native functions of CPython that only pass calls on, by their names. */

#include <stdbool.h>

bool python_glue_is(const char *name);

#endif
