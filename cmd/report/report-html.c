/*
 * Writes profiles as an HTML page and as a static flame graph.  Files with the same sample types
 * are merged, as in the other reports.  The others are further events of the same recording; the
 * page can switch between them.  Everything is read before any file is written, and the files
 * appear once both are complete.
 */

#include "cmd/report/report.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/vec.h"
#include "cmd/outputs.h"
#include "cmd/printable.h"
#include "cmd/report/pageserver.h"
#include "cmd/report/report-code.h"
#include "view/html/html.h"
#include "view/html/svg.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Files to merge into one profile. */
struct group {
	VEC(const char *) paths;
	struct model *m;
	struct filter *f;
	struct filter *svg_f;      /* the same without idle threads, which the page can show */
	uint32_t type;
	char *name;
	bool is_compared;
};

struct pictures {
	const struct report_options *o;
	VEC(struct group) groups;
	struct group base;
};

static void close_group(struct group *g)
{
	filter_free(g->f);
	filter_free(g->svg_f);
	model_free(g->m);
	free(g->name);
	VEC_FREE(&g->paths);
}

/* ---- reading -------------------------------------------------------------- */

static bool is_same_kind(const struct model *a, const struct model *b)
{
	if (a->n_types != b->n_types ||
	    strcmp(model_string(a, a->period_type.type), model_string(b, b->period_type.type)) != 0)
		return false;
	for (uint32_t i = 0; i < a->n_types; i++)
		if (strcmp(model_string(a, a->type[i].type), model_string(b, b->type[i].type)) != 0)
			return false;
	return html_comparable(a, b, NULL);
}

static int no_memory(struct err *e)
{
	return err_errno(e, ENOMEM, "cannot read the profiles");
}

static int add_file(struct pictures *p, const char *path, struct err *e)
{
	struct model *m = NULL;
	int r = model_read_files(&path, 1, &m, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < p->groups.n; i++) {
		struct group *g = &p->groups.v[i];
		if (!is_same_kind(g->m, m))
			continue;
		model_free(m);
		return VEC_PUSH(&g->paths, path) ? 0 : no_memory(e);
	}
	struct group new = { .m = m };
	if (!VEC_PUSH(&new.paths, path) || !VEC_PUSH(&p->groups, new)) {
		close_group(&new);
		return no_memory(e);
	}
	return 0;
}

static int name_group(struct group *g, struct err *e)
{
	size_t n = 1;
	for (size_t i = 0; i < g->paths.n; i++)
		n += strlen(g->paths.v[i]) + 2;
	g->name = calloc(n, 1);
	if (!g->name)
		return no_memory(e);
	for (size_t i = 0; i < g->paths.n; i++) {
		strcat(g->name, i > 0 ? ", " : "");
		strcat(g->name, path_base_name(g->paths.v[i]));
	}
	return 0;
}

static int finish_group(struct pictures *p, struct group *g, struct err *e)
{
	int r = name_group(g, e);
	if (r < 0)
		return r;
	if (g->paths.n > 1) {
		model_free(TAKE_PTR(g->m));
		r = model_read_files(g->paths.v, g->paths.n, &g->m, e);
		if (r < 0)
			return r;
	}
	struct filter_spec spec = p->o->filter;
	spec.keep_idle = true;
	r = filter_new(g->m, &spec, &g->f, e);
	return r < 0 ? r : filter_new(g->m, &p->o->filter, &g->svg_f, e);
}

/* --sample-type may name values of a single event, which is then shown first. */
static int choose_types(struct pictures *p, struct err *e)
{
	size_t first = p->groups.n;
	for (size_t i = 0; i < p->groups.n; i++) {
		struct group *g = &p->groups.v[i];
		struct err ignored;
		if (model_find_type(g->m, p->o->sample_type, &g->type, e) == 0)
			first = first < i ? first : i;
		else if (model_find_type(g->m, NULL, &g->type, &ignored) < 0)
			g->type = 0;
	}
	if (first == p->groups.n)
		return -ENOENT;
	*e = (struct err){ 0 };
	struct group swap = p->groups.v[0];
	p->groups.v[0] = p->groups.v[first];
	p->groups.v[first] = swap;
	return 0;
}

static int has_duration(const struct group *g, struct err *e)
{
	return g->m->duration_ns > 0
		       ? 0 : err_set(e, EINVAL, "'%s' has no duration", g->name);
}

