#ifndef CPROF_CMD_RECORD_TASKOPTS_H
#define CPROF_CMD_RECORD_TASKOPTS_H

/* Options by which several commands choose tasks: -p, --children, -t, -a, -C, --no-inherit, and a
 * command with its arguments. */

#include <argp.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/vec.h"
#include "cmd/record/findprocs.h"

struct cprof_config;

/* Keys of the options without a letter. */
enum { TASKOPTS_CHILDREN = 2048, TASKOPTS_NO_INHERIT };

struct taskopts {
	struct findprocs_ids processes;
	VEC(pid_t) tids;
	bool with_children, all, no_inherit;
	const char *cpus;               /* -C, which implies `all`; NULL: all CPUs */
	char **command;                 /* NULL: none */
};

/* For an argp parser: handles the keys above and ARGP_KEY_ARG, with which the command begins.
 * ARGP_ERR_UNKNOWN for other keys. */
error_t taskopts_parse(struct taskopts *o, struct argp_state *state, int key, char *arg);

/* Reports with argp_error what does not fit together.  verb: what the command does with tasks,
 * "record". */
void taskopts_check(const struct taskopts *o, struct argp_state *state, const char *verb);

/* For ARGP_KEY_END, at last: leaves out processes that have ended, and appends those that
 * --children adds. */
void taskopts_complete(struct taskopts *o, struct argp_state *state);

/* Were processes or threads given? */
bool taskopts_has_ids(const struct taskopts *o);

/* Is the command the target?  With -p, -t or -a it only says how long. */
bool taskopts_is_command(const struct taskopts *o);

/* The tasks as a recorder wants them; the ids stay those of o. */
void taskopts_configure(const struct taskopts *o, struct cprof_config *c);

void taskopts_done(struct taskopts *o);

#endif
