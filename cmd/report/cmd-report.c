/*
 * cprof report: reads a profile, filters it, splits it into rows and passes it to the requested
 * printer.  lib/view computes the numbers; the printers add units, columns and colours.
 */

#include "cmd/cmd.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/report/report.h"
#include "cmd/printable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CONDITION_STATUS 3   /* a condition of --fail-if holds */

static int fail(struct err *e)
{
	fprintf(stderr, "cprof report: ");
	printable_text(stderr, e->what);
	for (const char *line = e->hint; *line;) {
		size_t n = strcspn(line, "\n");
		char copy[ERR_TEXT_MAX];
		snprintf(copy, sizeof(copy), "%.*s", (int)n, line);
		fprintf(stderr, "\n  ");
		printable_text(stderr, copy);
		line += n + (line[n] == '\n');
	}
	fputc('\n', stderr);
	return e->is_usage ? CMD_USAGE : CMD_FAILED;
}

/* Of the rows shown, so that a later row does not force a small unit on them. */
static int64_t smallest_value(const struct top *t, uint64_t limit)
{
	int64_t min = 0;
	for (uint32_t i = 0; i < t->n_rows && (limit == 0 || i < limit); i++) {
		int64_t v = model_magnitude(t->row[i].flat ? t->row[i].flat : t->row[i].cum);
		if (v > 0 && (min == 0 || v < min))
			min = v;
	}
	return min;
}

static int print_comparison(const struct report *report, bool *ret_failed, struct err *e)
{
	CLEANUP(report_view_close) struct report_view base = { 0 };
	int r = report_view_open(&base, report->o, &report->o->diff_base, 1, e);
	return r < 0 ? r : report_diff_print(report, &base, e, ret_failed);
}

static int print_view(const struct report *r, bool *ret_failed, struct err *e)
{
	const struct report_options *o = r->o;
	if (o->wants_info)
		return report_info_print(r);
	if (o->format == REPORT_FOLDED)
		return report_folded_print(r, e);
	if (o->list)
		return o->wants_disasm ? report_disasm_print(r, e) : report_list_print(r, e);
	if (o->wants_tree)
		return report_tree_print(r, e);
	return o->diff_base ? print_comparison(r, ret_failed, e) : report_table_print(r, e);
}

static int prepare(struct report *report, struct err *e)
{
	const struct report_options *o = report->o;
	struct report_view *v = &report->view;
	int r = report_view_open(v, o, o->path, o->n_paths, e);
	if (r < 0)
		return r;
	r = top_new(v->m, v->f, v->rows, v->type, &report->top, e);
	if (r < 0)
		return r;
	top_sort(report->top, o->order);
	r = report_waits_open(&report->waits, v, o, e);
	if (r < 0)
		return r;
	return report_view_scale(v, o, smallest_value(report->top, o->limit), report->top->total,
				 &report->scale, e);
}

static int print_report(const struct report_options *o)
{
	struct report_source source = { 0 };
	struct report report = { .o = o, .source = &source, .scale = { 1, "" } };
	struct err e = { 0 };
	bool failed = false;
	int write_error = 0;
	int r = prepare(&report, &e);
	if (r == 0) {
		report_view_warn(report.view.f);
		report_source_add(&source, o->path, o->n_paths);
		term_open(&report.term, !o->no_pager && o->format == REPORT_TEXT);
		r = print_view(&report, &failed, &e);
		write_error = term_close(&report.term);
	}
	report_waits_close(&report.waits);
	top_free(report.top);
	report_view_close(&report.view);
	report_source_done(&source);
	if (r < 0)
		return fail(&e);
	if (write_error) {
		fprintf(stderr, "cprof report: cannot write the report: %s\n",
			strerror(write_error));
		return CMD_FAILED;
	}
	return failed ? CONDITION_STATUS : EXIT_SUCCESS;
}

static int run_report(int argc, char **argv)
{
	struct report_options o;
	struct err e = { 0 };
	report_opts_parse(&o, argc, argv);
	bool is_page = o.html || o.svg || o.wants_http;
	int status = !is_page ? print_report(&o) :
		     report_html_write(&o, &e) < 0 ? fail(&e) : EXIT_SUCCESS;
	free(o.path);
	free(o.newest);
	return status;
}

const struct cmd cmd_report = {
	.name = "report",
	.help = "show where time is spent in a profile, or compare two",
	.argp = &report_argp,
	.run = run_report,
};
