/*
 * cprof list: every event and whether it can be sampled here, tested by opening it.  Lines of
 * events begin with a blank and the event's name, and no other line begins with a blank; the
 * completions of the shells rely on that.
 */

#include "cmd/cmd.h"
#include "cmd/list-probes.h"

#include "base/err.h"
#include "base/units.h"
#include "base/vec.h"
#include "cmd/printable.h"
#include "cprof-events.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_JSON = 256, OPT_PMU, OPT_SEARCH, OPT_PROBES };

struct options {
	const char *pattern;
	const char *search;   /* --search: in names and descriptions of all events */
	const char *pmu;      /* --pmu=NAME: its events only */
	const char *probes;   /* --probes: of this file or process */
	bool pmus;            /* --pmu alone: the PMUs themselves */
	bool json;
};

/* An event and the result of opening it. */
struct row {
	struct cprof_event event;
	bool owned;                 /* the strings of the event; else they are the table's */
	enum cprof_event_state state;
	const char *reason;
	const char *tested_as;      /* the event opened in its place; NULL: itself */
};

static const struct argp_option option_table[] = {
	{ "pmu", OPT_PMU, "PMU", OPTION_ARG_OPTIONAL,
	  "Show the PMUs of this machine, or the events of PMU" },
	{ "search", OPT_SEARCH, "WORD", 0,
	  "Show all events with WORD in their name or description, including events of PMUs, "
	  "tracepoints and the CPU vendor's events" },
	{ "probes", OPT_PROBES, "FILE|PID", 0,
	  "Show the USDT probes of a program or library, or of all files of a process, and their "
	  "arguments" },
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
	case OPT_PMU:
		o->pmu = arg;
		o->pmus = !arg;
		return 0;
	case OPT_SEARCH:
		o->search = arg;
		return 0;
	case OPT_PROBES:
		o->probes = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (o->pattern)
			argp_error(state, "more than one PATTERN");
		o->pattern = arg;
		return 0;
	case ARGP_KEY_END:
		if (o->pattern && (o->pmu || o->pmus || o->search))
			argp_error(state, "PATTERN cannot be combined with --pmu or --search");
		if (o->probes && (o->pmu || o->pmus || o->search))
			argp_error(state, "--probes cannot be combined with --pmu or --search");
		if (o->pmus && o->search)
			argp_error(state, "--search in one PMU needs its name: --pmu=PMU");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "[PATTERN]",
	.doc = "Show the events that cprof knows, and whether this user can sample them on this "
	       "machine, tested by opening each.\v"
	       "PATTERN is part of a name, a shell pattern such as 'LLC-*', or a complete event "
	       "such as r01d1.",
};

static bool word_matches(const char *word, size_t n, const char *pattern)
{
	char copy[256];
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

static void print_tested(const struct row *row, size_t n)
{
	const char *as = NULL;
	size_t n_like = 0;
	for (size_t i = 0; i < n; i++) {
		if (!row[i].tested_as)
			continue;
		as = row[i].tested_as;
		n_like++;
	}
	if (as)
		printf("Tracepoints: '%s' was tested, and represents %zu other%s; "
		       "'cprof list NAME' tests a single one\n", as, n_like,
		       units_s(n_like));
}

static void print_table(const struct row *row, size_t n, const struct cprof_event_machine *m)
{
	const char *group = "", *why_no_kernel = NULL;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(group, row[i].event.group) != 0) {
			group = row[i].event.group;
			printf("%s%c%s events\n", i ? "\n" : "",
			       toupper((unsigned char)group[0]), group + 1);
		}
		print_row(&row[i]);
		if (row[i].state == CPROF_EVENT_USER_ONLY)
			why_no_kernel = row[i].reason;
	}
	printf("\nA raw event of the PMU is written rHEX, such as r01d1.  cprof-events(7) has the "
	       "grammar.\n");
	print_tested(row, n);
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
	printable_json(stdout, r->event.name);
	printf(", \"aliases\": [");
	for (const char *a = r->event.aliases, *sep = ""; *a; sep = ", ") {
		size_t n = strcspn(a, " ");
		printf("%s\"%.*s\"", sep, (int)n, a);
		a += n;
		a += strspn(a, " ");
	}
	printf("], \"group\": \"%s\", \"description\": ", r->event.group);
	printable_json(stdout, r->event.what);
	printf(", \"state\": \"%s\", \"reason\": ", state[r->state]);
	printable_json(stdout, r->reason);
	printf(", \"tested_as\": ");
	if (r->tested_as)
		printable_json(stdout, r->tested_as);
	else
		printf("null");
	putchar('}');
}

