/*
 * The top table, as text, JSON or CSV, and stacks as folded lines.  In a terminal names are cut to
 * its width, and module or source place follow where there is room.
 */

#include "cmd/report/report.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/printable.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

/* From this width on the place of a row is shown behind its name. */
#define WIDE_COLUMNS 120

const char *report_rows_word(const struct report_options *o, bool plural)
{
	static const char *const one[] = { "function", "line", "file", "module", "label" };
	static const char *const many[] = { "functions", "lines", "files", "modules", "labels" };
	if (o->by == ROWS_LABEL)
		return plural ? "values" : o->by_name;
	return plural ? many[o->by] : one[o->by];
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
	const char *const name[] = { "focus", "ignore", "hide", "show" };
	const char *const value[] = { s->focus, s->ignore, s->hide, s->show };
	char key[40];
	for (int i = 0; i < 4; i++) {
		snprintf(key, sizeof(key), "Filter: %s", name[i]);
		if (value[i])
			print_pair(r, key, value[i]);
	}
	for (size_t i = 0; i < s->n_tags; i++)
		print_pair(r, "Filter: tag", s->tag[i]);
}

void report_head_print(const struct report *r, uint32_t n_shown, uint32_t n_rows,
		       const char *what)
{
	const struct model *m = r->view.m;
	const struct top *t = r->top;
	FILE *out = r->term.out;
	char a[SCALE_TEXT_MAX], b[SCALE_TEXT_MAX];
	if (m->n_mappings > 0 && m->mapping[0].filename)
		print_pair(r, "File", model_string(m, m->mapping[0].filename));
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
	if (ns == 1)
		fprintf(out, " (%s of the duration)", scale_percent(t->total, m->duration_ns, b));
	fputc('\n', out);
	if (n_shown < n_rows) {
		int64_t sum = 0;
		for (uint32_t i = 0; i < n_shown && i < t->n_rows; i++)
			sum = model_add(sum, t->row[i].flat);
		fprintf(out, "Showing %u of %u %s, with %s of the total\n", n_shown, n_rows, what,
			scale_percent(sum, t->total, b));
	}
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* Behind the name: "file.c:12" or the module, where the table has room. */
static void print_place(const struct report *r, const struct row *row, int room)
{
	char place[300] = "";
	if (r->o->by == ROWS_FUNCTION && row->file[0])
		snprintf(place, sizeof(place), "%s", base_name(row->file));
	else if (r->o->by != ROWS_LABEL && r->o->by != ROWS_MODULE && row->module[0])
		snprintf(place, sizeof(place), "%s", base_name(row->module));
	if (!place[0] || room < 12)
		return;
	fputs("  ", r->term.out);
	term_color(&r->term, TERM_DIM);
	term_print_name(&r->term, place, room - 2);
	term_color(&r->term, TERM_PLAIN);
}

static void print_row(const struct report *r, uint32_t i, int64_t sum)
{
	const struct top *t = r->top;
	const struct top_row *x = &t->row[i];
	const struct row *row = top_name(t, i);
	FILE *out = r->term.out;
	char flat[SCALE_TEXT_MAX], cum[SCALE_TEXT_MAX], flat_pct[SCALE_TEXT_MAX],
		sum_pct[SCALE_TEXT_MAX], cum_pct[SCALE_TEXT_MAX];
	double total = t->total ? (double)t->total : 1;
	term_color(&r->term, term_heat((double)x->flat / total));
	fprintf(out, "%10s %7s", scale_text(r->scale, x->flat, flat),
		scale_percent(x->flat, t->total, flat_pct));
	term_color(&r->term, TERM_PLAIN);
	fprintf(out, " %7s ", scale_percent(sum, t->total, sum_pct));
	term_color(&r->term, term_heat((double)x->cum / total));
	fprintf(out, "%10s %7s", scale_text(r->scale, x->cum, cum),
		scale_percent(x->cum, t->total, cum_pct));
	term_color(&r->term, TERM_PLAIN);
	fputs("  ", out);
	const char *note = !row->is_inlined || r->o->by > ROWS_LINE ? "" :
			   row->is_called ? " (partly inlined)" : " (inlined)";
	int used = 10 + 8 + 8 + 11 + 8 + 2, width = r->term.width;
	int room = width ? width - used - (int)strlen(note) : 0;
	if (width)
		room = room < 8 ? 8 : room;
	int place = width >= WIDE_COLUMNS && room > 60 ? 30 : 0;
	used = term_print_name(&r->term, row->name, room - place);
	fputs(note, out);
	if (place)
		print_place(r, row, room - used);
	fputc('\n', out);
}

static void print_text(const struct report *r, uint32_t n_shown)
{
	const struct top *t = r->top;
	report_head_print(r, n_shown, t->n_rows, report_rows_word(r->o, true));
	fputc('\n', r->term.out);
	term_color(&r->term, TERM_BOLD);
	fprintf(r->term.out, "%10s %7s %7s %10s %7s  %s", "flat", "flat%", "sum%", "cum", "cum%",
		r->o->by == ROWS_FUNCTION ? "name" : report_rows_word(r->o, false));
	term_color(&r->term, TERM_PLAIN);
	fputc('\n', r->term.out);
	int64_t sum = 0;
	for (uint32_t i = 0; i < n_shown; i++) {
		sum = model_add(sum, t->row[i].flat);
		print_row(r, i, sum);
	}
}

/* ---- for programs --------------------------------------------------------- */

static void json_string(FILE *out, const char *key, const char *value, const char *after)
{
	fprintf(out, "\"%s\": ", key);
	printable_print_json(out, value);
	fputs(after, out);
}

static void print_json(const struct report *r, uint32_t n_shown)
{
	const struct model *m = r->view.m;
	const struct top *t = r->top;
	FILE *out = r->term.out;
	/* Functions have had these names from the first version on. */
	const char *list = r->o->by == ROWS_FUNCTION ? "functions" : "rows";
	fprintf(out, "{\n  ");
	json_string(out, "binary",
		    m->n_mappings > 0 ? model_string(m, m->mapping[0].filename) : "", ",\n  ");
	json_string(out, "type", model_string(m, m->type[r->view.type].type), ",\n  ");
	json_string(out, "unit", model_string(m, m->type[r->view.type].unit), ",\n  ");
	json_string(out, "period_type", model_string(m, m->period_type.type), ",\n  ");
	json_string(out, "period_unit", model_string(m, m->period_type.unit), ",\n  ");
	json_string(out, "by", r->o->by_name, ",\n");
	fprintf(out,
		"  \"period\": %" PRId64 ",\n  \"time_ns\": %" PRId64 ",\n"
		"  \"duration_ns\": %" PRId64 ",\n  \"files\": %u,\n  \"total\": %" PRId64 ",\n"
		"  \"shown\": %" PRId64 ",\n"
		"  \"samples\": %u,\n  \"%s_total\": %u,\n  \"%s\": [",
		m->period, m->time_ns, m->duration_ns, m->n_files, t->total, t->shown,
		m->n_samples, list, t->n_rows, list);
	for (uint32_t i = 0; i < n_shown; i++) {
		const struct row *row = top_name(t, i);
		fprintf(out, "%s\n    {", i > 0 ? "," : "");
		json_string(out, "name", row->name, ", ");
		json_string(out, "file", row->file, ", ");
		json_string(out, "module", row->module, ", ");
		fprintf(out, "\"flat\": %" PRId64 ", \"cum\": %" PRId64 ", \"inlined\": %s}",
			t->row[i].flat, t->row[i].cum, row->is_inlined ? "true" : "false");
	}
	fprintf(out, "%s]\n}\n", n_shown > 0 ? "\n  " : "");
}

void report_csv_text(FILE *to, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")] && text[0] != ' ') {
		printable_print(to, text);
		return;
	}
	fputc('"', to);
	for (const char *p = text; *p;) {
		char piece[256];
		size_t n = strcspn(p, "\"");
		n = n > sizeof(piece) - 1 ? sizeof(piece) - 1 : n;
		/* Not within a character of several bytes. */
		while (n > 0 && p[n] && ((unsigned char)p[n] & 0xc0) == 0x80 && p[n] != '"')
			n--;
		memcpy(piece, p, n);
		piece[n] = '\0';
		printable_print(to, piece);
		p += n;
		if (*p == '"') {
			fputs("\"\"", to);
			p++;
		} else if (n == 0 && *p) {
			fputc('?', to);
			p++;
		}
	}
	fputc('"', to);
}

