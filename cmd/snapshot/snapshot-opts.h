#ifndef CPROF_CMD_SNAPSHOT_SNAPSHOT_OPTS_H
#define CPROF_CMD_SNAPSHOT_SNAPSHOT_OPTS_H

/* The options of cprof snapshot. */

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "cmd/filemode.h"
#include "cmd/record/taskopts.h"
#include "cprof.h"

struct snapshot_opts {
	struct cprof_config config;     /* its arrays are those below */
	struct taskopts tasks;
	VEC(const char *) labels;
	const char *output;             /* NULL: no profile */
	struct filemode mode;
	bool goroutines, threads;       /* what is shown; neither: what the program has */
	int go_format;                  /* 1, 2: as Go's debug=1 and debug=2; 0: neither */
	bool text, fold, json, quiet;   /* text: also when nothing else was requested */
	uint64_t n_repeats, every_ns;   /* 1, 0: a single snapshot */
};

extern const struct argp snapshot_opts_argp;

/* Ends the program for a wrong command line. */
void snapshot_opts_parse(struct snapshot_opts *o, int argc, char **argv);
void snapshot_opts_done(struct snapshot_opts *o);

#endif
