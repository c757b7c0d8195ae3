#ifndef CPROF_CMD_LABELOPT_H
#define CPROF_CMD_LABELOPT_H

/* --label and --labels, which several commands have. */

#include <stddef.h>

struct argp_state;

/* The bits (enum cprof_label) of "pid,tid" or "none"; ends with a usage error for a name that is
 * not among those of `known`. */
unsigned labelopt_parse(struct argp_state *state, const char *arg, unsigned known);

/* Appends "KEY=VALUE" to *v; ends with a usage error for anything else. */
void labelopt_add(struct argp_state *state, const char *arg, const char ***v, size_t *n,
		  size_t *cap);

#endif
