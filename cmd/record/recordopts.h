#ifndef CPROF_CMD_RECORD_RECORDOPTS_H
#define CPROF_CMD_RECORD_RECORDOPTS_H

/* The command line of cprof record. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "cmd/record/partopts.h"
#include "cprof.h"

struct argp;

/* Another command that records: which of these options it has, besides those of nameopts.h, and its
 * own. */
struct recordopts_subset {
	const char *const *name;      /* the options' long names, then NULL */
	const struct argp *own;
	void *own_input;
	const char *doc;              /* as in struct argp */
};

struct recordopts {
	struct cprof_config config;   /* its arrays are those below */
	VEC(const char *) events, labels;
	VEC(pid_t) pids, tids;
	char **command;               /* NULL: attach */
	char *command_line;           /* for the file's comments */
	const char *output;           /* NULL: the default names */
	bool exclusive;
	unsigned repeat;              /* runs of the command; 0: one, as ever */
	struct partopts part;
	const struct recordopts_subset *subset;  /* while a subset is parsed; NULL */
	uint64_t duration_ns;         /* 0: until the target ends */
	bool strict, quiet, verbose, json;
};

/* Parses, or prints what is wrong and exits with status 64 (as argp does). */
void recordopts_parse(struct recordopts *o, int argc, char **argv);

void recordopts_parse_subset(struct recordopts *o, const struct recordopts_subset *subset, int argc,
			     char **argv);

void recordopts_done(struct recordopts *o);

#endif
