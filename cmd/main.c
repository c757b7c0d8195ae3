/* Finds the command and runs it. */

#include "base/err.h"
#include "cmd/caller.h"
#include "cmd/cmd.h"
#include "cmd/nofile.h"
#include "cmd/printable.h"
#include "cmd/perfwords.h"
#include "cmd/suggest.h"

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

static const char *nearest_command(const char *name)
{
	const char *names[32];
	size_t n = 0;
	for (const struct cmd *const *c = cmd_all; *c && n < sizeof(names) / sizeof(*names); c++)
		names[n++] = (*c)->name;
	return suggest_word(name, names, n);
}

static const char *nearest_option(const char *name)
{
	static const char *const own[] = { "--help", "--version" };
	return suggest_word(name, own, sizeof(own) / sizeof(*own));
}

static int fail_unknown(const char *name)
{
	bool is_option = name[0] == '-';
	const char *instead = perfwords_instead("", name);
	const char *near = instead ? NULL :
		is_option ? nearest_option(name) : nearest_command(name);
	fputs(is_option ? "cprof: unrecognized option '" : "cprof: no command '", stderr);
	printable_text(stderr, name);
	fputs("'\n", stderr);
	if (near)
		fprintf(stderr, "  did you mean '%s'?\n", near);
	if (instead)
		fprintf(stderr, "  %s\n", instead);
	fputs("  the commands are:", stderr);
	for (const struct cmd *const *c = cmd_all; *c; c++)
		fprintf(stderr, " %s", (*c)->name);
	fputc('\n', stderr);
	if (is_option && !near)
		fputs("  options follow the command, as in 'cprof record -p PID'\n", stderr);
	else if (!near && !instead)
		fputs("  to record a program: 'cprof record PROGRAM [ARG...]'\n", stderr);
	return CMD_USAGE;
}

static int fail(const struct err *e)
{
	fprintf(stderr, "cprof: %s\n", e->what);
	return CMD_FAILED;
}

static const struct cmd *find_command(const char *name)
{
	for (const struct cmd *const *c = cmd_all; *c; c++)
		if (strcmp(name, (*c)->name) == 0)
			return *c;
	return NULL;
}

static int print_version(void)
{
	printf("cprof %s\n", CPROF_VERSION);
	return 0;
}

/* As argp does. */
static void print_try(const char *name)
{
	fprintf(stderr, "Try `cprof %s --help' or `cprof %s --usage' for more information.\n", name,
		name);
}

/* argv[0] is the name of the command. */
static int run_command(const struct cmd *c, int argc, char **argv)
{
	/* argp shows argv[0] in its messages. */
	char full[64], given[128], help[] = "--help", *help_argv[] = { full, help, NULL };
	struct err e = { 0 };
	snprintf(full, sizeof(full), "cprof %s", c->name);
	argv[0] = full;
	struct suggest s = suggest_options(c->argp, argv + 1, c->is_recording);
	switch (s.kind) {
	case SUGGEST_VERSION:
		return print_version();
	case SUGGEST_HELP:
		return c->run(2, help_argv);
	case SUGGEST_OPTION:
		snprintf(given, sizeof(given), "%.*s", s.n_given, s.given);
		fprintf(stderr, "cprof %s: unrecognized option '", c->name);
		printable_text(stderr, given);
		fputs("'\n", stderr);
		const char *instead = perfwords_instead(c->name, given);
		if (instead)
			fprintf(stderr, "  %s\n", instead);
		else if (s.near)
			fprintf(stderr, "  did you mean '--%s'?\n", s.near);
		print_try(c->name);
		return CMD_USAGE;
	case SUGGEST_PROCESS:
		fprintf(stderr, "cprof %s: option requires an argument -- 'p'\n"
			"  pidof and pgrep print nothing if they find no process\n", c->name);
		print_try(c->name);
		return CMD_USAGE;
	case SUGGEST_NOTHING:
		break;
	}
	if (caller_settle(c->is_recording, &e) < 0)
		return fail(&e);
	return c->run(argc, argv);
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
		const struct cmd *c = argc > 2 ? find_command(argv[2]) : NULL;
		char help[] = "--help", *help_argv[] = { argv[2], help, NULL };
		if (c)
			return run_command(c, 2, help_argv);
		if (argc > 2)
			return fail_unknown(argv[2]);
		print_help(stdout);
		return 0;
	}
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		return print_version();
	const struct cmd *c = find_command(name);
	return c ? run_command(c, argc - 1, argv + 1) : fail_unknown(name);
}
