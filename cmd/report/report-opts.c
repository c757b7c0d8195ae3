/* The options of cprof report, and the checks of how they combine. */

#include "cmd/report/report.h"

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/optsets.h"
#include "cmd/printable.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	OPT_LIMIT = 256, OPT_SORT, OPT_SAMPLE_TYPE, OPT_JSON, OPT_CSV, OPT_FOLDED, OPT_BY, OPT_TREE,
	OPT_CALLER, OPT_CALLEE, OPT_LIST, OPT_DISASM, OPT_FOCUS, OPT_IGNORE, OPT_HIDE, OPT_SHOW,
	OPT_TAG, OPT_UNIT, OPT_DIFF, OPT_PER_SECOND, OPT_ABSOLUTE, OPT_FAIL_IF, OPT_KEEP_DROPPED,
	OPT_NO_PAGER, OPT_HTML, OPT_SVG, OPT_NO_SOURCE, OPT_INFO,
	OPT_IDLE, OPT_HTTP, OPT_NO_BROWSER,
};

static const struct argp_option option_table[] = {
	{ NULL, 0, NULL, 0, "Views:", 1 },
	{ "tree", OPT_TREE, NULL, 0, "Show the call tree instead of a table", 1 },
	{ "callee", OPT_CALLEE, "NAME", 0, "With --tree: the callees of NAME", 1 },
	{ "caller", OPT_CALLER, "NAME", 0, "With --tree: the callers of NAME", 1 },
	{ "list", OPT_LIST, "REGEX", 0, "Show the source of matching functions, line by line", 1 },
	{ "disasm", OPT_DISASM, NULL, 0, "With --list: the instructions instead; with --html and "
	  "--http: beside the source (from objdump)", 1 },
	{ "folded", OPT_FOLDED, NULL, 0, "Print one line for each stack, for flamegraph.pl", 1 },
	{ "info", OPT_INFO, NULL, 0,
	  "Show what the profile says about its recording: command, machine, losses", 1 },
	{ "json", OPT_JSON, NULL, 0, "Print one JSON object", 1 },
	{ "csv", OPT_CSV, NULL, 0, "Print comma-separated values", 1 },

	{ "html", OPT_HTML, "OUT", 0, "Write an interactive page for browsers: flame graph, "
	  "callers and callees, tables, source", 1 },
	{ "http", OPT_HTTP, "PORT", OPTION_ARG_OPTIONAL,
	  "Show that page in a browser on this machine, until it is closed", 1 },
	{ "no-browser", OPT_NO_BROWSER, NULL, 0, "With --http: only print the address", 1 },
	{ "svg", OPT_SVG, "OUT", 0, "Write a static flame graph", 1 },
	FILEMODE_ROW(1),

	{ NULL, 0, NULL, 0, "Presentation:", 2 },
	{ "by", OPT_BY, "WHAT", 0,
	  "What a row is: {by} (default: function)", 2 },
	{ "sort", OPT_SORT, "ORDER", 0, "Order of rows: {sort}; flat is their own cost (the "
	  "default), cum adds that of their callees", 2 },
	{ "limit", OPT_LIMIT, "N", 0,
	  "Show the first N rows (default 30; 60 lines of a tree; 0: all)", 2 },
	{ "sample-type", OPT_SAMPLE_TYPE, "TYPE", 0,
	  "The values to show, such as 'samples' or 'cpu'; default: the profile's own",
	  2 },
	{ "unit", OPT_UNIT, "UNIT", 0, "Show values in UNIT: {unit}", 2 },
	{ "no-source", OPT_NO_SOURCE, NULL, 0, "With --html: do not include source files", 2 },
	{ "no-pager", OPT_NO_PAGER, NULL, 0, "Never start a pager", 2 },

	{ NULL, 0, NULL, 0, "Filters:", 3 },
	{ "focus", OPT_FOCUS, "REGEX", 0, "Only stacks with a matching frame", 3 },
	{ "ignore", OPT_IGNORE, "REGEX", 0, "No stacks with a matching frame", 3 },
	{ "hide", OPT_HIDE, "REGEX", 0, "Leave out matching frames", 3 },
	{ "show", OPT_SHOW, "REGEX", 0, "Leave out all other frames", 3 },
	{ "tag", OPT_TAG, "KEY=VALUE", 0,
	  "Only samples with this label (repeatable: all must match)", 3 },
	{ "idle", OPT_IDLE, NULL, 0,
	  "Show threads that only wait for work, too: idle pools and event loops", 3 },
	{ "keep-dropped", OPT_KEEP_DROPPED, NULL, 0,
	  "Show frames even if the profile says to drop them", 3 },

	{ NULL, 0, NULL, 0, "Comparing:", 4 },
	{ "diff", OPT_DIFF, "BASE", 0, "Show the changes from BASE to FILE", 4 },
	{ "per-second", OPT_PER_SECOND, NULL, 0,
	  "With --diff: compare values per second instead of shares of the total", 4 },
	{ "absolute", OPT_ABSOLUTE, NULL, 0, "With --diff: compare plain values", 4 },
	{ "fail-if", OPT_FAIL_IF, "CONDITION", 0,
	  "With --diff: exit with status 3 if it holds, such as 'flat(NAME) > +2%' (repeatable)",
	  4 },
	{ 0 }
};

