/*
 * cprof check: reports what the consumers of pprof files would reject, lose or misread in a file.
 * The rules are in proto/pprof-check.c.
 */

#include "cmd/cmd.h"

#include "base/err.h"
#include "base/units.h"
#include "cmd/optsets.h"
#include "cmd/printable.h"
#include "proto/pprof-check.h"
#include "proto/pprof-read.h"

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ONLY_WARNINGS 2

struct checking {
	unsigned consumers;
	bool quiet, json;
	char **path;
	size_t n_paths;
	/* while running */
	const char *file;          /* being checked */
	size_t n_printed;          /* findings, for commas in JSON */
	size_t n_errors, n_warnings;
};

enum { KEY_FOR = 256, KEY_JSON };

static const struct argp_option options[] = {
	{ "for", KEY_FOR, "LIST", 0,
	  "report only findings for these consumers: {consumers} (a list)", 0 },
	{ "quiet", 'q', 0, 0, "print nothing, only set the exit status", 0 },
	{ "json", KEY_JSON, 0, 0, "print findings as one JSON object", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct checking *c = state->input;
	switch (key) {
	case KEY_FOR:
		c->consumers |= optwords_parse_list(&optsets_consumers, state, "--for", arg);
		return 0;
	case KEY_JSON:
		c->json = true;
		return 0;
	case 'q':
		c->quiet = true;
		return 0;
	case ARGP_KEY_ARGS:
		c->path = state->argv + state->next;
		c->n_paths = (size_t)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no FILE given");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options, .parser = parse, .help_filter = optwords_help, .args_doc = "FILE...",
	.doc = "Report what readers of pprof files would reject, lose or misread.\v"
	       "Exit status: 0 no findings, 1 errors, 2 only warnings.",
};

static void print_finding(struct checking *c, const char *severity, const char *rule,
			  unsigned consumers, const char *text)
{
	if (c->quiet)
		return;
	if (c->json) {
		printf("%s\n  {\"file\": ", c->n_printed++ ? "," : "");
		printable_json(stdout, c->file);
		printf(", \"severity\": \"%s\", \"rule\": \"%s\", \"for\": [", severity, rule);
		const char *comma = "";
		for (unsigned i = 0; i < PPROF_N_CONSUMERS; i++) {
			if (!(consumers >> i & 1))
				continue;
			printf("%s\"%s\"", comma, pprof_consumer_name(i));
			comma = ", ";
		}
		printf("], \"text\": ");
		printable_json(stdout, text);
		putchar('}');
		return;
	}
	printable_text(stdout, c->file);
	printf(": %s: %s: ", severity, rule);
	printable_text(stdout, text);
	if (consumers != PPROF_CONSUMER_ALL) {
		const char *comma = " (";
		for (unsigned i = 0; i < PPROF_N_CONSUMERS; i++) {
			if (!(consumers >> i & 1))
				continue;
			printf("%s%s", comma, pprof_consumer_name(i));
			comma = ", ";
		}
		putchar(')');
	}
	putchar('\n');
}

static void found(void *ctx, const struct pprof_finding *f)
{
	bool is_error = f->severity == PPROF_CHECK_ERROR;
	print_finding(ctx, is_error ? "error" : "warning", pprof_check_rule_name(f->rule),
		      f->consumers, f->text);
}

static void check_file(struct checking *c, const char *path)
{
	struct profile *p;
	struct err e = { 0 };
	size_t n_errors = 0, n_warnings = 0;
	c->file = path;
	if (profile_read_file(strcmp(path, "-") == 0 ? "/dev/stdin" : path, &p, &e) < 0) {
		print_finding(c, "error", "read", PPROF_CONSUMER_ALL, e.what);
		c->n_errors++;
		return;
	}
	if (pprof_check(p, c->consumers, found, c, &n_errors, &n_warnings) < 0) {
		print_finding(c, "error", "read", PPROF_CONSUMER_ALL, "out of memory");
		n_errors = 1;
	}
	profile_free(p);
	c->n_errors += n_errors;
	c->n_warnings += n_warnings;
}

static int run_check(int argc, char **argv)
{
	struct checking c = { 0 };
	char name[] = "cprof check";
	argv[0] = name;
	argp_parse(&argp, argc, argv, 0, NULL, &c);
	if (!c.consumers)
		c.consumers = PPROF_CONSUMER_ALL;
	if (c.json && !c.quiet)
		printf("{\"findings\": [");
	for (size_t i = 0; i < c.n_paths; i++)
		check_file(&c, c.path[i]);
	if (c.json && !c.quiet)
		printf("%s], \"errors\": %zu, \"warnings\": %zu}\n", c.n_printed ? "\n" : "",
		       c.n_errors, c.n_warnings);
	else if (!c.quiet && c.n_errors + c.n_warnings)
		printf("%zu error%s, %zu warning%s\n", c.n_errors, units_s(c.n_errors),
		       c.n_warnings, units_s(c.n_warnings));
	if (fflush(stdout) != 0) {
		struct err e;
		err_errno(&e, errno, "cannot write the findings");
		return cmd_fail("check", &e);
	}
	return c.n_errors ? CMD_FAILED : c.n_warnings ? ONLY_WARNINGS : EXIT_SUCCESS;
}

const struct cmd cmd_check = {
	.name = "check",
	.help = "report what readers of pprof files would reject or lose",
	.argp = &argp,
	.run = run_check,
};
