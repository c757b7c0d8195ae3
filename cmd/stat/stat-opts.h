#ifndef CPROF_CMD_STAT_STAT_OPTS_H
#define CPROF_CMD_STAT_STAT_OPTS_H

/* The options of cprof stat. */

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "cmd/filemode.h"
#include "cmd/record/taskopts.h"
#include "cprof-counter.h"

struct stat_opts {
	struct cprof_counter_config config;  /* its arrays are those below */
	VEC(const char *) events;
	struct taskopts tasks;               /* a command that is not counted says how long */
	uint64_t duration_ns;           /* 0: no limit */
	unsigned n_repeats;             /* 1: a single run */
	bool json, quiet, verbose;
	const char *output;             /* NULL: stderr, or stdout for JSON */
	struct filemode mode;
};

extern const struct argp stat_opts_argp;

/* Ends the program for a wrong command line. */
void stat_opts_parse(struct stat_opts *o, int argc, char **argv);
void stat_opts_done(struct stat_opts *o);

#endif
