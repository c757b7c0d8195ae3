/*
 * The top table, as text, JSON or CSV.  In a terminal, names are cut to its width, and the module
 * or source file follows if there is room.
 */

#include "cmd/report/report.h"

#include "base/path.h"
#include "cmd/printable.h"

#include <inttypes.h>
#include <string.h>

/* From this width on the place of a row follows its name. */
#define WIDE_COLUMNS 120

/* ---- columns -------------------------------------------------------------- */

struct line {
	const struct top *t;
	const struct top_row *row;
	const struct row *names;
	int64_t sum;              /* of flat, of this row and those above */
};

enum kind { COLUMN_TEXT, COLUMN_VALUE, COLUMN_PERCENT, COLUMN_FLAG };

struct column {
	const char *title;        /* in the text; NULL: not there */
	int width;
	const char *json, *csv;   /* keys; NULL: not there */
	enum kind kind;
	const char *(*text)(const struct line *l);
	int64_t (*value)(const struct line *l);
	bool is_coloured;         /* by its value's share of the total */
};

static const char *name(const struct line *l) { return l->names->name; }
static const char *file(const struct line *l) { return l->names->file; }
static const char *module(const struct line *l) { return l->names->module; }
static int64_t flat(const struct line *l) { return l->row->flat; }
static int64_t sum(const struct line *l) { return l->sum; }
static int64_t cum(const struct line *l) { return l->row->cum; }
static int64_t inlined(const struct line *l) { return l->names->is_inlined; }

/* In the order of the output.  The name is the last column of the text. */
static const struct column columns[] = {
	{ NULL, 0, "name", "name", COLUMN_TEXT, .text = name },
	{ NULL, 0, "file", "file", COLUMN_TEXT, .text = file },
	{ NULL, 0, "module", "module", COLUMN_TEXT, .text = module },
	{ "flat", 10, "flat", "flat", COLUMN_VALUE, .value = flat, .is_coloured = true },
	{ "flat%", 7, NULL, "flat_percent", COLUMN_PERCENT, .value = flat, .is_coloured = true },
	{ "sum%", 7, NULL, NULL, COLUMN_PERCENT, .value = sum },
	{ "cum", 10, "cum", "cum", COLUMN_VALUE, .value = cum, .is_coloured = true },
	{ "cum%", 7, NULL, "cum_percent", COLUMN_PERCENT, .value = cum, .is_coloured = true },
	{ NULL, 0, "inlined", "inlined", COLUMN_FLAG, .value = inlined },
};
#define EACH_COLUMN(c) \
	(const struct column *c = columns; c < columns + sizeof(columns) / sizeof(*columns); c++)

static struct line line_at(const struct top *t, uint32_t i, int64_t sum_before)
{
	return (struct line){ t, &t->row[i], top_name(t, i),
			      model_add(sum_before, t->row[i].flat) };
}

/* ---- text ----------------------------------------------------------------- */

/* Prints "file.c" or the module. */
static void print_place(const struct report *r, const struct row *row, int room)
{
	const char *path = r->o->kind.by == ROWS_FUNCTION && row->file[0] ? row->file :
			   r->o->kind.by < ROWS_MODULE ? row->module : "";
	if (!path[0] || room < 12)
		return;
	fputs("  ", r->term.out);
	term_color(&r->term, TERM_DIM);
	term_print_name(&r->term, path_base_name(path), room - 2);
	term_color(&r->term, TERM_PLAIN);
}

/* Returns the width of the columns. */
static int print_titles(const struct report *r)
{
	int width = 0;
	term_color(&r->term, TERM_BOLD);
	for EACH_COLUMN(c) {
		if (!c->title)
			continue;
		fprintf(r->term.out, "%s%*s", width > 0 ? " " : "", c->width, c->title);
		width += c->width + (width > 0);
	}
	fprintf(r->term.out, "  %s", report_head_name(r->o));
	term_color(&r->term, TERM_PLAIN);
	fputc('\n', r->term.out);
	return width + 2;
}

static void print_right(FILE *out, const char *text, int width)
{
	for (int n = (int)strlen(text); n < width; n++)
		putc_unlocked(' ', out);
	fputs(text, out);
}

static void print_cells(const struct report *r, const struct line *l)
{
	const struct column *before = NULL;
	double total = l->t->total ? (double)l->t->total : 1;
	for EACH_COLUMN(c) {
		char text[SCALE_TEXT_MAX];
		if (!c->title)
			continue;
		bool same_colour = before && before->value == c->value;
		if (before && before->is_coloured && !same_colour)
			term_color(&r->term, TERM_PLAIN);
		if (before)
			putc(' ', r->term.out);
		if (c->is_coloured && !same_colour)
			term_color(&r->term, term_heat((double)c->value(l) / total));
		print_right(r->term.out, c->kind == COLUMN_PERCENT
			    ? scale_percent(c->value(l), l->t->total, text)
			    : scale_text(r->scale, c->value(l), text), c->width);
		before = c;
	}
	if (before && before->is_coloured)
		term_color(&r->term, TERM_PLAIN);
	fputs("  ", r->term.out);
}