static void print_json_can(const char *name, const char *why_not)
{
	printf("\"%s\": {\"works\": %s, \"reason\": ", name, why_not ? "false" : "true");
	printable_json(stdout, why_not ? why_not : "");
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

/* ---- PMUs --------------------------------------------------------------------------- */

struct pmu_list {
	bool json;
	size_t n, n_hidden;
};

static bool print_pmu(void *ctx, const struct cprof_pmu *p)
{
	struct pmu_list *l = ctx;
	if (!p->is_here) {
		l->n_hidden++;
		return true;
	}
	if (l->json) {
		printf("%s\n  {\"name\": ", l->n ? "," : "");
		printable_json(stdout, p->name);
		printf(", \"description\": ");
		printable_json(stdout, p->what);
		printf(", \"model\": %s, \"core\": %s, \"type\": %u, \"cpus\": ",
		       p->is_model ? "true" : "false", p->is_core ? "true" : "false", p->type);
		printable_json(stdout, p->cpus);
		printf(", \"events\": %zu, \"fields\": ", p->n_events);
		printable_json(stdout, p->fields);
		putchar('}');
	} else if (p->is_model) {
		printf("  %-20s  events by the vendor's names: %zu; %s\n", p->name, p->n_events,
		       p->what);
	} else {
		printf("  %-20s  type %u", p->name, p->type);
		if (*p->what)
			printf(", %s", p->what);
		if (*p->cpus)
			printf(", CPUs %s", p->cpus);
		printf(", %zu named event%s", p->n_events, units_s(p->n_events));
		printf("%s%s\n", *p->fields ? ", fields: " : "", p->fields);
	}
	l->n++;
	return true;
}

static int print_pmus(const struct cprof_event_probe *probe, bool json, struct err *e)
{
	struct pmu_list l = { json, 0, 0 };
	printf(json ? "{\"pmus\": [" : "PMUs of this machine\n");
	int r = cprof_pmu_each(probe, print_pmu, &l, e);
	if (json)
		printf("]}\n");
	else if (!cprof_has_models())
		printf("\ncprof was built without libpfm4, which has the CPU vendors' names.\n");
	else
		printf("\nlibpfm4 knows %zu other model%s: cprof list --pmu=NAME shows "
		       "%s events.\n", l.n_hidden, units_s(l.n_hidden),
		       units_word(l.n_hidden, "its", "their"));
	return r;
}

/* ---- search -------------------------------------------------------------------------- */

struct search {
	const struct options *o;
	VEC(struct row) rows;
	bool no_memory;
};

static bool keep_row(struct search *s, const struct cprof_event *ev)
{
	if (!VEC_RESERVE(&s->rows, 1))
		return false;
	struct row *r = &s->rows.v[s->rows.n++];
	*r = (struct row){
		.event = { strdup(ev->name), strdup(ev->aliases), strdup(ev->group),
			   strdup(ev->what) },
		.owned = true,
	};
	return r->event.name && r->event.aliases && r->event.group && r->event.what;
}

static bool add_match(void *ctx, const struct cprof_event *ev)
{
	struct search *s = ctx;
	const char *word = s->o->search;
	if (word && !matches(ev, word) && !strcasestr(ev->what, word))
		return true;
	s->no_memory = !keep_row(s, ev);
	return !s->no_memory;
}

/* The events of one PMU, or those that contain a word, each tested by opening it. */
static int find_everywhere(const struct cprof_event_probe *probe, const struct options *o,
			   struct row **ret_row, size_t *ret_n, struct err *e)
{
	struct search s = { .o = o };
	int r = cprof_event_each(probe, o->pmu, add_match, &s, e);
	*ret_row = s.rows.v;
	*ret_n = s.rows.n;
	if (s.no_memory)
		return err_errno(e, ENOMEM, "cannot list events");
	if (r < 0)
		return r;
	if (s.rows.n == 0) {
		if (o->pmu && !o->search)
			r = err_set(e, ENOENT, "there is no PMU '%s' with named events", o->pmu);
		else
			r = err_set(e, ENOENT, "no event has '%s' in its name or description",
				    o->search);
		err_hint(e, "'cprof list --pmu' shows the PMUs of this machine");
		return r;
	}
	const struct row *tested = NULL;
	for (size_t i = 0; i < s.rows.n; i++) {
		struct err why = { 0 };
		bool is_tracepoint = strcmp(s.rows.v[i].event.group, "tracepoint") == 0;
		/* The kernel refuses the tracepoints of the subsystem ftrace one by one: they are
		 * for its own use. */
		if (strncmp(s.rows.v[i].event.name, "ftrace:", 7) == 0)
			is_tracepoint = false;
		/* Opening a tracepoint patches kernel code, which takes 50 ms, and the same rules
		 * apply to all: only one is tested, and the output says which. */
		if (is_tracepoint && tested) {
			s.rows.v[i].state = tested->state;
			s.rows.v[i].reason = tested->reason;
			s.rows.v[i].tested_as = tested->event.name;
			continue;
		}
		if (is_tracepoint)
			tested = &s.rows.v[i];
		if (cprof_event_test(probe, s.rows.v[i].event.name, &s.rows.v[i].state,
				     &s.rows.v[i].reason, &why) == 0)
			continue;
		/* An event of another machine's PMU, or one whose fields the user must specify. */
		s.rows.v[i].state = CPROF_EVENT_NO;
		s.rows.v[i].reason = "not on this machine";
	}
	return r;
}

/* ---- run --------------------------------------------------------------------------- */

/* Tests the events that match.  A pattern without a match may be a complete event. */
static int find_rows(const struct cprof_event_probe *probe, const char *pattern,
		     struct row **ret_row, size_t *ret_n, struct err *e)
{
	size_t n = 0, n_known = 0;
	struct cprof_event event;
	while (cprof_event_at(n_known, &event))
		n_known++;
	struct row *row = *ret_row = calloc(n_known, sizeof(*row));
	if (!row)
		return err_errno(e, ENOMEM, "cannot list events");
	for (size_t i = 0; cprof_event_at(i, &event); i++) {
		if (!matches(&event, pattern))
			continue;
		row[n].event = event;
		int r = cprof_event_test(probe, event.name, &row[n].state, &row[n].reason, e);
		if (r < 0)
			return r;
		n++;
	}
	if (n == 0) {
		row[0].event = (struct cprof_event){ pattern, "", "other", "as written" };
		int r = cprof_event_test(probe, pattern, &row[0].state, &row[0].reason, e);
		if (r < 0)
			return r;
		n = 1;
	}
	*ret_n = n;
	return 0;
}

static void free_rows(struct row *row, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!row[i].owned)
			continue;
		free((char *)row[i].event.name);
		free((char *)row[i].event.aliases);
		free((char *)row[i].event.group);
		free((char *)row[i].event.what);
	}
	free(row);
}

