#ifndef CPROF_CMD_RECORD_TARGETOPTS_H
#define CPROF_CMD_RECORD_TARGETOPTS_H

/* Options of the commands that record: targets, events and limits. */

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "cmd/record/taskopts.h"
#include "cprof.h"

struct targetopts {
	struct cprof_config config;   /* its arrays are those below */
	VEC(const char *) events;
	struct taskopts tasks;        /* without a command: attach */
	bool no_command_line;
	bool is_normal;               /* --realtime=no */
	char *command_line;           /* for the profile's comments */
};

/* Children of a command's struct argp, with a struct targetopts as input of the first and its
 * config.naming as input of the others. */
#define TARGETOPTS_CHILDREN \
	{ &targetopts_argp, 0, NULL, 0 }, { &nameopts_argp, 0, NULL, 0 }, \
	{ &nameopts_kernel_argp, 0, NULL, 0 }
#define TARGETOPTS_N_CHILDREN 3
#define TARGETOPTS_ARGS_DOC \
	"[--] COMMAND [ARG...]\n-p PROCESS[,PROCESS...] [[--] COMMAND [ARG...]]\n" \
	"-t TID[,TID...] [[--] COMMAND [ARG...]]\n-a [[--] COMMAND [ARG...]]"
extern const struct argp targetopts_argp;

/* Before and after the command line is parsed. */
void targetopts_init(struct targetopts *o, int argc, char **argv);
void targetopts_finish(struct targetopts *o);

/* Sets the inputs of the children; for ARGP_KEY_INIT. */
void targetopts_set_inputs(struct targetopts *o, struct argp_state *state);

/* The cgroup for the command; NULL: it gets none, or out of memory. */
struct cprof_cgroup *targetopts_cgroup(const struct targetopts *o);

void targetopts_done(struct targetopts *o);

#endif