static void print_row(const struct report *r, const struct line *l, int used)
{
	const struct row *row = l->names;
	const char *note = !row->is_inlined || r->o->kind.by > ROWS_LINE ? "" :
			   row->is_called ? " (partly inlined)" : " (inlined)";
	int width = r->term.width, room = width ? width - used - (int)strlen(note) : 0;
	if (width)
		room = room < 8 ? 8 : room;
	int place = width >= WIDE_COLUMNS && room > 60 ? 30 : 0;
	print_cells(r, l);
	used = term_print_name(&r->term, row->name, room - place);
	fputs(note, r->term.out);
	if (place)
		print_place(r, row, room - used);
	fputc('\n', r->term.out);
}

static void print_text(const struct report *r, uint32_t n_shown)
{
	report_head_print(r, n_shown, r->top->n_rows);
	fputc('\n', r->term.out);
	int used = print_titles(r);
	struct line l = { 0 };
	for (uint32_t i = 0; i < n_shown; i++) {
		l = line_at(r->top, i, l.sum);
		print_row(r, &l, used);
	}
}

/* ---- for programs --------------------------------------------------------- */

static void json_string(FILE *out, const char *key, const char *value, const char *after)
{
	fprintf(out, "\"%s\": ", key);
	printable_json(out, value);
	fputs(after, out);
}

static void print_json_row(FILE *out, const struct line *l)
{
	const char *before = "{";
	for EACH_COLUMN(c) {
		if (!c->json)
			continue;
		fputs(before, out);
		before = ", ";
		if (c->kind == COLUMN_TEXT)
			json_string(out, c->json, c->text(l), "");
		else if (c->kind == COLUMN_FLAG)
			fprintf(out, "\"%s\": %s", c->json, c->value(l) ? "true" : "false");
		else
			fprintf(out, "\"%s\": %" PRId64, c->json, c->value(l));
	}
	fputc('}', out);
}

static void print_json(const struct report *r, uint32_t n_shown)
{
	const struct model *m = r->view.m;
	const struct top *t = r->top;
	FILE *out = r->term.out;
	/* Functions have had this key since the first version. */
	const char *list = r->o->kind.by == ROWS_FUNCTION ? "functions" : "rows";
	fprintf(out, "{\n  ");
	report_info_json(r);
	fprintf(out, ",\n  ");
	json_string(out, "binary",
		    m->n_mappings > 0 ? model_string(m, m->mapping[0].filename) : "", ",\n  ");
	const char *process = report_info_comment(m, "process: ");
	if (process)
		json_string(out, "process", process, ",\n  ");
	json_string(out, "type", model_string(m, m->type[r->view.type].type), ",\n  ");
	json_string(out, "unit", model_string(m, m->type[r->view.type].unit), ",\n  ");
	json_string(out, "period_type", model_string(m, m->period_type.type), ",\n  ");
	json_string(out, "period_unit", model_string(m, m->period_type.unit), ",\n  ");
	json_string(out, "by", r->o->kind.name, ",\n");
	report_waits_json(r);
	fprintf(out,
		"  \"period\": %" PRId64 ",\n  \"time_ns\": %" PRId64 ",\n"
		"  \"duration_ns\": %" PRId64 ",\n  \"files\": %u,\n  \"total\": %" PRId64 ",\n"
		"  \"shown\": %" PRId64 ",\n"
		"  \"samples\": %u,\n  \"%s_total\": %u,\n  \"%s\": [",
		m->period, m->time_ns, m->duration_ns, m->n_files, t->total, t->shown,
		m->n_samples, list, t->n_rows, list);
	for (uint32_t i = 0; i < n_shown; i++) {
		struct line l = line_at(t, i, 0);
		fputs(i > 0 ? ",\n    " : "\n    ", out);
		print_json_row(out, &l);
	}
	fprintf(out, "%s]\n}\n", n_shown > 0 ? "\n  " : "");
}

static void print_csv_cell(FILE *out, const struct column *c, const struct line *l)
{
	double total = l->t->total ? (double)l->t->total : 1;
	switch (c->kind) {
	case COLUMN_TEXT: report_csv_text(out, c->text(l)); break;
	case COLUMN_VALUE: fprintf(out, "%" PRId64, c->value(l)); break;
	case COLUMN_PERCENT: fprintf(out, "%.4f", 100 * (double)c->value(l) / total); break;
	case COLUMN_FLAG: fputs(c->value(l) ? "yes" : "no", out); break;
	}
}

static void print_csv(const struct report *r, uint32_t n_shown)
{
	FILE *out = r->term.out;
	for EACH_COLUMN(c)
		if (c->csv)
			fprintf(out, "%s%s", c > columns ? "," : "", c->csv);
	fputc('\n', out);
	for (uint32_t i = 0; i < n_shown; i++) {
		struct line l = line_at(r->top, i, 0);
		for EACH_COLUMN(c) {
			if (!c->csv)
				continue;
			fputs(c > columns ? "," : "", out);
			print_csv_cell(out, c, &l);
		}
		fputc('\n', out);
	}
}

int report_table_print(const struct report *r, struct err *e)
{
	uint32_t n = report_head_limit(r->o, r->top->n_rows);
	(void)e;
	if (r->o->format == REPORT_JSON)
		print_json(r, n);
	else if (r->o->format == REPORT_CSV)
		print_csv(r, n);
	else
		print_text(r, n);
	return 0;
}
