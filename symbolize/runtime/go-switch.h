#ifndef CPROF_SYMBOLIZE_RUNTIME_GO_SWITCH_H
#define CPROF_SYMBOLIZE_RUNTIME_GO_SWITCH_H

/* Who called a function of the Go runtime that has switched to another stack. */

#include "symbolize/runtime/runtime.h"

/* As the member of struct runtime. */
enum runtime_caller go_switch_caller(const struct runtime_switch *s, uint64_t *ret_ra);

#endif