static int read_base(struct pictures *p, struct err *e)
{
	struct group *b = &p->base;
	size_t n = 0;
	if (!VEC_PUSH(&b->paths, p->o->diff_base))
		return no_memory(e);
	int r = model_read_files(b->paths.v, 1, &b->m, e);
	if (r < 0)
		return r;
	r = finish_group(p, b, e);
	if (r < 0)
		return r;
	r = p->o->norm == DIFF_PER_SECOND ? has_duration(b, e) : 0;
	if (r < 0)
		return r;
	for (size_t i = 0; i < p->groups.n; i++) {
		struct group *g = &p->groups.v[i];
		g->is_compared = html_comparable(b->m, g->m, NULL);
		if (!g->is_compared)
			continue;
		n++;
		r = p->o->norm == DIFF_PER_SECOND ? has_duration(g, e) : 0;
		if (r < 0)
			return r;
	}
	if (n > 0)
		return 0;
	return err_set(e, EINVAL,
		       "the profiles cannot be compared: '%s' has other types than '%s'", b->name,
		       p->groups.v[0].name);
}

static int read_groups(struct pictures *p, struct err *e)
{
	for (size_t i = 0; i < p->o->n_paths; i++) {
		int r = add_file(p, p->o->path[i], e);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < p->groups.n; i++) {
		int r = finish_group(p, &p->groups.v[i], e);
		if (r < 0)
			return r;
	}
	return choose_types(p, e);
}

static int read_all(struct pictures *p, struct err *e)
{
	int r = read_groups(p, e);
	if (r < 0)
		return r;
	r = p->o->diff_base ? read_base(p, e) : 0;
	if (r < 0)
		return r;
	if (!p->o->svg || p->groups.n == 1)
		return 0;
	r = err_usage(e, "--svg draws one event, and these files hold %zu", p->groups.n);
	err_hint(e, "give the files of one event, or use --html");
	return r;
}

/* ---- writing -------------------------------------------------------------- */

static FILE *open_source(void *ctx, const char *path)
{
	return report_source_open(ctx, path);
}

static int write_html(void *what, int (*write)(void *ctx, const void *data, size_t n_bytes),
		      void *ctx, struct err *e)
{
	const struct pictures *p = what;
	CLEANUP_FREE struct html_set *set = calloc(p->groups.n + 1, sizeof(*set));
	if (!set)
		return err_errno(e, ENOMEM, "cannot write the page");
	struct report_source source = { 0 };
	struct report_code code = { .source = &source };
	for (size_t i = 0; i < p->groups.n; i++) {
		const struct group *g = &p->groups.v[i];
		report_source_add(&source, g->paths.v, g->paths.n);
		set[i] = (struct html_set){ .fresh = { g->m, g->f, g->name }, .type = g->type };
		if (g->is_compared)
			set[i].base = (struct html_part){ p->base.m, p->base.f, p->base.name };
	}
	if (p->base.m)
		report_source_add(&source, p->base.paths.v, p->base.paths.n);
	struct html_spec spec = { .set = set, .n_sets = p->groups.n, .by = p->o->kind.by,
				  .norm = p->o->norm, .is_served = p->o->wants_http,
				  .open_source = p->o->no_source ? NULL : open_source,
				  .open_ctx = &source,
				  .find_code = p->o->wants_disasm ? report_code_find : NULL,
				  .code_ctx = &code };
	int r = html_write(&spec, write, ctx, e);
	report_code_warn(&code);
	report_source_done(&source);
	return r;
}

/* The factor that makes values comparable. */
static double factor_of(const struct pictures *p, const struct group *g, const struct tree *t)
{
	double total = (double)t->total, seconds = (double)g->m->duration_ns / 1e9;
	if (p->o->norm == DIFF_SHARE)
		return total > 0 ? 1 / total : 0;
	return p->o->norm == DIFF_PER_SECOND ? 1 / seconds : 1;
}

