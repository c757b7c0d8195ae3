/* Source lines with their costs. */

#include "cmd/report/report.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "view/table/annotate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT 5     /* lines shown around those with a cost */
#define GAP_MAX 12    /* longer gaps between lines with a cost are left out */

static void print_cost(const struct report *r, int64_t flat, int64_t cum, int64_t total)
{
	char a[SCALE_TEXT_MAX], b[SCALE_TEXT_MAX];
	double share = total ? (double)cum / (double)total : 0;
	term_color(&r->term, term_heat(share));
	fprintf(r->term.out, "%10s %10s", flat ? scale_text(r->scale, flat, a) : ".",
		cum ? scale_text(r->scale, cum, b) : ".");
	term_color(&r->term, TERM_PLAIN);
}

static void print_line(const struct report *r, const struct annotate *a,
		       const struct annotate_spot *s, uint64_t number, const char *text)
{
	print_cost(r, s ? s->flat : 0, s ? s->cum : 0, a->total);
	fprintf(r->term.out, " %6" PRIu64 "  ", number);
	int room = r->term.width ? r->term.width - 30 : 0;
	/* Expand tabs, which would become '?' like other control characters. */
	char copy[1024];
	size_t n = 0;
	for (; *text && *text != '\n' && *text != '\r' && n < sizeof(copy) - 9; text++) {
		if (*text != '\t') {
			copy[n++] = *text;
			continue;
		}
		do
			copy[n++] = ' ';
		while (n % 8 != 0);
	}
	copy[n] = '\0';
	term_print_name(&r->term, copy, r->term.width && room < 8 ? 8 : room);
	fputc('\n', r->term.out);
}

static void print_source(const struct report *r, const struct annotate *a,
			 const struct annotate_function *fn, FILE *f)
{
	const struct annotate_spot *s = a->spot + fn->first, *end = s + fn->n;
	while (s < end && s->at == 0)
		s++;
	if (s == end)
		return;
	uint64_t from = s->at > CONTEXT ? s->at - CONTEXT : 1, to = end[-1].at + CONTEXT;
	if (fn->start_line > 0 && (uint64_t)fn->start_line < from &&
	    from - (uint64_t)fn->start_line <= GAP_MAX)
		from = (uint64_t)fn->start_line;
	CLEANUP_FREE char *line = NULL;
	size_t cap = 0;
	uint64_t last = 0;
	bool in_gap = false;
	for (uint64_t n = 1; n <= to && getline(&line, &cap, f) >= 0; n++) {
		if (n < from)
			continue;
		bool near = (s < end && s->at <= n + CONTEXT) || (last && n <= last + CONTEXT);
		bool small = s < end && last && s->at - last <= GAP_MAX;
		if (!near && !small) {
			if (!in_gap)
				fprintf(r->term.out, "%10s %10s %6s\n", "", "", "...");
			in_gap = true;
			continue;
		}
		in_gap = false;
		bool here = s < end && s->at == n;
		print_line(r, a, here ? s : NULL, n, line);
		if (here) {
			last = n;
			s++;
		}
	}
	for (; s < end; s++)
		print_line(r, a, s, s->at,
			   "(beyond the end of this file, which is another version)");
}

static void print_without_source(const struct report *r, const struct annotate *a,
				 const struct annotate_function *fn)
{
	for (size_t i = 0; i < fn->n; i++) {
		const struct annotate_spot *s = &a->spot[fn->first + i];
		print_line(r, a, s, s->at, s->at ? "" : "(unknown line)");
	}
}

static void print_function(const struct report *r, const struct annotate *a,
			   const struct annotate_function *fn)
{
	FILE *out = r->term.out;
	char pct[SCALE_TEXT_MAX];
	CLEANUP_FCLOSE FILE *f = report_source_open(r->source, fn->filename);
	term_color(&r->term, TERM_BOLD);
	term_print_name(&r->term, fn->name, r->term.width);
	term_color(&r->term, TERM_PLAIN);
	fputs("\n  ", out);
	int room = r->term.width ? r->term.width - 4 : 0;
	term_print_name(&r->term, fn->filename[0] ? fn->filename : "(the source file is unknown)",
			room);
	if (!f && fn->filename[0])
		fputs("\n  (not found: only line numbers)", out);
	fputc('\n', out);
	print_cost(r, fn->flat, fn->cum, a->total);
	fprintf(out, "         total (%s of all)\n", scale_percent(fn->cum, a->total, pct));
	if (f) {
		for (size_t i = 0; i < fn->n && a->spot[fn->first + i].at == 0; i++)
			print_line(r, a, &a->spot[fn->first + i], 0, "(unknown line)");
		print_source(r, a, fn, f);
	} else {
		print_without_source(r, a, fn);
	}
	fputc('\n', out);
}

int report_list_print(const struct report *report, struct err *e)
{
	CLEANUP(annotate_freep) struct annotate *a = NULL;
	const struct report_view *v = &report->view;
	int r = annotate_new(v->m, v->f, v->type, report->o->list, false, &a, e);
	if (r < 0)
		return r;
	uint64_t limit = report->o->limit ? report->o->limit : UINT64_MAX;
	term_color(&report->term, TERM_BOLD);
	fprintf(report->term.out, "%10s %10s %6s  %s\n", "flat", "cum", "line", "source");
	term_color(&report->term, TERM_PLAIN);
	for (uint32_t i = 0; i < a->n_functions && i < limit; i++)
		print_function(report, a, &a->function[i]);
	if (a->n_functions > limit)
		fprintf(report->term.out, "(%u more function%s; --limit 0 shows all)\n",
			a->n_functions - (uint32_t)limit,
			a->n_functions - limit == 1 ? " matches" : "s match");
	return 0;
}
