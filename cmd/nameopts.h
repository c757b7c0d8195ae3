#ifndef CPROF_CMD_NAMEOPTS_H
#define CPROF_CMD_NAMEOPTS_H

/* The options of how names are looked up, shared by commands: a child parser of argp(3) whose input
 * is a struct cprof_naming. */

#include <argp.h>

#define NAMEOPTS_GROUP 6
extern const struct argp nameopts_argp;

/* The same for what is named only where it was recorded or imported. */
extern const struct argp nameopts_kernel_argp;

#endif
