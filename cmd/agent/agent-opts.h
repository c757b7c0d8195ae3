#ifndef CPROF_CMD_AGENT_OPTS_H
#define CPROF_CMD_AGENT_OPTS_H

/* The options of cprof agent. */

#include <stdbool.h>

#include "base/vec.h"

struct agent_config;
struct argp;
struct err;

#define AGENT_CONFIG_DEFAULT "/etc/cprof-agent.conf"

struct agent_opts {
	const char *config;            /* NULL: the default, which may be missing */
	VEC(const char *) set;         /* "KEY=VALUE" */
	bool is_check, is_quiet;
};

extern const struct argp agent_opts_argp;

/* Ends the program on a wrong command line. */
void agent_opts_parse(struct agent_opts *o, int argc, char **argv);
void agent_opts_done(struct agent_opts *o);

/* Reads the configuration with the settings of the command line.  -errno with e set; the caller
 * frees it in any case. */
int agent_opts_load(const struct agent_opts *o, struct agent_config *ret, struct err *e);

#endif
