/*
 * Each change has its standard error.  Changes within chance are marked with '~' and dimmed, so
 * that readers need not judge by size alone.  Without --limit they are left out: one line says
 * whether anything has changed, and only what has changed follows.
 */

#include "cmd/report/difftext.h"

#include "cmd/printable.h"
#include "cmd/report/report.h"

#include <math.h>
#include <string.h>

const char *difftext_value(const struct difftext *p, enum diff_norm norm, double value,
			   bool with_sign, char buf[SCALE_TEXT_MAX])
{
	const char *sign = with_sign && value > 0 ? "+" : "";
	if (norm == DIFF_SHARE) {
		snprintf(buf, SCALE_TEXT_MAX, "%s%.2f%%", sign, 100 * value);
		return buf;
	}
	double v = value * p->r->scale.factor;
	const char *suffix = p->r->scale.suffix;
	if (v == floor(v) && fabs(v) < 1e15)
		snprintf(buf, SCALE_TEXT_MAX, "%s%.0f%s", sign, v, suffix);
	else
		snprintf(buf, SCALE_TEXT_MAX, "%s%.2f%s", sign, v, suffix);
	return buf;
}

static const char *plus_minus(const struct difftext *p)
{
	return p->r->term.has_utf8 ? "\xc2\xb1" : "+-";
}

static const char *error_text(const struct difftext *p, const struct diff_change *c,
			      char buf[SCALE_TEXT_MAX])
{
	char text[SCALE_TEXT_MAX];
	if (!p->d->has_var)
		return "?";
	snprintf(buf, SCALE_TEXT_MAX, "%.38s",
		 difftext_value(p, p->d->norm, c->se, false, text));
	return buf;
}

static void print_change(const struct difftext *p, const struct diff_change *c)
{
	const struct term *term = &p->r->term;
	enum diff_norm norm = p->d->norm;
	char a[SCALE_TEXT_MAX], b[SCALE_TEXT_MAX], d[SCALE_TEXT_MAX], s[SCALE_TEXT_MAX];
	bool noise = p->d->has_var && !c->is_significant;
	fprintf(term->out, " %9s %9s ", difftext_value(p, norm, c->base.value, false, a),
		difftext_value(p, norm, c->fresh.value, false, b));
	term_color(term, noise ? TERM_DIM : c->delta > 0 ? TERM_RED : TERM_GREEN);
	/* '~': within chance; '*': significant; ' ': unknown. */
	fprintf(term->out, "%9s %s%-8s%c", difftext_value(p, norm, c->delta, true, d),
		plus_minus(p), error_text(p, c, s), !p->d->has_var ? ' ' : noise ? '~' : '*');
	term_color(term, TERM_PLAIN);
}

static const char *const norms[] = {
	[DIFF_SHARE] = "shares of the total",
	[DIFF_PER_SECOND] = "values per second",
	[DIFF_ABSOLUTE] = "plain values",
};

static void print_totals(const struct difftext *p, const struct report_view *base)
{
	const struct report *r = p->r;
	const struct model *bm = base->m, *fm = r->view.m;
	FILE *out = r->term.out;
	char a[SCALE_TEXT_MAX], b[SCALE_TEXT_MAX], s[SCALE_TEXT_MAX];
	/* The base may have another unit of the same family. */
	struct scale base_scale = r->scale;
	double ratio = scale_ratio(model_string(bm, bm->type[base->type].unit),
				   model_string(fm, fm->type[r->view.type].unit));
	base_scale.factor *= ratio > 0 ? ratio : 1;
	fprintf(out, "Type: ");
	term_print_name(&r->term, model_string(fm, fm->type[r->view.type].type), 40);
	fprintf(out, " (");
	term_print_name(&r->term, model_string(fm, fm->type[r->view.type].unit), 30);
	fprintf(out, ")\nCompared: %s\n", norms[p->d->norm]);
	struct scale wall = scale_choose(fm->duration_ns, fm->duration_ns, "nanoseconds");
	fprintf(out, "Total: %s before", scale_text(base_scale, p->d->total.base.raw, a));
	if (bm->duration_ns > 0)
		fprintf(out, " (in %s)", scale_text(wall, bm->duration_ns, s));
	fprintf(out, ", %s now", scale_text(r->scale, p->d->total.fresh.raw, b));
	if (fm->duration_ns > 0)
		fprintf(out, " (in %s)", scale_text(wall, fm->duration_ns, s));
	fputc('\n', out);
	if (p->d->base_runs)
		fprintf(out, "Runs: %u before, %u now%s%s\n", p->d->base_runs, p->d->fresh_runs,
			p->d->has_pairs ? ", in pairs" : "",
			p->d->norm == DIFF_ABSOLUTE ? "; values are means of a run" : "");
}

/* "+12.67% +-2.86%" */
static void print_delta(const struct difftext *p, enum diff_norm norm, const struct diff_change *c)
{
	char a[SCALE_TEXT_MAX], b[SCALE_TEXT_MAX];
	fprintf(p->r->term.out, "%s %s%s", difftext_value(p, norm, c->delta, true, a),
		plus_minus(p), difftext_value(p, norm, c->se, false, b));
}

