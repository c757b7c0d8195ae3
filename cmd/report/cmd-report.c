/*
 * cprof report: reads, filters and cuts a profile into rows (lib/view), and hands it to the
 * printer that was asked for.  Numbers are made in view, here they get units, columns and colours.
 */

#include "cmd/cmd.h"

#include "base/err.h"
#include "cmd/report/report.h"
#include "cmd/printable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GATE_STATUS 3

static int fail(struct err *e)
{
	fprintf(stderr, "cprof report: ");
	printable_print(stderr, e->what);
	for (const char *line = e->hint; *line;) {
		size_t n = strcspn(line, "\n");
		char copy[ERR_TEXT_MAX];
		snprintf(copy, sizeof(copy), "%.*s", (int)n, line);
		fprintf(stderr, "\n  ");
		printable_print(stderr, copy);
		line += n + (line[n] == '\n');
	}
	fputc('\n', stderr);
	return e->is_usage ? CMD_USAGE : CMD_FAILED;
}

void report_filter_warn(const struct filter *f)
{
	static const char *const name[] = { "--focus", "--ignore", "--hide", "--show", "--tag" };
	const bool missed[] = { f->focus_missed, f->ignore_missed, f->hide_missed, f->show_missed,
				f->tag_missed };
	for (int i = 0; i < 5; i++)
		if (missed[i])
			fprintf(stderr, "cprof report: %s matches nothing\n", name[i]);
	if (f->drop_refused)
		fprintf(stderr, "cprof report: the profile's drop_frames is not used: no simple "
				"regular expression\n");
}

static void close_view(struct report_view *v)
{
	rows_free(v->rows);
	filter_free(v->f);
	model_free(v->m);
	*v = (struct report_view){ 0 };
}

static int open_view(struct report_view *v, const struct report_options *o,
		     const char *const *path, size_t n_paths, struct err *e)
{
	int r = model_read_files(path, n_paths, &v->m, e);
	if (r == 0)
		r = model_find_type(v->m, o->sample_type, &v->type, e);
	if (r == -ENOENT && n_paths == 1 && v->m)
		err_prefix(e, "'%s'", path[0]);
	if (r == 0)
		r = filter_new(v->m, &o->filter, &v->f, e);
	if (r == 0)
		r = rows_new(v->m, v->f, o->by, o->label, &v->rows, e);
	return r;
}

int report_scale_choose(const struct report_options *o, const struct model *m, uint32_t type,
			int64_t min, int64_t max, struct scale *ret, struct err *e)
{
	const char *unit = model_string(m, m->type[type].unit);
	if (!o->unit) {
		*ret = scale_choose(min, max, unit);
		return 0;
	}
	if (scale_fixed(unit, o->unit, ret) || strcmp(unit, o->unit) == 0)
		return 0;
	int r = err_usage(e, "values in '%s' cannot be shown in '%s'", unit, o->unit);
	err_hint(e, "units of time are ns, us, ms, s, hrs; of memory B, kB, MB, GB, TB, PB");
	return r;
}

/* Of the rows that are shown: one far down must not force a small unit on them. */
static int64_t smallest(const struct top *t, uint64_t limit)
{
	int64_t min = 0;
	for (uint32_t i = 0; i < t->n_rows && (limit == 0 || i < limit); i++) {
		int64_t v = model_magnitude(t->row[i].flat ? t->row[i].flat : t->row[i].cum);
		if (v > 0 && (min == 0 || v < min))
			min = v;
	}
	return min;
}

static int print(struct report *r, bool *ret_failed, struct err *e)
{
	const struct report_options *o = r->o;
	if (o->format == REPORT_FOLDED)
		return report_folded_print(r, e);
	if (o->list)
		return o->wants_disasm ? report_disasm_print(r, e) : report_list_print(r, e);
	if (o->wants_tree)
		return report_tree_print(r, e);
	if (!o->diff_base)
		return report_table_print(r, e);
	struct report_view base = { 0 };
	int code = open_view(&base, o, &o->diff_base, 1, e);
	if (code == 0)
		code = report_diff_print(r, &base, e, ret_failed);
	close_view(&base);
	return code;
}

static int run_report(int argc, char **argv)
{
	struct report_options o;
	struct err e = { 0 };
	report_opts_parse(&o, argc, argv);
	if (o.html || o.svg) {
		int drawn = report_html_write(&o, &e);
		free(o.path);
		return drawn < 0 ? fail(&e) : EXIT_SUCCESS;
	}
	struct report r = { .o = &o, .scale = { 1, "" } };
	bool failed = false;
	int code = open_view(&r.view, &o, o.path, o.n_paths, &e);
	if (code == 0)
		code = top_new(r.view.m, r.view.f, r.view.rows, r.view.type, &r.top, &e);
	if (code == 0) {
		top_sort(r.top, o.order);
		code = report_scale_choose(&o, r.view.m, r.view.type, smallest(r.top, o.limit),
					   r.top->total, &r.scale, &e);
	}
	int write_error = 0;
	if (code == 0) {
		report_filter_warn(r.view.f);
		term_open(&r.term, !o.no_pager && o.format == REPORT_TEXT);
		code = print(&r, &failed, &e);
		write_error = term_close(&r.term);
	}
	top_free(r.top);
	close_view(&r.view);
	free(o.path);
	if (code < 0)
		return fail(&e);
	if (write_error) {
		fprintf(stderr, "cprof report: cannot write the report: %s\n",
			strerror(write_error));
		return CMD_FAILED;
	}
	return failed ? GATE_STATUS : EXIT_SUCCESS;
}

const struct cmd cmd_report = {
	.name = "report",
	.help = "show where a profile's time goes, or compare two",
	.argp = &report_argp,
	.run = run_report,
};
