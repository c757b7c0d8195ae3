#ifndef CPROF_CMD_RECORD_AGAINST_H
#define CPROF_CMD_RECORD_AGAINST_H

/* The second command of `cprof record --repeat`: FILE=COMMAND. */

#include <argp.h>

struct against {
	char *text;         /* holds all of the strings; NULL: there is none */
	const char *output;
	char **command;     /* ends with NULL; by a shell, if the command needs one */
};

/* Reports with argp_error what is wrong. */
void against_parse(struct against *a, struct argp_state *state, const char *arg);

void against_done(struct against *a);

#endif
