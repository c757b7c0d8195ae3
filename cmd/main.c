/* Finds the command and runs it. */

#include "base/err.h"
#include "cmd/caller.h"
#include "cmd/cmd.h"
#include "cmd/nofile.h"
#include "cmd/printable.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_help(FILE *to)
{
	fprintf(to, "Usage: cprof COMMAND [OPTION...]\n"
		    "Profile processes on Linux; every profile is a gzipped pprof file.\n\n"
		    "Commands:\n");
	for (const struct cmd *const *c = cmd_all; *c; c++)
		fprintf(to, "  %-10s %s\n", (*c)->name, (*c)->help);
	fprintf(to, "\nTo start with:\n"
		    "  cprof record ./program    writes cprof.cycles.pb.gz or "
		    "cprof.cpu-clock.pb.gz\n"
		    "  cprof report FILE         shows its hottest functions\n"
		    "\n'cprof COMMAND --help' shows a command's options, 'man cprof-COMMAND' "
		    "explains them.\n");
}

/* If stdout is closed, the first file opened would become descriptor 1, and `-o -` would write into
 * it. */
static void occupy_standard_fds(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0)
			_exit(CMD_FAILED);
}

/* The disk may turn out to be full only when stdout's buffer is written. */
static void close_stdout(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return;
	fprintf(stderr, "cprof: cannot write to stdout: %s\n", strerror(errno));
	_exit(CMD_FAILED);
}

static int fail_unknown(const char *name)
{
	bool is_option = name[0] == '-';
	fputs(is_option ? "cprof: unrecognized option '" : "cprof: no command '", stderr);
	printable_text(stderr, name);
	fputs("'\n  the commands are:", stderr);
	for (const struct cmd *const *c = cmd_all; *c; c++)
		fprintf(stderr, " %s", (*c)->name);
	fputc('\n', stderr);
	if (is_option)
		fputs("  options follow the command, as in 'cprof record -p PID'\n", stderr);
	else if (strchr(name, '/'))
		fputs("  to record a program: 'cprof record PROGRAM [ARG...]'\n", stderr);
	return CMD_USAGE;
}

static int fail(const struct err *e)
{
	fprintf(stderr, "cprof: %s\n", e->what);
	return CMD_FAILED;
}

int main(int argc, char **argv)
{
	struct err e = { 0 };
	occupy_standard_fds();
	if (caller_start(&e) < 0)
		return fail(&e);
	nofile_raise();
	atexit(close_stdout);
	argp_err_exit_status = CMD_USAGE;
	if (argc < 2) {
		print_help(stderr);
		return CMD_USAGE;
	}
	const char *name = argv[1];
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
		print_help(stdout);
		return 0;
	}
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
		printf("cprof %s\n", CPROF_VERSION);
		return 0;
	}
	for (const struct cmd *const *c = cmd_all; *c; c++) {
		if (strcmp(name, (*c)->name) != 0)
			continue;
		/* argp shows argv[0] in its messages. */
		char full[64];
		snprintf(full, sizeof(full), "cprof %s", name);
		argv[1] = full;
		if (caller_settle((*c)->is_recording, &e) < 0)
			return fail(&e);
		return (*c)->run(argc - 1, argv + 1);
	}
	return fail_unknown(name);
}