static int draw(const struct pictures *p, const struct rows *rows, const struct rows *base_rows,
		uint32_t base_type,
		int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
		struct err *e)
{
	const struct group *g = &p->groups.v[0], *b = &p->base;
	const struct model_type *type = &g->m->type[g->type];
	const char *unit = model_string(g->m, type->unit);
	CLEANUP(tree_freep) struct tree *t = NULL;
	CLEANUP(tree_freep) struct tree *base = NULL;
	char total[SCALE_TEXT_MAX], subtitle[512];
	int r = tree_new(g->m, g->svg_f, rows, g->type, TREE_ALL, NULL, &t, e);
	if (r < 0)
		return r;
	r = base_rows ? tree_new(b->m, b->svg_f, base_rows, base_type, TREE_ALL, NULL, &base, e)
		      : 0;
	if (r < 0)
		return r;
	struct svg_spec spec = { .tree = t, .title = g->name, .subtitle = subtitle,
				 .scale = scale_choose(t->total, t->total, unit),
				 .base = base, .factor = factor_of(p, g, t) };
	if (base) {
		double ratio = scale_ratio(model_string(b->m, b->m->type[base_type].unit), unit);
		spec.base_factor = factor_of(p, b, base) *
				   (p->o->norm == DIFF_SHARE || ratio <= 0 ? 1 : ratio);
	}
	snprintf(subtitle, sizeof(subtitle), "%s: %s%s%s", model_string(g->m, type->type),
		 scale_text(spec.scale, t->total, total), base ? ", compared with " : "",
		 base ? b->name : "");
	return svg_write(&spec, write, ctx, e);
}

static int write_svg(void *what, int (*write)(void *ctx, const void *data, size_t n_bytes),
		     void *ctx, struct err *e)
{
	const struct pictures *p = what;
	const struct group *g = &p->groups.v[0], *b = &p->base;
	CLEANUP(rows_freep) struct rows *rows = NULL;
	CLEANUP(rows_freep) struct rows *base_rows = NULL;
	CLEANUP_FREE uint32_t *type = calloc(g->m->n_types, sizeof(*type));
	if (!type)
		return err_errno(e, ENOMEM, "cannot draw the flame graph");
	int r = rows_new(g->m, g->svg_f, p->o->kind.by, NULL, &rows, e);
	if (r < 0)
		return r;
	if (b->m) {
		html_comparable(b->m, g->m, type);
		r = rows_new(b->m, b->svg_f, p->o->kind.by, NULL, &base_rows, e);
		if (r < 0)
			return r;
	}
	return draw(p, rows, base_rows, type[g->type], write, ctx, e);
}

static int write_all(struct pictures *p, struct err *e)
{
	struct outputs file[2];
	size_t n = 0;
	if (p->o->html)
		file[n++] = (struct outputs){ p->o->html, false, write_html, p };
	if (p->o->svg)
		file[n++] = (struct outputs){ p->o->svg, false, write_svg, p };
	struct filemode mode = p->o->mode;
	filemode_add_inputs(&mode, p->o->path, p->o->n_paths);
	filemode_add_inputs(&mode, &p->o->diff_base, p->o->diff_base ? 1 : 0);
	int r = outputs_write(file, n, &mode, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(file[i].name, "-") == 0)
			continue;
		fprintf(stderr, "cprof report: the %s is '",
			file[i].fn == write_html ? "page" : "flame graph");
		printable_text(stderr, file[i].name);
		fprintf(stderr, "'\n");
	}
	return 0;
}

/* ---- serving -------------------------------------------------------------- */

struct page { VEC(char) text; };

static int add_bytes(void *ctx, const void *data, size_t n_bytes)
{
	struct page *page = ctx;
	if (!VEC_RESERVE(&page->text, n_bytes))
		return -ENOMEM;
	memcpy(page->text.v + page->text.n, data, n_bytes);
	page->text.n += n_bytes;
	return 0;
}

static int serve_page(struct pictures *p, struct err *e)
{
	struct page page = { { 0 } };
	int r = write_html(p, add_bytes, &page, e);
	if (r == -ENOMEM)
		err_errno(e, ENOMEM, "cannot write the page");
	if (r == 0)
		r = pageserver_run(&(struct pageserver_options){
			.page = page.text.v, .n_page_bytes = page.text.n,
			.port = (unsigned)p->o->port, .opens_browser = !p->o->no_browser,
		}, e);
	VEC_FREE(&page.text);
	return r;
}

static void pictures_done(struct pictures *p)
{
	for (size_t i = 0; i < p->groups.n; i++)
		close_group(&p->groups.v[i]);
	VEC_FREE(&p->groups);
	close_group(&p->base);
}

int report_html_write(const struct report_options *o, struct err *e)
{
	CLEANUP(pictures_done) struct pictures p = { .o = o };
	int r = read_all(&p, e);
	if (r < 0)
		return r;
	report_view_warn(p.groups.v[0].f);
	return o->wants_http ? serve_page(&p, e) : write_all(&p, e);
}
