#include "cmd/report/report.h"

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/optsets.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

/* The options of cprof report, and which of them go together. */

enum {
	OPT_LIMIT = 256, OPT_SORT, OPT_SAMPLE_TYPE, OPT_JSON, OPT_CSV, OPT_FOLDED, OPT_BY, OPT_TREE,
	OPT_CALLER, OPT_CALLEE, OPT_LIST, OPT_DISASM, OPT_FOCUS, OPT_IGNORE, OPT_HIDE, OPT_SHOW,
	OPT_TAG, OPT_UNIT, OPT_DIFF, OPT_PER_SECOND, OPT_ABSOLUTE, OPT_FAIL_IF, OPT_KEEP_DROPPED,
	OPT_NO_PAGER, OPT_HTML, OPT_SVG, OPT_NO_SOURCE,
};

static const struct argp_option option_table[] = {
	{ NULL, 0, NULL, 0, "What is shown:", 1 },
	{ "tree", OPT_TREE, NULL, 0, "Show the tree of calls instead of a table", 1 },
	{ "callee", OPT_CALLEE, "NAME", 0, "With --tree: what NAME calls", 1 },
	{ "caller", OPT_CALLER, "NAME", 0, "With --tree: who calls NAME", 1 },
	{ "list", OPT_LIST, "REGEX", 0, "Show the source of matching functions, line by line", 1 },
	{ "disasm", OPT_DISASM, NULL, 0, "With --list: their instructions instead (by objdump)",
	  1 },
	{ "folded", OPT_FOLDED, NULL, 0, "Print one line for each stack, as flamegraph.pl reads "
	  "it", 1 },
	{ "json", OPT_JSON, NULL, 0, "Print one JSON object", 1 },
	{ "csv", OPT_CSV, NULL, 0, "Print comma separated values", 1 },

	{ "html", OPT_HTML, "OUT", 0, "Write a page to look around in with a browser: flame graph, "
	  "callers and callees, tables, source", 1 },
	{ "svg", OPT_SVG, "OUT", 0, "Write a still flame graph", 1 },

	{ NULL, 0, NULL, 0, "How:", 2 },
	{ "by", OPT_BY, "WHAT", 0,
	  "What a row is: {by}", 2 },
	{ "sort", OPT_SORT, "ORDER", 0, "Order of rows: {sort}", 2 },
	{ "limit", OPT_LIMIT, "N", 0,
	  "Show the first N rows (default 30; 60 lines of a tree; 0: all)", 2 },
	{ "sample-type", OPT_SAMPLE_TYPE, "TYPE", 0,
	  "Which values to show, such as 'samples' or 'cpu' (default: the profile's own choice)",
	  2 },
	{ "unit", OPT_UNIT, "UNIT", 0, "Show values in UNIT: {unit}", 2 },
	{ "no-source", OPT_NO_SOURCE, NULL, 0, "With --html: no text of source files", 2 },
	{ "no-pager", OPT_NO_PAGER, NULL, 0, "Never start a pager", 2 },

	{ NULL, 0, NULL, 0, "Which samples and frames:", 3 },
	{ "focus", OPT_FOCUS, "REGEX", 0, "Only stacks with a matching frame", 3 },
	{ "ignore", OPT_IGNORE, "REGEX", 0, "No stacks with a matching frame", 3 },
	{ "hide", OPT_HIDE, "REGEX", 0, "Leave matching frames out", 3 },
	{ "show", OPT_SHOW, "REGEX", 0, "Leave all other frames out", 3 },
	{ "tag", OPT_TAG, "KEY=VALUE", 0, "Only samples with this label (repeatable: all of them)",
	  3 },
	{ "keep-dropped", OPT_KEEP_DROPPED, NULL, 0,
	  "Show also frames that the profile says to drop", 3 },

	{ NULL, 0, NULL, 0, "Comparing:", 4 },
	{ "diff", OPT_DIFF, "BASE", 0, "What has changed from BASE to FILE", 4 },
	{ "per-second", OPT_PER_SECOND, NULL, 0,
	  "With --diff: compare values per second, not shares of the total", 4 },
	{ "absolute", OPT_ABSOLUTE, NULL, 0, "With --diff: compare the values as they are", 4 },
	{ "fail-if", OPT_FAIL_IF, "CONDITION", 0,
	  "With --diff: end with status 3 if it holds, such as 'flat(NAME) > +2%' (repeatable)",
	  4 },
	{ 0 }
};

static void parse_by(struct report_options *o, const char *arg)
{
	int by = ROWS_LABEL;
	o->by_name = arg;
	o->label = optwords_find(&optsets_by, arg, strlen(arg), &by) ? "thread_name" : arg;
	o->by = (enum rows_by)by;
}