static void print_verdict(const struct difftext *p)
{
	const struct diff *d = p->d;
	const struct diff_change *c = NULL, *total = &d->absolute;
	const struct diff_row *largest = diff_largest(d, &c);
	FILE *out = p->r->term.out;
	if (!d->has_var) {
		fprintf(out, "Verdict: unknown; without the numbers of samples, noise cannot be "
			     "distinguished from change\n");
		return;
	}
	term_color(&p->r->term, TERM_BOLD);
	if (largest) {
		fprintf(out, "Verdict: %u of %u %s changed significantly, most of all '",
			d->n_significant, d->n_rows, p->r->o->kind.plural);
		term_print_name(&p->r->term, largest->row->name, 60);
		fprintf(out, "' (%s", c == &largest->cum ? "cum " : "");
		print_delta(p, d->norm, c);
		fprintf(out, ")");
	} else {
		fprintf(out, "Verdict: no significant change in %u %s", d->n_rows,
			p->r->o->kind.plural);
	}
	fprintf(out, "; total ");
	print_delta(p, DIFF_ABSOLUTE, total);
	if (total->base.value != 0)
		fprintf(out, " (%+.1f%%)", 100 * total->delta / fabs(total->base.value));
	fprintf(out, "%s, %s\n", d->base_runs ? " per run" : "",
		total->is_significant ? "significant" : "which could be noise");
	term_color(&p->r->term, TERM_PLAIN);
	if (largest && d->norm == DIFF_SHARE && total->is_significant)
		fprintf(out, "The total changed, too, and with it the shares of functions that "
			     "take as long as before: see --absolute\n");
}

static void print_legend(const struct difftext *p)
{
	const struct diff *d = p->d;
	FILE *out = p->r->term.out;
	if (d->has_var && d->base_runs)
		fprintf(out, "Marks: * changed by more than the runs differ, ~ could be noise\n");
	else if (d->has_var)
		fprintf(out, "Marks: * beyond %.1f standard errors, ~ could be noise\n",
			d->z_needed);
}

static void print_header(const struct difftext *p, bool is_cum, bool has_both)
{
	const struct term *term = &p->r->term;
	fputc('\n', term->out);
	term_color(term, TERM_BOLD);
	for (int k = 0; k < (has_both ? 2 : 1); k++) {
		const char *what = (k == 0) == is_cum ? "cum" : "flat";
		char before[16], change[24];
		snprintf(before, sizeof(before), "%s old", what);
		snprintf(change, sizeof(change), "%s new", what);
		fprintf(term->out, " %9s %9s %9s %*s", before, change, "change",
			term->has_utf8 ? 10 : 11, "");
	}
	fprintf(term->out, "  %s", report_head_name(p->r->o));
	term_color(term, TERM_PLAIN);
	fputc('\n', term->out);
}

static void print_row(const struct difftext *p, const struct diff_row *x, bool is_cum,
		      bool has_both)
{
	const struct term *term = &p->r->term;
	int column = 41 + (term->has_utf8 ? 0 : 1);
	print_change(p, is_cum ? &x->cum : &x->flat);
	if (has_both)
		print_change(p, is_cum ? &x->flat : &x->cum);
	fputs("  ", term->out);
	int room = term->width ? term->width - column * (has_both ? 2 : 1) - 2 : 0;
	term_print_name(term, x->row->name, term->width && room < 8 ? 8 : room);
	fputc('\n', term->out);
}

static void print_rest(const struct difftext *p, uint32_t n_folded, uint32_t n_more)
{
	FILE *out = p->r->term.out;
	if (n_folded && n_more)
		fprintf(out, "(%u more, and %u without a significant change; "
			"--limit 0 shows all)\n", n_more, n_folded);
	else if (n_folded)
		fprintf(out, "(%u without a significant change; --limit 0 shows all)\n", n_folded);
	else if (n_more)
		fprintf(out, "(%u more; --limit 0 shows all)\n", n_more);
}

void difftext_print(const struct difftext *p, const struct report_view *base)
{
	const struct report *r = p->r;
	const struct diff *d = p->d;
	bool is_cum = r->o->order == TOP_BY_CUM;
	bool has_both = !r->term.width || r->term.width >= 120;
	bool folds = d->has_var && !r->o->has_limit;
	uint32_t limit = report_head_limit(r->o, d->n_rows);
	uint32_t n_shown = 0, n_folded = 0, n_more = 0;
	print_totals(p, base);
	print_verdict(p);
	for (uint32_t i = 0; i < d->n_rows; i++) {
		const struct diff_row *x = &d->row[i];
		bool is_significant = x->flat.is_significant || x->cum.is_significant;
		if (folds && !is_significant) {
			n_folded++;
			continue;
		}
		if (n_shown == limit) {
			n_more++;
			continue;
		}
		if (n_shown++ == 0) {
			print_legend(p);
			print_header(p, is_cum, has_both);
		}
		print_row(p, x, is_cum, has_both);
	}
	print_rest(p, n_folded, n_more);
}
