#ifndef CPROF_STACK_STACK_ARGS_H
#define CPROF_STACK_STACK_ARGS_H

#include <stdbool.h>
#include <stdint.h>

struct arch;
struct record;

/* The first three arguments of the system call that the thread of SAMPLE r is in: the kernel keeps
 * its registers of the call.  False: the sample has none of them, or it is 32-bit code. */
#define STACK_ARGS 3u
bool stack_args(const struct arch *arch, const struct record *r, uint64_t ret[STACK_ARGS]);

#endif