static void set_format(struct report_options *o, enum report_format format,
		       struct argp_state *state)
{
	if (o->format != REPORT_TEXT && o->format != format)
		argp_error(state, "--json, --csv and --folded cannot be combined");
	o->format = format;
}

static void set_norm(struct report_options *o, enum diff_norm norm, struct argp_state *state)
{
	if (o->has_norm && o->norm != norm)
		argp_error(state, "only one of --per-second and --absolute");
	o->has_norm = true;
	o->norm = norm;
}

static void check_pictures(const struct report_options *o, struct argp_state *state)
{
	if (o->no_source && !o->html && !o->wants_http)
		argp_error(state, "--no-source needs --html or --http");
	if (o->no_browser && !o->wants_http)
		argp_error(state, "--no-browser needs --http");
	if (o->wants_http && (o->html || o->svg))
		argp_error(state, "--http shows the page without a file: give no --html or "
			   "--svg");
	if (o->mode.is_given && !o->html && !o->svg)
		argp_error(state, "--mode needs --html or --svg");
	filemode_check(&o->mode, state, o->html);
	filemode_check(&o->mode, state, o->svg);
	if (!o->html && !o->svg && !o->wants_http)
		return;
	if (o->wants_tree || o->list || o->format != REPORT_TEXT || o->has_limit || o->has_sort ||
	    o->unit || o->n_conditions > 0)
		argp_error(state, "--html, --http and --svg cannot be combined with --tree, "
			   "--list, --folded, --json, --csv, --limit, --sort, --unit or --fail-if");
	if (o->kind.by == ROWS_LABEL)
		argp_error(state, "--by %s makes tables only", o->kind.name);
	if (o->html && o->svg && strcmp(o->html, "-") == 0 && strcmp(o->svg, "-") == 0)
		argp_error(state, "only one of --html and --svg can go to '-'");
	for (size_t i = 0; i < o->n_paths && o->n_paths > 1; i++)
		if (strcmp(o->path[i], "-") == 0)
			argp_error(state, "with --html, --http and --svg '-' must be the only "
				   "FILE");
}

/* As in "cat FILE | cprof report". */
static bool stdin_has_data(void)
{
	struct stat st;
	return fstat(STDIN_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode));
}

/* The newest profile comes before stdin, which scripts and ssh may leave open without any data. */
static void use_newest(struct report_options *o, struct argp_state *state)
{
	bool has_data = stdin_has_data();
	o->newest = report_newest(".");
	if (!o->newest && !has_data)
		argp_error(state, "no FILE given, and this directory has no profile (*.pb.gz)");
	if (!o->newest) {
		o->path[o->n_paths++] = "-";
		return;
	}
	o->path[o->n_paths++] = o->newest;
	fputs("cprof report: ", stderr);
	printable_text(stderr, o->newest);
	fprintf(stderr, " (the newest profile in this directory%s)\n",
		has_data ? "; '-' is stdin" : "");
}

