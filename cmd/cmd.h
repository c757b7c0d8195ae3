#ifndef CPROF_CMD_CMD_H
#define CPROF_CMD_CMD_H

/* The commands of the program; main finds one by its name, and prints `help` in the overview. */

struct cmd {
	const char *name;
	const char *help;
	int (*run)(int argc, char **argv);  /* argv[0] is the command; returns the exit status */
};

extern const struct cmd cmd_report;

#endif