static void print_csv(const struct report *r, uint32_t n_shown)
{
	const struct top *t = r->top;
	FILE *out = r->term.out;
	double total = t->total ? (double)t->total : 1;
	fprintf(out, "name,file,module,flat,flat_percent,cum,cum_percent,inlined\n");
	for (uint32_t i = 0; i < n_shown; i++) {
		const struct row *row = top_name(t, i);
		const struct top_row *x = &t->row[i];
		report_csv_text(out, row->name);
		fputc(',', out);
		report_csv_text(out, row->file);
		fputc(',', out);
		report_csv_text(out, row->module);
		fprintf(out, ",%" PRId64 ",%.4f,%" PRId64 ",%.4f,%s\n", x->flat,
			100 * (double)x->flat / total, x->cum, 100 * (double)x->cum / total,
			row->is_inlined ? "yes" : "no");
	}
}

int report_table_print(const struct report *r, struct err *e)
{
	const struct top *t = r->top;
	(void)e;
	uint32_t n = r->o->limit > 0 && r->o->limit < t->n_rows ? (uint32_t)r->o->limit : t->n_rows;
	if (r->o->format == REPORT_JSON)
		print_json(r, n);
	else if (r->o->format == REPORT_CSV)
		print_csv(r, n);
	else
		print_text(r, n);
	return 0;
}