static void set_format(struct report_options *o, enum report_format format,
		       struct argp_state *state)
{
	if (o->format != REPORT_TEXT && o->format != format)
		argp_error(state, "only one of --json, --csv and --folded");
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
	if (o->no_source && !o->html)
		argp_error(state, "--no-source goes with --html");
	if (!o->html && !o->svg)
		return;
	if (o->wants_tree || o->list || o->format != REPORT_TEXT || o->has_limit || o->has_sort ||
	    o->unit || o->n_gates > 0)
		argp_error(state, "--html and --svg do not go with --tree, --list, --folded, "
				  "--json, --csv, --limit, --sort, --unit and --fail-if");
	if (o->by == ROWS_LABEL)
		argp_error(state, "--by %s makes tables only", o->by_name);
	if (o->html && o->svg && strcmp(o->html, "-") == 0 && strcmp(o->svg, "-") == 0)
		argp_error(state, "only one of --html and --svg can go to '-'");
	for (size_t i = 0; i < o->n_paths && o->n_paths > 1; i++)
		if (strcmp(o->path[i], "-") == 0)
			argp_error(state, "with --html and --svg '-' must be the only FILE");
}

static void check_together(struct report_options *o, struct argp_state *state)
{
	if (o->n_paths == 0)
		argp_error(state, "no FILE given");
	check_pictures(o, state);
	if (o->caller && o->callee)
		argp_error(state, "only one of --caller and --callee");
	if (!o->wants_tree && (o->caller || o->callee))
		argp_error(state, "--caller and --callee go with --tree");
	if (o->wants_disasm && !o->list)
		argp_error(state, "--disasm goes with --list");
	if (o->wants_tree && o->list)
		argp_error(state, "only one of --tree and --list");
	if (o->format == REPORT_FOLDED && (o->wants_tree || o->list || o->diff_base))
		argp_error(state, "--folded goes with no other view");
	if (o->list && o->format != REPORT_TEXT)
		argp_error(state, "--list prints text only");
	if (o->wants_tree && o->format == REPORT_CSV)
		argp_error(state, "--tree prints text or --json");
	if (!o->diff_base && (o->has_norm || o->n_gates > 0))
		argp_error(state, "--per-second, --absolute and --fail-if go with --diff");
	if (o->diff_base && (o->wants_tree || o->list))
		argp_error(state, "--diff compares tables only");
	if (o->by == ROWS_LABEL && (o->wants_tree || o->list || o->format == REPORT_FOLDED))
		argp_error(state, "--by %s makes tables only", o->by_name);
	if (o->list && o->by != ROWS_FUNCTION)
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
			argp_error(state, "'%s' is not a number of rows", arg);
		o->has_limit = true;
		return 0;
	case OPT_SORT:
		o->order = (enum top_order)optwords_parse(&optsets_sort, state, "--sort", arg);
		o->has_sort = true;
		return 0;
	case OPT_HTML: o->html = arg; return 0;
	case OPT_SVG: o->svg = arg; return 0;
	case OPT_NO_SOURCE: o->no_source = true; return 0;
	case OPT_BY: parse_by(o, arg); return 0;
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
	case OPT_FOCUS: o->filter.focus = arg; return 0;
	case OPT_IGNORE: o->filter.ignore = arg; return 0;
	case OPT_HIDE: o->filter.hide = arg; return 0;
	case OPT_SHOW: o->filter.show = arg; return 0;
	case OPT_KEEP_DROPPED: o->filter.keep_dropped = true; return 0;
	case OPT_NO_PAGER: o->no_pager = true; return 0;
	case OPT_TAG:
		if (o->filter.n_tags == REPORT_LISTS_MAX)
			argp_error(state, "more than %d of --tag", REPORT_LISTS_MAX);
		o->tag[o->filter.n_tags++] = arg;
		return 0;
	case OPT_DIFF: o->diff_base = arg; return 0;
	case OPT_PER_SECOND: set_norm(o, DIFF_PER_SECOND, state); return 0;
	case OPT_ABSOLUTE: set_norm(o, DIFF_ABSOLUTE, state); return 0;
	case OPT_FAIL_IF:
		if (o->n_gates == REPORT_LISTS_MAX)
			argp_error(state, "more than %d of --fail-if", REPORT_LISTS_MAX);
		o->gate[o->n_gates++] = arg;
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
	.args_doc = "FILE...",
	.doc = "Show where a profile says that the time, or whatever was counted, was spent.\v"
	       "FILE is a pprof profile, gzipped or not, from cprof or any other tool; "
	       "several are merged.",
};

void report_opts_parse(struct report_options *o, int argc, char **argv)
{
	static char name[] = "cprof report";
	*o = (struct report_options){ .by_name = "function" };
	o->path = calloc((size_t)argc + 1, sizeof(*o->path));
	if (!o->path)
		exit(CMD_FAILED);
	argv[0] = name;
	if (argp_parse(&report_argp, argc, argv, 0, NULL, o) != 0)
		exit(CMD_FAILED);
	o->filter.tag = o->tag;
}
