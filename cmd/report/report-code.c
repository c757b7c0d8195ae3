#include "cmd/report/report-code.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/units.h"
#include "cmd/report/objdump.h"
#include "cmd/report/report.h"
#include "view/html/html-code.h"
#include "view/html/html.h"

#include <errno.h>
#include <stdlib.h>

/* A function has a view of its own in the page; most of the cost is in few. */
#define FUNCTIONS_MAX 40u
#define PART_MIN 0.002
/* objdump reads the symbols of a file for each function, which takes seconds for large files. */
#define TIME_MAX_NS (20 * CLOCK_SECOND_NS)

static int by_flat(const void *a, const void *b)
{
	const struct annotate_function *const *x = a, *const *y = b;
	int64_t i = model_magnitude((*x)->flat), k = model_magnitude((*y)->flat);
	return (i < k) - (i > k);
}

/* The n most expensive; NULL: out of memory. */
static const struct annotate_function **choose(const struct annotate *a, uint32_t *ret_n)
{
	const struct annotate_function **f = calloc((size_t)a->n_functions + 1, sizeof(*f));
	double least = PART_MIN * (double)model_magnitude(a->total);
	uint32_t n = 0;
	for (uint32_t i = 0; f && i < a->n_functions; i++)
		if (a->function[i].flat && (double)model_magnitude(a->function[i].flat) >= least)
			f[n++] = &a->function[i];
	if (f)
		qsort(f, n, sizeof(*f), by_flat);
	*ret_n = n < FUNCTIONS_MAX ? n : FUNCTIONS_MAX;
	return f;
}

static bool add(struct html_code *code, const struct model *m, const struct annotate_function *fn,
		struct objdump *o)
{
	struct html_code_function f = {
		.name = fn->name, .module = model_string(m, m->mapping[fn->mapping].filename),
		.first = code->lines.n,
	};
	for (size_t i = 0; i < o->instructions.n; i++) {
		struct objdump_instruction *x = &o->instructions.v[i];
		const struct html_code_line line = {
			.vaddr = x->vaddr, .text = x->text, .flat = x->flat, .cum = x->cum,
			.line = x->line > 0 ? x->line : 0,
		};
		if (!x->is_near)
			continue;
		if (!VEC_PUSH(&code->lines, line))
			return false;
		x->text = NULL;
	}
	f.n = code->lines.n - f.first;
	return VEC_PUSH(&code->functions, f);
}

static int add_function(struct report_code *c, const struct model *m, const struct annotate *a,
			const struct annotate_function *fn, struct html_code *ret)
{
	CLEANUP(objdump_done) struct objdump o = { 0 };
	struct err why;
	if (clock_monotonic_ns() >= c->deadline_ns) {
		c->n_late++;
		return 0;
	}
	int r = objdump_function(c->source, m, a, fn, c->deadline_ns, &o, &why);
	c->n_late += r == -ETIMEDOUT;
	c->n_unknown += r < 0 && r != -ETIMEDOUT;
	c->n_functions += r == 0;
	return r == -ENOMEM || (r == 0 && !add(ret, m, fn, &o)) ? -ENOMEM : 0;
}

int report_code_find(void *ctx, const struct html_set *set, struct html_code *ret)
{
	struct report_code *c = ctx;
	const struct html_part *part = &set->fresh;
	CLEANUP(annotate_freep) struct annotate *a = NULL;
	struct err e;
	uint32_t n = 0;
	if (!c->deadline_ns)
		c->deadline_ns = clock_monotonic_ns() + TIME_MAX_NS;
	int r = annotate_new(part->m, part->f, set->type, "", true, &a, &e);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	CLEANUP_FREE const struct annotate_function **f = choose(a, &n);
	if (!f)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = add_function(c, part->m, a, f[i], ret);
	return r;
}

void report_code_warn(const struct report_code *c)
{
	if (c->n_unknown)
		fprintf(stderr, "cprof report: the instructions of %u of %u functions are unknown "
			"(--list REGEX --disasm reports why)\n", c->n_unknown,
			c->n_unknown + c->n_functions + c->n_late);
	if (c->n_late)
		fprintf(stderr, "cprof report: the instructions of %u function%s are missing, "
			"because objdump took longer than %u s\n", c->n_late, units_s(c->n_late),
			(unsigned)(TIME_MAX_NS / CLOCK_SECOND_NS));
}
