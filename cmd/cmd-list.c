/*
 * cprof list: each event with what can be done with it here, found out by opening it.  Lines of
 * events begin with a blank and the event's name, and no other line does: the completions
 * for shells rest on that.
 */

#include "cmd/cmd.h"

#include "base/err.h"
#include "cmd/text.h"
#include "cprof-events.h"

#include <argp.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_JSON = 256 };

struct options {
	const char *pattern;
	bool json;
};

/* An event and what came of opening it. */
struct row {
	struct cprof_event event;
	enum cprof_event_state state;
	const char *reason;
};

static const struct argp_option option_table[] = {
	{ "json", OPT_JSON, NULL, 0, "Print one JSON object instead of a table" },
	{ 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	switch (key) {
	case OPT_JSON:
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (o->pattern)
			argp_error(state, "more than one PATTERN");
		o->pattern = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "[PATTERN]",
	.doc = "Show the events that cprof knows, and what this machine and this user can do with "
	       "each, tested by opening it.\v"
	       "PATTERN is a part of a name, a shell pattern such as 'LLC-*', or one event in full "
	       "such as r01d1.",
};

static bool word_matches(const char *word, size_t n, const char *pattern)
{
	char copy[64];
	snprintf(copy, sizeof(copy), "%.*s", (int)n, word);
	return strpbrk(pattern, "*?[") ? fnmatch(pattern, copy, FNM_CASEFOLD) == 0
				       : strcasestr(copy, pattern) != NULL;
}

static bool matches(const struct cprof_event *x, const char *pattern)
{
	if (!pattern || word_matches(x->name, strlen(x->name), pattern))
		return true;
	for (const char *a = x->aliases; *a; a += strspn(a, " ")) {
		size_t n = strcspn(a, " ");
		if (word_matches(a, n, pattern))
			return true;
		a += n;
	}
	return false;
}

/* ---- for people ----------------------------------------------------------------- */

static void print_row(const struct row *r)
{
	static const char *const state[] = {
		[CPROF_EVENT_YES] = "yes",
		[CPROF_EVENT_USER_ONLY] = "user code only",
		[CPROF_EVENT_NO] = "no",
	};
	printf("  %-25s  %-14s  %s", r->event.name, state[r->state], r->event.what);
	for (const char *a = r->event.aliases, *sep = " (also "; *a; sep = ", ") {
		size_t n = strcspn(a, " ");
		printf("%s%.*s", sep, (int)n, a);
		a += n;
		a += strspn(a, " ");
		if (!*a)
			putchar(')');
	}
	if (r->state == CPROF_EVENT_NO)
		printf(" [%s]", r->reason);
	putchar('\n');
}

static void print_table(const struct row *row, size_t n, const struct cprof_event_machine *m)
{
	const char *group = "", *why_no_kernel = NULL;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(group, row[i].event.group) != 0) {
			group = row[i].event.group;
			printf("%s%c%s events\n", i ? "\n" : "", group[0] - 'a' + 'A', group + 1);
		}
		print_row(&row[i]);
		if (row[i].state == CPROF_EVENT_USER_ONLY)
			why_no_kernel = row[i].reason;
	}
	printf("\nA raw event of the PMU is written rHEX, such as r01d1.  cprof-events(7) has the "
	       "grammar.\n");
	if (m->why_no_pmu)
		printf("PMU: not usable: %s\n", m->why_no_pmu);
	else
		printf("PMU: works\n");
	if (why_no_kernel)
		printf("Kernel code: cannot be sampled: %s\n", why_no_kernel);
	if (m->why_not_cpus)
		printf("Whole CPUs: cannot be sampled: %s\n", m->why_not_cpus);
	else
		printf("Whole CPUs: can be sampled\n");
	printf("Highest rate: %lu Hz (kernel.perf_event_max_sample_rate)\n", m->max_rate_hz);
}

/* ---- for programs ---------------------------------------------------------------- */

static void print_json_row(const struct row *r)
{
	static const char *const state[] = {
		[CPROF_EVENT_YES] = "yes",
		[CPROF_EVENT_USER_ONLY] = "user",
		[CPROF_EVENT_NO] = "no",
	};
	printf("{\"name\": ");
	text_print_json(stdout, r->event.name);
	printf(", \"aliases\": [");
	for (const char *a = r->event.aliases, *sep = ""; *a; sep = ", ") {
		size_t n = strcspn(a, " ");
		printf("%s\"%.*s\"", sep, (int)n, a);
		a += n;
		a += strspn(a, " ");
	}
	printf("], \"group\": \"%s\", \"description\": ", r->event.group);
	text_print_json(stdout, r->event.what);
	printf(", \"state\": \"%s\", \"reason\": ", state[r->state]);
	text_print_json(stdout, r->reason);
	putchar('}');
}

static void print_json_can(const char *name, const char *why_not)
{
	printf("\"%s\": {\"works\": %s, \"reason\": ", name, why_not ? "false" : "true");
	text_print_json(stdout, why_not ? why_not : "");
	putchar('}');
}

static void print_json(const struct row *row, size_t n, const struct cprof_event_machine *m)
{
	printf("{\"events\": [");
	for (size_t i = 0; i < n; i++) {
		printf("%s\n  ", i ? "," : "");
		print_json_row(&row[i]);
	}
	printf("],\n ");
	print_json_can("pmu", m->why_no_pmu);
	printf(",\n ");
	print_json_can("cpus", m->why_not_cpus);
	printf(",\n \"max_rate_hz\": %lu}\n", m->max_rate_hz);
}

/* ---- run --------------------------------------------------------------------------- */

/* Tests the events that match; a pattern that matches none may be one event in full. */
static int find_rows(const struct cprof_event_probe *probe, const char *pattern, struct row *row,
		     size_t *ret_n, struct err *e)
{
	size_t n = 0;
	struct cprof_event event;
	for (size_t i = 0; cprof_event_at(i, &event); i++) {
		if (!matches(&event, pattern))
			continue;
		row[n].event = event;
		int code = cprof_event_test(probe, event.name, &row[n].state, &row[n].reason, e);
		if (code < 0)
			return code;
		n++;
	}
	if (n == 0) {
		row[0].event = (struct cprof_event){ pattern, "", "other", "as you wrote it" };
		int code = cprof_event_test(probe, pattern, &row[0].state, &row[0].reason, e);
		if (code < 0)
			return code;
		n = 1;
	}
	*ret_n = n;
	return 0;
}

static int run(int argc, char **argv)
{
	struct options o = { NULL, false };
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o);

	struct err e = { 0 };
	struct cprof_event event;
	struct cprof_event_probe *probe = NULL;
	size_t n_known = 0, n;
	while (cprof_event_at(n_known, &event))
		n_known++;
	struct row *row = calloc(n_known, sizeof(*row));
	int status = CMD_FAILED;
	if (!row) {
		perror("cprof list");
	} else if (cprof_event_probe_new(&probe, &e) < 0 ||
		   find_rows(probe, o.pattern, row, &n, &e) < 0) {
		cmd_fail("list", &e);
	} else {
		if (o.json)
			print_json(row, n, cprof_event_machine(probe));
		else
			print_table(row, n, cprof_event_machine(probe));
		status = 0;
		if (fflush(stdout) || ferror(stdout)) {
			perror("cprof list: cannot write");
			status = CMD_FAILED;
		}
	}
	cprof_event_probe_free(probe);
	free(row);
	return status;
}

const struct cmd cmd_list = {
	.name = "list",
	.help = "show the events, and what can be done with each here",
	.run = run,
};
