/*
 * cprof report: the functions of a profile by what they cost, as a table or as
 * JSON.  All adding up is done by view/top; here it is shown: one unit for
 * the whole table, foreign names made harmless, JSON with the raw numbers.
 */

#include "cmd/cmd.h"

#include "base/err.h"
#include "base/units.h"
#include "cmd/text.h"
#include "view/scale.h"
#include "view/top.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIMIT_DEFAULT 30

enum { OPT_LIMIT = 256, OPT_SORT, OPT_SAMPLE_TYPE, OPT_JSON };

struct options {
	const char *path, *sample_type;
	uint64_t limit;  /* rows; 0: all */
	enum top_order order;
	bool json;
};

static const struct argp_option option_table[] = {
	{ "limit", OPT_LIMIT, "N", 0, "Show the first N functions (default 30; 0: all)" },
	{ "sort", OPT_SORT, "flat|cum", 0,
	  "Sort by what a function costs itself (flat, the default) or with all that it calls "
	  "(cum)" },
	{ "sample-type", OPT_SAMPLE_TYPE, "TYPE", 0,
	  "Which values to show, such as 'samples' or 'cpu' (default: the profile's own choice)" },
	{ "json", OPT_JSON, NULL, 0, "Print one JSON object instead of a table" },
	{ 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	switch (key) {
	case OPT_LIMIT:
		if (units_parse_u64(arg, &o->limit) < 0)
			argp_error(state, "'%s' is not a number of functions", arg);
		return 0;
	case OPT_SORT:
		if (strcmp(arg, "flat") == 0)
			o->order = TOP_BY_FLAT;
		else if (strcmp(arg, "cum") == 0)
			o->order = TOP_BY_CUM;
		else
			argp_error(state, "cannot sort by '%s', only by 'flat' or 'cum'", arg);
		return 0;
	case OPT_SAMPLE_TYPE:
		o->sample_type = arg;
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (o->path)
			argp_error(state, "more than one FILE");
		o->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->path)
			argp_error(state, "no FILE given");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "FILE",
	.doc = "Show where a profile says that the time, or whatever was counted, was spent.\v"
	       "FILE is a pprof profile, gzipped or not, from cprof or any other tool.",
};

static int64_t smallest(const struct top *t)
{
	int64_t min = 0;
	for (size_t i = 0; i < t->n_rows; i++) {
		int64_t v = t->row[i].flat ? t->row[i].flat : t->row[i].cum;
		if (v < 0)
			v = v == INT64_MIN ? INT64_MAX : -v;
		if (v > 0 && (min == 0 || v < min))
			min = v;
	}
	return min;
}

static int64_t saturating_add(int64_t a, int64_t b)
{
	int64_t sum;
	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static void print_head(const struct top *t, struct scale scale, size_t n_shown)
{
	char a[SCALE_TEXT_MAX], b[SCALE_TEXT_MAX];
	if (t->binary[0]) {
		printf("File: ");
		text_print(stdout, t->binary);
		putchar('\n');
	}
	printf("Type: ");
	text_print(stdout, t->type);
	printf(" (");
	text_print(stdout, t->unit);
	printf(")\n");
	time_t seconds = (time_t)(t->time_ns / 1000000000);
	struct tm tm;
	if (t->time_ns > 0 && gmtime_r(&seconds, &tm) && strftime(a, sizeof(a), "%F %T", &tm) > 0)
		printf("Time: %s UTC\n", a);
	if (t->duration_ns > 0) {
		struct scale wall = scale_choose(t->duration_ns, t->duration_ns, "nanoseconds");
		printf("Duration: %s\n", scale_text(wall, t->duration_ns, a));
	}
	if (t->period > 0 && t->period_type[0]) {
		struct scale period = scale_choose(t->period, t->period, t->period_unit);
		printf("Period: %s (", scale_text(period, t->period, a));
		text_print(stdout, t->period_type);
		printf(")\n");
	}
	printf("Total: %s", scale_text(scale, t->total, a));
	if (t->duration_ns > 0 && strcmp(t->unit, "nanoseconds") == 0)
		printf(" (%s of the duration)", scale_percent(t->total, t->duration_ns, b));
	putchar('\n');
	if (n_shown < t->n_rows) {
		int64_t sum = 0;
		for (size_t i = 0; i < n_shown; i++)
			sum = saturating_add(sum, t->row[i].flat);
		printf("Showing %zu of %zu functions, with %s of the total\n", n_shown, t->n_rows,
		       scale_percent(sum, t->total, b));
	}
}

static void print_table(const struct top *t, size_t n_shown)
{
	struct scale scale = scale_choose(smallest(t), t->total, t->unit);
	print_head(t, scale, n_shown);
	printf("\n%10s %7s %7s %10s %7s  %s\n", "flat", "flat%", "sum%", "cum", "cum%", "name");
	int64_t sum = 0;
	for (size_t i = 0; i < n_shown; i++) {
		const struct top_row *row = &t->row[i];
		sum = saturating_add(sum, row->flat);
		char flat[SCALE_TEXT_MAX], cum[SCALE_TEXT_MAX], flat_pct[SCALE_TEXT_MAX],
			sum_pct[SCALE_TEXT_MAX], cum_pct[SCALE_TEXT_MAX];
		printf("%10s %7s %7s %10s %7s  ", scale_text(scale, row->flat, flat),
		       scale_percent(row->flat, t->total, flat_pct),
		       scale_percent(sum, t->total, sum_pct),
		       scale_text(scale, row->cum, cum),
		       scale_percent(row->cum, t->total, cum_pct));
		text_print(stdout, row->name);
		if (row->is_inlined)
			printf(row->is_called ? " (partly inlined)" : " (inlined)");
		putchar('\n');
	}
}

static void print_json_string(const char *key, const char *value, const char *after)
{
	printf("\"%s\": ", key);
	text_print_json(stdout, value);
	fputs(after, stdout);
}

static void print_json(const struct top *t, size_t n_shown)
{
	printf("{\n  ");
	print_json_string("binary", t->binary, ",\n  ");
	print_json_string("type", t->type, ",\n  ");
	print_json_string("unit", t->unit, ",\n  ");
	print_json_string("period_type", t->period_type, ",\n  ");
	print_json_string("period_unit", t->period_unit, ",\n");
	printf("  \"period\": %" PRId64 ",\n  \"time_ns\": %" PRId64 ",\n"
	       "  \"duration_ns\": %" PRId64 ",\n  \"total\": %" PRId64 ",\n"
	       "  \"samples\": %zu,\n  \"functions_total\": %zu,\n  \"functions\": [",
	       t->period, t->time_ns, t->duration_ns, t->total, t->n_samples, t->n_rows);
	for (size_t i = 0; i < n_shown; i++) {
		const struct top_row *row = &t->row[i];
		printf("%s\n    {", i > 0 ? "," : "");
		print_json_string("name", row->name, ", ");
		print_json_string("file", row->filename, ", ");
		printf("\"flat\": %" PRId64 ", \"cum\": %" PRId64 ", \"inlined\": %s}", row->flat,
		       row->cum, row->is_inlined ? "true" : "false");
	}
	printf("%s]\n}\n", n_shown > 0 ? "\n  " : "");
}

static int run_report(int argc, char **argv)
{
	static char name[] = "cprof report";
	struct options o = { .limit = LIMIT_DEFAULT };
	argv[0] = name;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o) != 0)
		return EXIT_FAILURE;

	struct top *t = NULL;
	struct err e = { 0 };
	if (top_of_file(o.path, o.sample_type, &t, &e) < 0) {
		fprintf(stderr, "cprof report: ");
		text_print(stderr, e.what);
		if (e.hint[0]) {
			fprintf(stderr, "\n  ");
			text_print(stderr, e.hint);
		}
		fputc('\n', stderr);
		return EXIT_FAILURE;
	}
	top_sort(t, o.order);
	size_t n_shown = o.limit > 0 && o.limit < t->n_rows ? (size_t)o.limit : t->n_rows;
	if (o.json)
		print_json(t, n_shown);
	else
		print_table(t, n_shown);
	top_free(t);
	errno = 0;
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "cprof report: cannot write the report: %s\n",
			strerror(errno ? errno : EIO));
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

const struct cmd cmd_report = {
	.name = "report",
	.help = "show the hottest functions of a profile",
	.run = run_report,
};
