#ifndef CPROF_CMD_CMD_H
#define CPROF_CMD_CMD_H

/* The commands of the program.  main() finds one by its name and prints `help` in the overview. */

#include "base/log.h"

#include <stdbool.h>

struct argp;

struct cmd {
	const char *name;
	const char *help;
	const struct argp *argp;            /* from which the completions are generated */
	int (*run)(int argc, char **argv);  /* argv[0] is the command; returns the exit status */
	bool is_recording;                  /* opens events, which takes more rights */
};

/* All commands, in the order of the overview, ending with NULL. */
extern const struct cmd *const cmd_all[];

extern const struct cmd cmd_check;
extern const struct cmd cmd_convert;
extern const struct cmd cmd_doctor;
extern const struct cmd cmd_import;
extern const struct cmd cmd_list;
extern const struct cmd cmd_merge;
extern const struct cmd cmd_agent;
extern const struct cmd cmd_push;
extern const struct cmd cmd_record;
extern const struct cmd cmd_report;
extern const struct cmd cmd_serve;
extern const struct cmd cmd_snapshot;
extern const struct cmd cmd_stat;
extern const struct cmd cmd_symbolize;
extern const struct cmd cmd_top;

/* Exit statuses beside 0; cprof(1). */
#define CMD_FAILED 1
#define CMD_LOSSES 2   /* written, but --strict forbids its losses */
#define CMD_USAGE 64

struct err;

/* Prints "cprof COMMAND: what" and the indented lines of the hint to stderr.  Returns CMD_USAGE for
 * a wrong command line, else CMD_FAILED. */
int cmd_fail(const char *command, const struct err *e);

/* Prints a message of the library; for struct log with the command's name as ctx.  Messages of
 * both functions may quote foreign text: control characters become '?'. */
void cmd_log_line(void *ctx, enum log_level level, const char *text);

#endif