static int show_events(const struct cprof_event_probe *probe, const struct options *o,
		       struct err *e)
{
	struct row *row = NULL;
	size_t n = 0;
	if (o->pmus)
		return print_pmus(probe, o->json, e);
	if (o->probes)
		return list_probes(probe, &(struct list_probes_options){
			.of = o->probes, .pattern = o->pattern, .json = o->json,
			.matches = word_matches }, e);
	int r = o->pmu || o->search ? find_everywhere(probe, o, &row, &n, e)
				       : find_rows(probe, o->pattern, &row, &n, e);
	if (r < 0)
		goto out;
	if (o->json)
		print_json(row, n, cprof_event_machine(probe));
	else
		print_table(row, n, cprof_event_machine(probe));
out:
	free_rows(row, n);
	return r;
}

static int run_list(int argc, char **argv)
{
	struct options o = { 0 };
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o);

	struct err e = { 0 };
	struct cprof_event_probe *probe = NULL;
	int status = CMD_FAILED;
	if (cprof_event_probe_new(&probe, &e) < 0 || show_events(probe, &o, &e) < 0) {
		cmd_fail("list", &e);
	} else {
		status = 0;
		if (fflush(stdout) || ferror(stdout)) {
			perror("cprof list: cannot write");
			status = CMD_FAILED;
		}
	}
	cprof_event_probe_free(probe);
	return status;
}

const struct cmd cmd_list = {
	.name = "list",
	.help = "show the events, and which of them work here",
	.argp = &argp,
	.run = run_list,
	.is_recording = true,
};
