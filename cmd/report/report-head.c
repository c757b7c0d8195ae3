/* The lines above a table: the profile, the filters and the total. */

#include "cmd/report/report.h"

#include "view/model/waiting.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

const char *report_head_name(const struct report_options *o)
{
	return o->kind.by == ROWS_FUNCTION ? "name" : o->kind.name;
}

uint32_t report_head_limit(const struct report_options *o, uint32_t n_rows)
{
	return o->limit > 0 && o->limit < n_rows ? (uint32_t)o->limit : n_rows;
}

static void print_pair(const struct report *r, const char *key, const char *value)
{
	fprintf(r->term.out, "%s: ", key);
	term_print_name(&r->term, value, r->term.width ? r->term.width - (int)strlen(key) - 3 : 0);
	fputc('\n', r->term.out);
}

static void print_filters(const struct report *r)
{
	const struct filter_spec *s = &r->o->filter;
	char key[40];
	for (int i = 0; i < FILTER_N_REGEX; i++) {
		snprintf(key, sizeof(key), "Filter: %s", filter_rule_name(i));
		if (s->regex[i])
			print_pair(r, key, s->regex[i]);
	}
	for (size_t i = 0; i < s->n_tags; i++)
		print_pair(r, "Filter: tag", s->tag[i]);
}

void report_head_print(const struct report *r, uint32_t n_shown, uint32_t n_rows)
{
	const struct model *m = r->view.m;
	const struct top *t = r->top;
	FILE *out = r->term.out;
	char a[SCALE_TEXT_MAX], b[SCALE_TEXT_MAX];
	if (m->n_mappings > 0 && m->mapping[0].filename)
		print_pair(r, "File", model_string(m, m->mapping[0].filename));
	const char *process = report_info_comment(m, "process: ");
	if (process && m->n_files <= 1)
		print_pair(r, "Process", process);
	const char *unit = model_string(m, m->type[r->view.type].unit);
	fprintf(out, "Type: ");
	term_print_name(&r->term, model_string(m, m->type[r->view.type].type), 40);
	fprintf(out, " (");
	term_print_name(&r->term, unit, 30);
	fprintf(out, ")\n");
	time_t seconds = (time_t)(m->time_ns / 1000000000);
	struct tm tm;
	if (m->time_ns > 0 && gmtime_r(&seconds, &tm) && strftime(a, sizeof(a), "%F %T", &tm) > 0)
		fprintf(out, "Time: %s UTC\n", a);
	if (m->n_files > 1)
		fprintf(out, "Merged: %u files\n", m->n_files);
	if (m->duration_ns > 0) {
		struct scale wall = scale_choose(m->duration_ns, m->duration_ns, "nanoseconds");
		fprintf(out, "Duration: %s\n", scale_text(wall, m->duration_ns, a));
	}
	if (m->period > 0 && m->period_type.type) {
		struct scale period = scale_choose(m->period, m->period,
						   model_string(m, m->period_type.unit));
		fprintf(out, "Period: %s (", scale_text(period, m->period, a));
		term_print_name(&r->term, model_string(m, m->period_type.type), 40);
		fprintf(out, ")\n");
	}
	print_filters(r);
	fprintf(out, "Total: %s", scale_text(r->scale, t->total, a));
	double ns = m->duration_ns > 0 ? scale_ratio(unit, "nanoseconds") : 0;
	if (ns == 1 && waiting_is_thread_time(m, r->view.type))
		fprintf(out, " of thread time in %s: %.2f threads on average",
			scale_text(scale_choose(m->duration_ns, m->duration_ns, unit),
				   m->duration_ns, b),
			(double)t->total / (double)m->duration_ns);
	else if (ns == 1)
		fprintf(out, " (%s of the duration)", scale_percent(t->total, m->duration_ns, b));
	fputc('\n', out);
	report_waits_print(r);
	if (!r->o->wants_info)
		report_info_missing(r);
	if (n_shown < n_rows) {
		int64_t sum = 0;
		for (uint32_t i = 0; i < n_shown && i < t->n_rows; i++)
			sum = model_add(sum, t->row[i].flat);
		fprintf(out, "Showing %u of %u %s, with %s of the total\n", n_shown, n_rows,
			r->o->kind.plural, scale_percent(sum, t->total, b));
	}
}
