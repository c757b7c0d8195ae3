#ifndef CPROF_SYMBOLIZE_RUNTIME_RUBY_GLUE_H
#define CPROF_SYMBOLIZE_RUNTIME_RUBY_GLUE_H

/* Native functions of Ruby that only pass calls on, by their names. */

#include <stdbool.h>

bool ruby_glue_is(const char *name);

#endif
