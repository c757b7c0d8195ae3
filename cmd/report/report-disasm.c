/* Prints instructions with their costs. */

#include "cmd/report/report.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "cmd/report/objdump.h"

#include <inttypes.h>

/* For one function. */
#define TIME_MAX_NS (60 * CLOCK_SECOND_NS)

static void print_instruction(const struct report *r, const struct annotate *a,
			      const struct objdump_instruction *x)
{
	char f[SCALE_TEXT_MAX], c[SCALE_TEXT_MAX];
	term_color(&r->term, term_heat(a->total ? (double)x->cum / (double)a->total : 0));
	fprintf(r->term.out, "%10s %10s", x->flat ? scale_text(r->scale, x->flat, f) : ".",
		x->cum ? scale_text(r->scale, x->cum, c) : ".");
	term_color(&r->term, TERM_PLAIN);
	fprintf(r->term.out, " %10" PRIx64 "  ", x->vaddr);
	int room = r->term.width ? r->term.width - 34 : 0;
	term_print_name(&r->term, x->text, r->term.width && room < 8 ? 8 : room);
	fputc('\n', r->term.out);
}

static void print_instructions(const struct report *r, const struct annotate *a,
			       const struct objdump *o)
{
	bool in_gap = false;
	for (size_t i = 0; i < o->instructions.n; i++) {
		const struct objdump_instruction *x = &o->instructions.v[i];
		if (x->is_near)
			print_instruction(r, a, x);
		else if (!in_gap)
			fprintf(r->term.out, "%10s %10s %10s\n", "", "", "...");
		in_gap = !x->is_near;
	}
}

static int print_function(const struct report *report, const struct annotate *a,
			  const struct annotate_function *fn, struct err *e)
{
	const struct model *m = report->view.m;
	CLEANUP(objdump_done) struct objdump o = { 0 };
	uint64_t deadline_ns = clock_monotonic_ns() + TIME_MAX_NS;
	int r = objdump_function(report->source, m, a, fn, deadline_ns, &o, e);
	if (r < 0)
		return r;
	const char *path = model_string(m, m->mapping[fn->mapping].filename);
	char pct[SCALE_TEXT_MAX], flat[SCALE_TEXT_MAX], cum[SCALE_TEXT_MAX];
	term_color(&report->term, TERM_BOLD);
	term_print_name(&report->term, fn->name, report->term.width);
	term_color(&report->term, TERM_PLAIN);
	fputs("\n  ", report->term.out);
	term_print_name(&report->term, path, report->term.width ? report->term.width - 4 : 0);
	fprintf(report->term.out, "\n%10s %10s %10s  total (%s of all)\n",
		scale_text(report->scale, fn->flat, flat), scale_text(report->scale, fn->cum, cum),
		"", scale_percent(fn->cum, a->total, pct));
	print_instructions(report, a, &o);
	fputc('\n', report->term.out);
	return 0;
}

int report_disasm_print(const struct report *report, struct err *e)
{
	CLEANUP(annotate_freep) struct annotate *a = NULL;
	const struct report_view *v = &report->view;
	int r = annotate_new(v->m, v->f, v->type, report->o->list, true, &a, e);
	if (r < 0)
		return r;
	uint64_t limit = report->o->limit ? report->o->limit : UINT64_MAX;
	uint32_t n_shown = 0;
	term_color(&report->term, TERM_BOLD);
	fprintf(report->term.out, "%10s %10s %10s  %s\n", "flat", "cum", "address", "instruction");
	term_color(&report->term, TERM_PLAIN);
	for (uint32_t i = 0; i < a->n_functions && i < limit; i++) {
		struct err one = { 0 };
		r = print_function(report, a, &a->function[i], &one);
		n_shown += r == 0;
		/* The file of another function may be available. */
		if (r < 0 && (n_shown == 0 || i + 1 == a->n_functions))
			*e = one;
		if (r < 0) {
			fprintf(report->term.out, "%34s(", "");
			term_print_name(&report->term, one.what, 0);
			fputs(")\n\n", report->term.out);
		}
	}
	return n_shown > 0 ? 0 : r;
}
