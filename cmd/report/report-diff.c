/* Compares two profiles, prints the changes as text, JSON or CSV, and checks conditions. */

#include "cmd/report/difftext.h"
#include "cmd/report/report.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/printable.h"
#include "view/table/failif.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char *const norms[] = {
	[DIFF_SHARE] = "share", [DIFF_PER_SECOND] = "per-second", [DIFF_ABSOLUTE] = "absolute",
};

static void json_change(FILE *out, const char *key, const struct diff_change *c, const char *after)
{
	fprintf(out,
		"\"%s\": {\"base\": %.17g, \"new\": %.17g, \"change\": %.17g, "
		"\"standard_error\": %.17g, \"chance\": %.4g, \"significant\": %s, "
		"\"base_raw\": %" PRId64 ", \"new_raw\": %" PRId64 "}%s",
		key, c->base.value, c->fresh.value, c->delta, c->se, c->chance,
		c->is_significant ? "true" : "false", c->base.raw, c->fresh.raw, after);
}

static void print_json(const struct difftext *p, uint32_t n)
{
	const struct report *r = p->r;
	const struct model *m = r->view.m;
	FILE *out = r->term.out;
	fprintf(out, "{\n  \"type\": ");
	printable_json(out, model_string(m, m->type[r->view.type].type));
	fprintf(out, ",\n  \"unit\": ");
	printable_json(out, model_string(m, m->type[r->view.type].unit));
	fprintf(out, ",\n  \"by\": ");
	printable_json(out, r->o->kind.name);
	fprintf(out, ",\n  \"compared\": \"%s\",\n  \"standard_errors_needed\": %.4f,\n"
		     "  \"significant\": %u,\n  \"has_standard_errors\": %s,\n  "
		     "\"base_runs\": %u,\n  \"new_runs\": %u,\n  "
		     "\"pairs\": %s,\n  ",
		norms[p->d->norm], p->d->z_needed, p->d->n_significant,
		p->d->has_var ? "true" : "false", p->d->base_runs, p->d->fresh_runs,
		p->d->has_pairs ? "true" : "false");
	json_change(out, "total", &p->d->total, ",\n  ");
	json_change(out, "absolute_total", &p->d->absolute, ",\n");
	fprintf(out, "  \"rows_total\": %u,\n  \"rows\": [", p->d->n_rows);
	for (uint32_t i = 0; i < n; i++) {
		const struct diff_row *x = &p->d->row[i];
		fprintf(out, "%s\n    {\"name\": ", i > 0 ? "," : "");
		printable_json(out, x->row->name);
		fputs(", ", out);
		json_change(out, "flat", &x->flat, ", ");
		json_change(out, "cum", &x->cum, "}");
	}
	fprintf(out, "%s]\n}\n", n > 0 ? "\n  " : "");
}

static void csv_change(FILE *out, const struct diff_change *c)
{
	fprintf(out, ",%.9g,%.9g,%.9g,%.9g,%s", c->base.value, c->fresh.value, c->delta, c->se,
		c->is_significant ? "yes" : "no");
}

static void print_csv(const struct difftext *p, uint32_t n)
{
	FILE *out = p->r->term.out;
	fprintf(out, "name,flat_base,flat_new,flat_change,flat_error,flat_significant,"
		     "cum_base,cum_new,cum_change,cum_error,cum_significant\n");
	for (uint32_t i = 0; i < n; i++) {
		report_csv_text(out, p->d->row[i].row->name);
		csv_change(out, &p->d->row[i].flat);
		csv_change(out, &p->d->row[i].cum);
		fputc('\n', out);
	}
}

static void print_condition(const struct difftext *p, const struct failif *g,
			    const struct diff_row *row)
{
	fprintf(stderr, "cprof report: ");
	printable_text(stderr, g->text);
	fprintf(stderr, " holds");
	if (row) {
		const struct diff_change *c = g->metric == FAILIF_FLAT ? &row->flat : &row->cum;
		char a[SCALE_TEXT_MAX], b[SCALE_TEXT_MAX];
		fprintf(stderr, ": '");
		printable_text(stderr, row->row->name);
		fprintf(stderr, "' went from %s to %s",
			difftext_value(p, p->d->norm, c->base.value, false, a),
			difftext_value(p, p->d->norm, c->fresh.value, false, b));
	}
	fputc('\n', stderr);
}