static void check_together(struct report_options *o, struct argp_state *state)
{
	if (o->n_paths == 0)
		use_newest(o, state);
	check_pictures(o, state);
	if (o->caller && o->callee)
		argp_error(state, "only one of --caller and --callee");
	if (!o->wants_tree && (o->caller || o->callee))
		argp_error(state, "--caller and --callee need --tree");
	if (o->wants_disasm && !o->list && !o->html && !o->wants_http)
		argp_error(state, "--disasm needs --list, --html or --http");
	if (o->wants_info && (o->wants_tree || o->list || o->diff_base ||
			      o->format != REPORT_TEXT))
		argp_error(state, "--info cannot be combined with another view");
	if (o->wants_tree && o->list)
		argp_error(state, "only one of --tree and --list");
	if (o->format == REPORT_FOLDED && (o->wants_tree || o->list || o->diff_base))
		argp_error(state, "--folded cannot be combined with another view");
	if (o->list && o->format != REPORT_TEXT)
		argp_error(state, "--list prints text only");
	if (o->wants_tree && o->format == REPORT_CSV)
		argp_error(state, "--tree prints text or --json");
	if (!o->diff_base && (o->has_norm || o->n_conditions > 0))
		argp_error(state, "--per-second, --absolute and --fail-if need --diff");
	if (o->diff_base && (o->wants_tree || o->list))
		argp_error(state, "--diff compares tables only");
	if (o->kind.by == ROWS_LABEL && (o->wants_tree || o->list || o->format == REPORT_FOLDED))
		argp_error(state, "--by %s makes tables only", o->kind.name);
	if (o->list && o->kind.by != ROWS_FUNCTION)
		argp_error(state, "--list and --by do not go together");
	if (!o->has_limit)
		o->limit = o->wants_tree ? 60 : 30;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct report_options *o = state->input;
	switch (key) {
	case OPT_LIMIT:
		if (units_parse_u64(arg, &o->limit) < 0)
			argp_error(state, "--limit '%s' is not a number of rows", arg);
		o->has_limit = true;
		return 0;
	case OPT_SORT:
		o->order = (enum top_order)optwords_parse(&optsets_sort, state, "--sort", arg);
		o->has_sort = true;
		return 0;
	case OPT_HTML: o->html = arg; return 0;
	case FILEMODE_KEY: filemode_parse(&o->mode, state, arg); return 0;
	case OPT_SVG: o->svg = arg; return 0;
	case OPT_HTTP:
		if (arg && (units_parse_u64(arg, &o->port) < 0 || !o->port || o->port > 65535))
			argp_error(state, "--http '%s' is not a port", arg);
		o->wants_http = true;
		return 0;
	case OPT_NO_BROWSER: o->no_browser = true; return 0;
	case OPT_INFO: o->wants_info = true; return 0;
	case OPT_NO_SOURCE: o->no_source = true; return 0;
	case OPT_BY:
		o->kind = rows_kind_find(arg);
		o->filter.keep_idle |= strcmp(arg, "idle") == 0;
		return 0;
	case OPT_SAMPLE_TYPE: o->sample_type = arg; return 0;
	case OPT_UNIT: o->unit = arg; return 0;
	case OPT_JSON: set_format(o, REPORT_JSON, state); return 0;
	case OPT_CSV: set_format(o, REPORT_CSV, state); return 0;
	case OPT_FOLDED: set_format(o, REPORT_FOLDED, state); return 0;
	case OPT_TREE: o->wants_tree = true; return 0;
	case OPT_CALLER: o->caller = arg; return 0;
	case OPT_CALLEE: o->callee = arg; return 0;
	case OPT_LIST: o->list = arg; return 0;
	case OPT_DISASM: o->wants_disasm = true; return 0;
	case OPT_FOCUS: o->filter.regex[FILTER_FOCUS] = arg; return 0;
	case OPT_IGNORE: o->filter.regex[FILTER_IGNORE] = arg; return 0;
	case OPT_HIDE: o->filter.regex[FILTER_HIDE] = arg; return 0;
	case OPT_SHOW: o->filter.regex[FILTER_SHOW] = arg; return 0;
	case OPT_IDLE: o->filter.keep_idle = true; return 0;
	case OPT_KEEP_DROPPED: o->filter.keep_dropped = true; return 0;
	case OPT_NO_PAGER: o->no_pager = true; return 0;
	case OPT_TAG:
		if (o->filter.n_tags == REPORT_LISTS_MAX)
			argp_error(state, "more than %d of --tag", REPORT_LISTS_MAX);
		o->tag[o->filter.n_tags++] = arg;
		o->filter.keep_idle |= strncmp(arg, "idle=", 5) == 0;
		return 0;
	case OPT_DIFF: o->diff_base = arg; return 0;
	case OPT_PER_SECOND: set_norm(o, DIFF_PER_SECOND, state); return 0;
	case OPT_ABSOLUTE: set_norm(o, DIFF_ABSOLUTE, state); return 0;
	case OPT_FAIL_IF:
		if (o->n_conditions == REPORT_LISTS_MAX)
			argp_error(state, "more than %d of --fail-if", REPORT_LISTS_MAX);
		o->condition[o->n_conditions++] = arg;
		return 0;
	case ARGP_KEY_ARG:
		o->path[o->n_paths++] = arg;
		return 0;
	case ARGP_KEY_END:
		check_together(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp report_argp = {
	.options = option_table,
	.help_filter = optwords_help,
	.parser = parse_option,
	.args_doc = "[FILE...]",
	.doc = "Show where a program spent its time, or whatever the profile counts.\v"
	       "FILE is a pprof profile, gzipped or not, from cprof or any other tool; "
	       "several are merged.  Without FILE, cprof report "
	       "shows the newest profile in the current directory.",
};

void report_opts_parse(struct report_options *o, int argc, char **argv)
{
	static char name[] = "cprof report";
	*o = (struct report_options){ .kind = rows_kind_find("function") };
	o->path = calloc((size_t)argc + 1, sizeof(*o->path));
	if (!o->path)
		exit(CMD_FAILED);
	argv[0] = name;
	if (argp_parse(&report_argp, argc, argv, 0, NULL, o) != 0)
		exit(CMD_FAILED);
	o->filter.tag = o->tag;
}
