#ifndef CPROF_CMD_STAT_STAT_OPTS_H
#define CPROF_CMD_STAT_STAT_OPTS_H

/* The options of cprof stat. */

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "cmd/filemode.h"
#include "cmd/record/findprocs.h"
#include "cprof-counter.h"

struct stat_opts {
	struct cprof_counter_config config;  /* its arrays are those below */
	VEC(const char *) events;
	struct findprocs_ids processes;
	VEC(pid_t) tids;
	bool with_children;
	char **command;                 /* NULL: none; what it ends, unless it is counted */
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

/* Is the command counted?  With -p, -t or -a it only says how long. */
bool stat_opts_counts_command(const struct stat_opts *o);

#endif
