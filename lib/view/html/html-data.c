/*
 * Nodes are in preorder and samples in the order of their nodes, so that neighbours are similar and
 * compress well.
 */

#include "view/html/html-data.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/utf8.h"
#include "view/html/html-code.h"
#include "view/html/html-side.h"
#include "view/html/html-source.h"
#include "view/html/html-tables.h"
#include "view/html/html-tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 4

struct encoder {
	const struct html_spec *spec;
	struct html_data *out;
	struct html_tables tables;
	VEC(char) clean;                 /* buffer for one string */
};

/* ---- bytes ---------------------------------------------------------------- */

static void put_byte(struct encoder *k, unsigned b)
{
	if (!VEC_PUSH(&k->out->bytes, (uint8_t)b))
		k->tables.failed = true;
}

static void put_u(struct encoder *k, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		put_byte(k, (unsigned)(v & 0x7f) | 0x80);
	put_byte(k, (unsigned)v);
}

static void put_s(struct encoder *k, int64_t v)
{
	put_u(k, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

static void put_f64(struct encoder *k, double v)
{
	uint64_t bits;
	memcpy(&bits, &v, sizeof(bits));
	for (int i = 0; i < 8; i++)
		put_byte(k, (unsigned)(bits >> 8 * i) & 0xff);
}

static void put_bytes(struct encoder *k, const void *data, size_t n)
{
	if (!VEC_RESERVE(&k->out->bytes, n)) {
		k->tables.failed = true;
		return;
	}
	memcpy(k->out->bytes.v + k->out->bytes.n, data, n);
	k->out->bytes.n += n;
}

/* ---- one set -------------------------------------------------------------- */

static void put_side(struct encoder *k, const struct html_side *s, uint32_t n_types)
{
	const struct model *m = s->part->m;
	uint32_t count_type = model_count_type(m);
	put_u(k, html_string(&k->tables, s->part->name ? s->part->name : ""));
	put_s(k, m->duration_ns);
	put_s(k, m->time_ns);
	put_s(k, m->period);
	put_u(k, html_string(&k->tables, model_string(m, m->period_type.type)));
	put_u(k, html_string(&k->tables, model_string(m, m->period_type.unit)));
	put_u(k, m->n_comments);
	for (uint32_t i = 0; i < m->n_comments; i++)
		put_u(k, html_string(&k->tables, model_string(m, m->comment[i])));
	for (uint32_t t = 0; t < n_types; t++) {
		int64_t total = 0;
		double var = 0;
		for (uint32_t i = 0; i < m->n_samples; i++) {
			int64_t v = html_scaled(s, t, model_value(m, i, s->type[t]));
			int64_t n = count_type == MODEL_NONE
					    ? 0 : model_magnitude(model_value(m, i, count_type));
			total = model_add(total, model_magnitude(v));
			var += n > 0 ? (double)v * (double)v / (double)n : 0;
		}
		put_s(k, total);
		put_f64(k, var);
	}
}

static uint32_t next_in_page(const struct html_tree *t, uint32_t at)
{
	while (at && !t->nodes.v[at].number)
		at = t->nodes.v[at].next_sibling;
	return at;
}

static void put_nodes(struct encoder *k, const struct html_tree *t)
{
	const struct html_node *v = t->nodes.v;
	uint32_t at = next_in_page(t, v[0].first_child), up = 0;
	put_u(k, t->n_numbered);
	while (at != 0 && !k->tables.failed) {
		put_u(k, up);
		put_u(k, v[at].frame);
		if (t->is_folded)
			put_u(k, v[at].n_folded);
		up = 0;
		uint32_t next = next_in_page(t, v[at].first_child);
		while (!next && at) {
			next = next_in_page(t, v[at].next_sibling);
			at = next ? at : v[at].parent;
			up++;
		}
		at = next;
	}
}

static void put_samples(struct encoder *k, int side, const struct html_side *s,
			const struct html_tree *t, uint32_t n_types)
{
	uint32_t before = 0;
	put_u(k, t->samples[side].n);
	for (size_t i = 0; i < t->samples[side].n && !k->tables.failed; i++) {
		const struct html_sample *x = &t->samples[side].v[i];
		put_u(k, x->node - before);
		put_u(k, x->labels);
		for (uint32_t j = 0; j < n_types; j++)
			put_s(k, x->index == HTML_SAMPLE_FOLDED ? t->values.v[x->first_value + j]
								: html_value(s, x->index, j));
		before = x->node;
	}
}

static void put_sums(struct encoder *k, const struct html_sums *s, uint32_t n_types)
{
	size_t n = 0;
	for (size_t i = 0; i < s->frame.n; i++)
		n += s->frame.v[i] != 0;
	put_u(k, n);
	for (size_t i = 0; i < s->frame.n; i++) {
		if (!s->frame.v[i])
			continue;
		put_u(k, s->frame.v[i] - 1);
		for (uint32_t t = 0; t < n_types; t++)
			put_s(k, s->value.v[i * n_types + t]);
	}
}

static void put_code(struct encoder *k, const struct html_code *code)
{
	put_u(k, code->functions.n);
	for (size_t i = 0; i < code->functions.n && !k->tables.failed; i++) {
		const struct html_code_function *f = &code->functions.v[i];
		uint64_t before = 0;
		put_u(k, html_string(&k->tables, f->name));
		put_u(k, html_string(&k->tables, f->module));
		put_u(k, f->n);
		for (size_t j = f->first; j < f->first + f->n; j++) {
			const struct html_code_line *l = &code->lines.v[j];
			put_u(k, l->vaddr - before);
			put_u(k, html_string(&k->tables, l->text));
			put_s(k, l->line);
			put_s(k, l->flat);
			put_s(k, l->cum);
			before = l->vaddr;
		}
	}
}

static void find_code(struct encoder *k, const struct html_set *set)
{
	CLEANUP(html_code_done) struct html_code code = { 0 };
	const struct html_spec *spec = k->spec;
	if (spec->find_code && spec->find_code(spec->code_ctx, set, &code) < 0)
		k->tables.failed = true;
	else
		put_code(k, &code);
}

static int put_set(struct encoder *k, const struct html_set *set, struct err *e)
{
	const struct model *m = set->fresh.m;
	struct html_side side[2] = { 0 };
	struct html_tree t = { .max_nodes = k->spec->max_nodes };
	int n_sides = set->base.m ? 2 : 1, r = 0;
	for (int i = 0; i < n_sides; i++) {
		if (k->tables.failed)
			goto out;
		r = html_side_open(&k->tables, &side[i], i ? &set->base : &set->fresh, m, e);
		if (r < 0)
			goto out;
	}
	if (k->tables.failed)
		goto out;
	r = html_tree_make(&t, &k->tables, side, n_sides, m->n_types, e);
	if (r < 0 || k->tables.failed)
		goto out;
	put_u(k, m->n_types);
	for (uint32_t i = 0; i < m->n_types; i++) {
		put_u(k, html_string(&k->tables, model_string(m, m->type[i].type)));
		put_u(k, html_string(&k->tables, model_string(m, m->type[i].unit)));
	}
	put_u(k, set->type);
	put_u(k, (uint32_t)(model_count_type(m) + 1));
	put_u(k, (uint64_t)n_sides);
	for (int i = 0; i < n_sides; i++)
		put_side(k, &side[i], m->n_types);
	put_f64(k, t.is_folded ? t.folded_max : -1);
	put_nodes(k, &t);
	for (int i = 0; i < n_sides; i++)
		put_samples(k, i, &side[i], &t, m->n_types);
	for (int i = 0; i < n_sides && t.is_folded; i++)
		for (int j = 0; j < HTML_SUMS; j++)
			put_sums(k, &t.sums[i][j], m->n_types);
	find_code(k, set);
out:
	html_side_done(&side[0]);
	html_side_done(&side[1]);
	html_tree_done(&t);
	return r;
}

/* ---- the whole ------------------------------------------------------------ */

static void put_string(struct encoder *k, const char *s)
{
	size_t n = strlen(s);
	if (!VEC_RESERVE(&k->clean, UTF8_CLEAN_MAX(n) + 1)) {
		k->tables.failed = true;
		return;
	}
	k->clean.v[utf8_clean(k->clean.v, s, n)] = '\0';
	char *to = k->clean.v;
	for (const char *p = k->clean.v; *p;) {
		uint32_t control;
		size_t n_control = utf8_control(p, &control);
		*to++ = n_control && *p != '\t' ? '?' : *p;  /* source text has tabs */
		p += n_control ? n_control : 1;
	}
	n = (size_t)(to - k->clean.v);
	put_u(k, n);
	put_bytes(k, k->clean.v, n);
}

static void put_shared(struct encoder *k, const struct html_source *source)
{
	put_u(k, VERSION);
	put_u(k, (uint64_t)k->spec->by);
	put_u(k, (uint64_t)k->spec->norm);
	/* The source's strings are the last, so all are known here. */
	put_u(k, k->tables.strings.n);
	for (uint32_t i = 0; i < k->tables.strings.n && !k->tables.failed; i++)
		put_string(k, strtab_get(&k->tables.strings, i));
	put_u(k, k->tables.frames.n);
	for (size_t i = 0; i < k->tables.frames.n; i++) {
		const struct html_frame *f = &k->tables.frames.v[i];
		put_u(k, f->name);
		put_u(k, f->file);
		put_u(k, f->module);
		put_s(k, f->line);
		put_u(k, f->flags);
	}
	put_u(k, k->tables.labels.n);
	for (size_t i = 0; i < k->tables.labels.n; i++) {
		put_u(k, k->tables.labels.v[i].key);
		put_u(k, k->tables.labels.v[i].value);
	}
	put_u(k, k->tables.sets.n);
	for (size_t i = 0; i < k->tables.sets.n; i++) {
		put_u(k, k->tables.sets.v[i].n);
		for (uint32_t j = 0; j < k->tables.sets.v[i].n; j++)
			put_u(k, k->tables.items.v[k->tables.sets.v[i].first + j]);
	}
	put_u(k, source->files.n);
	for (size_t i = 0; i < source->files.n; i++) {
		const struct html_source_file *f = &source->files.v[i];
		uint64_t before = 0;
		put_u(k, f->file);
		put_u(k, f->n);
		for (size_t j = f->first; j < f->first + f->n; j++) {
			put_u(k, source->lines.v[j].number - before);
			put_u(k, source->lines.v[j].text);
			before = source->lines.v[j].number;
		}
	}
}

static void find_source(struct encoder *k, struct html_source *source)
{
	for (size_t i = 0; i < k->tables.frames.n && !k->tables.failed; i++) {
		const struct html_frame *f = &k->tables.frames.v[i];
		if (f->file && f->line > 0 && !html_source_want(source, f->file, (uint64_t)f->line))
			k->tables.failed = true;
	}
	if (!k->tables.failed && !html_source_read(source, &k->tables.strings, k->spec->open_source,
					    k->spec->open_ctx))
		k->tables.failed = true;
}

static int encode(struct encoder *k, struct err *e)
{
	/* Encode the sets first, since that collects what they share; the shared tables precede
	 * them in the output. */
	struct html_data *whole = k->out;
	CLEANUP(html_data_done) struct html_data sets = { 0 };
	CLEANUP(html_source_done) struct html_source source = { 0 };
	k->out = &sets;
	html_add_set(&k->tables, 0);   /* set 0 is empty */
	put_u(k, k->spec->n_sets);
	for (size_t i = 0; i < k->spec->n_sets && !k->tables.failed; i++) {
		int r = put_set(k, &k->spec->set[i], e);
		if (r < 0)
			return r;
	}
	k->out = whole;
	if (k->spec->open_source)
		find_source(k, &source);
	if (k->tables.failed)
		return err_errno(e, ENOMEM, "cannot write the page");
	put_shared(k, &source);
	put_bytes(k, sets.bytes.v, sets.bytes.n);
	return k->tables.failed ? err_errno(e, ENOMEM, "cannot write the page") : 0;
}

int html_data_make(const struct html_spec *spec, struct html_data *ret, struct err *e)
{
	struct encoder k = { .spec = spec, .out = ret };
	*ret = (struct html_data){ 0 };
	if (strtab_init(&k.tables.strings, NULL) < 0)
		return err_errno(e, ENOMEM, "cannot write the page");
	int r = encode(&k, e);
	html_tables_done(&k.tables);
	VEC_FREE(&k.clean);
	return r;
}

void html_code_done(struct html_code *c)
{
	for (size_t i = 0; i < c->lines.n; i++)
		free(c->lines.v[i].text);
	VEC_FREE(&c->lines);
	VEC_FREE(&c->functions);
}

void html_data_done(struct html_data *d)
{
	VEC_FREE(&d->bytes);
}