/* ---- folded --------------------------------------------------------------- */

/* A ';' in a name would be taken for the next frame. */
static void print_frame(const struct report *r, const char *name)
{
	CLEANUP_FREE char *copy = strdup(name);
	for (char *p = copy; p && (p = strchr(p, ';'));)
		*p = ':';
	printable_print(r->term.out, copy ? copy : "?");
}

static void print_subtree(const struct report *r, const struct tree *t, uint32_t *path)
{
	/* Preorder with parents kept in path: as deep as stacks are, so no recursion. */
	size_t depth = 0;
	for (uint32_t i = t->node[0].first_child; i != 0;) {
		path[depth++] = i;
		if (t->node[i].flat != 0) {
			for (size_t k = 0; k < depth; k++) {
				if (k > 0)
					fputc(';', r->term.out);
				print_frame(r, t->rows->row[t->node[path[k]].row].name);
			}
			fprintf(r->term.out, " %" PRId64 "\n", t->node[i].flat);
		}
		if (t->node[i].first_child) {
			i = t->node[i].first_child;
			continue;
		}
		while (depth > 0 && !t->node[path[depth - 1]].next_sibling)
			depth--;
		i = depth > 0 ? t->node[path[--depth]].next_sibling : 0;
	}
}

int report_folded_print(const struct report *r, struct err *e)
{
	struct tree *t = NULL;
	const struct report_view *v = &r->view;
	int code = tree_new(v->m, v->f, v->rows, v->type, TREE_ALL, NULL, &t, e);
	if (code < 0)
		return code;
	CLEANUP_FREE uint32_t *path = calloc((size_t)t->n_nodes + 1, sizeof(*path));
	if (path)
		print_subtree(r, t, path);
	tree_free(t);
	return path ? 0 : err_errno(e, ENOMEM, "cannot print the stacks");
}
