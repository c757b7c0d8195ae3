#ifndef CPROF_CMD_NAMEOPTS_H
#define CPROF_CMD_NAMEOPTS_H

/* Options for the lookup of names that several commands share: a child parser of argp(3) with a
 * struct cprof_naming as input. */

#include <argp.h>

#define NAMEOPTS_GROUP 6
extern const struct argp nameopts_argp;

/* The same for the kernel, whose names only record, top and import can look up. */
extern const struct argp nameopts_kernel_argp;

#endif