/* Checks all conditions, so that one run reports all that hold. */
static int check_conditions(const struct difftext *p, bool *ret_failed, struct err *e)
{
	const struct report *report = p->r;
	const struct model *m = report->view.m;
	const char *unit = model_string(m, m->type[report->view.type].unit);
	for (size_t i = 0; i < report->o->n_conditions; i++) {
		CLEANUP(failif_done) struct failif g = { 0 };
		const struct diff_row *row = NULL;
		int r = failif_parse(&g, report->o->condition[i], e);
		if (r < 0)
			return r;
		r = failif_holds(&g, p->d, unit, &row, e);
		if (r < 0)
			return r;
		if (r > 0) {
			*ret_failed = true;
			print_condition(p, &g, row);
		}
	}
	return 0;
}

static int parse_conditions(const struct report_options *o, struct err *e)
{
	for (size_t i = 0; i < o->n_conditions; i++) {
		CLEANUP(failif_done) struct failif g = { 0 };
		int r = failif_parse(&g, o->condition[i], e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The unit of base divided by that of fresh. */
static int unit_ratio(const struct report_view *base, const struct report_view *fresh, double *ret,
		      struct err *e)
{
	const struct model_type *b = &base->m->type[base->type], *f = &fresh->m->type[fresh->type];
	const char *from = model_string(base->m, b->unit), *to = model_string(fresh->m, f->unit);
	*ret = strcmp(from, to) == 0 ? 1 : scale_ratio(from, to);
	if (*ret > 0 &&
	    strcmp(model_string(base->m, b->type), model_string(fresh->m, f->type)) == 0)
		return 0;
	int r = err_set(e, EINVAL, "the profiles cannot be compared: %s/%s before, %s/%s now",
			model_string(base->m, b->type), from, model_string(fresh->m, f->type), to);
	err_hint(e, "choose values that both have with --sample-type");
	return r;
}

int report_diff_print(const struct report *report, const struct report_view *base, struct err *e,
		      bool *ret_failed)
{
	const struct report_view *fresh = &report->view;
	CLEANUP(top_freep) struct top *base_top = NULL;
	CLEANUP(runs_freep) struct runs *base_runs = NULL;
	CLEANUP(runs_freep) struct runs *runs = NULL;
	CLEANUP(diff_freep) struct diff *d = NULL;
	double ratio = 1;
	int r = parse_conditions(report->o, e);
	if (r < 0)
		return r;
	r = unit_ratio(base, fresh, &ratio, e);
	if (r < 0)
		return r;
	r = top_new(base->m, base->f, base->rows, base->type, &base_top, e);
	if (r < 0)
		return r;
	r = runs_new(base->m, base->f, base->rows, base->type, &base_runs, e);
	if (r < 0)
		return r;
	r = runs_new(fresh->m, fresh->f, fresh->rows, fresh->type, &runs, e);
	if (r < 0)
		return r;
	bool has_pairs = base_runs && runs && runs_are_pairs(base->m, base_runs, fresh->m, runs);
	struct diff_input from = { base_top, base_runs, (double)base->m->duration_ns / 1e9,
				   has_pairs };
	struct diff_input to = { report->top, runs, (double)fresh->m->duration_ns / 1e9,
				 has_pairs };
	r = diff_new(&from, &to, ratio, report->o->norm, &d, e);
	if (r < 0)
		return r;
	struct difftext p = { .r = report, .d = d };
	diff_sort(d, report->o->order);
	uint32_t n = report_head_limit(report->o, d->n_rows);
	if (report->o->format == REPORT_JSON)
		print_json(&p, n);
	else if (report->o->format == REPORT_CSV)
		print_csv(&p, n);
	else
		difftext_print(&p, base);
	return check_conditions(&p, ret_failed, e);
}
