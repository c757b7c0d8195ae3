#ifndef CPROF_CMD_CALLGRAPHOPT_H
#define CPROF_CMD_CALLGRAPHOPT_H

/* The option --call-graph of record and import. */

#include "cprof.h"

struct argp_state;

/* Parses its argument; ends with argp_error where it is none.  ret_bytes is the size of
 * "dwarf,SIZE", 0 where there is none; NULL: a size makes no sense. */
enum cprof_callgraph callgraphopt_parse(struct argp_state *state, const char *arg,
					uint32_t *ret_bytes);

#endif
