#ifndef CPROF_CMD_SERVE_SERVE_OPTS_H
#define CPROF_CMD_SERVE_SERVE_OPTS_H

/*
 * The options of cprof serve.  The command parses them to report mistakes, and starts the program
 * cprof-serve with the same words, which parses them again.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct argp;

struct serve_opts {
	VEC(const char *) listen;      /* as given; none: the default socket */
	VEC(const char *) host;        /* further names that clients may use for this server */
	const char *process;           /* whom requests without a target mean; NULL: everything */
	const char *token_file, *tls_cert, *tls_key;
	bool is_insecure, is_quiet;
	uint32_t n_recordings_max;     /* at the same time */
	uint64_t window_max_ns;
};

extern const struct argp serve_opts_argp;

/* Ends the program if the options are wrong. */
void serve_opts_parse(struct serve_opts *o, int argc, char **argv);
void serve_opts_done(struct serve_opts *o);

#endif
