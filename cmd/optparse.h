#ifndef CPROF_CMD_OPTPARSE_H
#define CPROF_CMD_OPTPARSE_H

/* Values of options that several commands parse.  Each function reports a wrong value with
 * argp_error, which ends the program; `option` is the option as the user writes it. */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct argp_state;

/* A time from min_ns on, up to max_ns. */
uint64_t optparse_time(struct argp_state *state, const char *option, const char *arg,
		       uint64_t min_ns, uint64_t max_ns);

/* A size in bytes, not 0. */
uint64_t optparse_size(struct argp_state *state, const char *option, const char *arg);

uint64_t optparse_number(struct argp_state *state, const char *option, const char *arg,
			 uint64_t min, uint64_t max);

/* Appends the ids of a list, "12,34", to the vector *v. */
void optparse_thread_ids(struct argp_state *state, const char *arg, pid_t **v, size_t *n,
			 size_t *cap);

/* Appends arg itself. */
void optparse_append(struct argp_state *state, const char *arg, const char ***v, size_t *n,
		     size_t *cap);

/* Appends "KEY=VALUE". */
void optparse_label(struct argp_state *state, const char *arg, const char ***v, size_t *n,
		    size_t *cap);

#endif
