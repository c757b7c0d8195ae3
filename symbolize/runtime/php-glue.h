#ifndef CPROF_SYMBOLIZE_RUNTIME_PHP_GLUE_H
#define CPROF_SYMBOLIZE_RUNTIME_PHP_GLUE_H

/* Native functions of PHP that only pass calls on, by their names. */

#include <stdbool.h>

bool php_glue_is(const char *name);

#endif
