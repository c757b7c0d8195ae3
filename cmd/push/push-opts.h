#ifndef CPROF_CMD_PUSH_OPTS_H
#define CPROF_CMD_PUSH_OPTS_H

/* The options of cprof push. */

#include "base/vec.h"
#include "cmd/agent/keyvalue.h"
#include "cmd/push/push-format.h"

#include <stdbool.h>
#include <stdint.h>

struct push_opts {
	const char *url, *spool, *state;
	enum push_format format;
	const char *token_file, *user, *tenant, *ca_file;
	VEC(struct keyvalue) label;
	VEC(const char *) label_text;   /* as given */
	uint64_t timeout_ns;
	bool has_format, is_insecure, is_once, is_quiet;
	bool repeats_unsure;            /* send again what may have arrived */
};

extern const struct argp push_opts_argp;

/* Ends the program on a wrong command line. */
void push_opts_parse(struct push_opts *o, int argc, char **argv);
void push_opts_done(struct push_opts *o);

/* Is the host of this URL the machine itself? */
bool push_opts_is_loopback(const char *url);

#endif
