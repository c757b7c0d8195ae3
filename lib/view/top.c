/*
 * Names are interned, so that a name is a row number.  Every location's rows, innermost
 * first, are written into one array beforehand; a sample is then a walk over
 * small numbers, and a stamp per row tells whether this sample was counted there already.
 *
 * Sums saturate: a damaged file may hold any values.
 */

#include "view/top.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "proto/pprof-read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct top_private {
	struct profile *profile;  /* ours, or NULL */
	struct strtab names;      /* id = row number while counting; 0 is no row */
};

struct counting {
	const struct profile *p;
	struct top *top;
	VEC(struct top_row) rows;  /* by name id */
	uint32_t *row_of;          /* rows of all locations, one after the other */
	size_t *first;             /* by location: where its rows begin; one more at the end */
};

static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;
	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static int64_t magnitude(int64_t v)
{
	return v >= 0 ? v : v == INT64_MIN ? INT64_MAX : -v;
}

static int compare_names(const struct top_row *a, const struct top_row *b)
{
	return strcmp(a->name, b->name);
}

static int by_flat(const void *va, const void *vb)
{
	const struct top_row *a = va, *b = vb;
	int64_t fa = magnitude(a->flat), fb = magnitude(b->flat);
	return fa != fb ? (fa < fb) - (fa > fb) : compare_names(a, b);
}

static int by_cum(const void *va, const void *vb)
{
	const struct top_row *a = va, *b = vb;
	int64_t ca = magnitude(a->cum), cb = magnitude(b->cum);
	return ca != cb ? (ca < cb) - (ca > cb) : compare_names(a, b);
}

void top_sort(struct top *t, enum top_order order)
{
	if (t->n_rows > 1)
		qsort(t->row, t->n_rows, sizeof(*t->row), order == TOP_BY_CUM ? by_cum : by_flat);
}

void top_free(struct top *t)
{
	if (!t)
		return;
	if (t->priv) {
		strtab_done(&t->priv->names);
		profile_free(t->priv->profile);
	}
	free(t->priv);
	free(t->row);
	free(t);
}

static int choose_sample_type(const struct profile *p, const char *name, size_t *ret_index,
			      struct err *e)
{
	char known[ERR_TEXT_MAX] = "";
	size_t n = 0;
	if (p->n_sample_types == 0)
		return err_set(e, ENOENT, "the profile has no sample types");
	*ret_index = p->n_sample_types - 1;
	for (size_t i = 0; i < p->n_sample_types; i++) {
		const char *type = p->sample_type[i].type;
		if (strcmp(type, name ? name : p->default_sample_type) == 0) {
			*ret_index = i;
			return 0;
		}
		if (n < sizeof(known))
			n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s",
					      i > 0 ? ", " : "", type);
	}
	if (!name)
		return 0;
	int r = err_set(e, ENOENT, "no sample type '%s' in the profile", name);
	err_hint(e, "it has: %s", known);
	return r;
}

/* The row of a name; 0 when memory is out. */
static uint32_t row_for(struct counting *c, const char *name, const char *filename)
{
	uint32_t id = strtab_add_cstr(&c->top->priv->names, name);
	while (c->rows.n <= id)
		if (!VEC_PUSH(&c->rows, ((struct top_row){ .filename = "" })))
			return 0;
	struct top_row *row = &c->rows.v[id];
	row->name = strtab_get(&c->top->priv->names, id);
	if (!row->filename[0])
		row->filename = filename;
	return id;
}

static uint32_t row_of_unnamed(struct counting *c, const struct profile_location *l)
{
	if (!l->mapping || !l->mapping->filename[0])
		return row_for(c, "<unknown>", "");
	const char *path = l->mapping->filename, *slash = strrchr(path, '/');
	CLEANUP_FREE char *name = NULL;
	if (asprintf(&name, "[%s]", slash ? slash + 1 : path) < 0) {
		name = NULL;
		return 0;
	}
	return row_for(c, name, "");
}

static uint32_t row_of_line(struct counting *c, const struct profile_location *l, size_t i)
{
	const struct profile_function *f = l->n_lines > 0 ? l->line[i].function : NULL;
	uint32_t id = f && f->name[0] ? row_for(c, f->name, f->filename) : row_of_unnamed(c, l);
	if (id == 0)
		return 0;
	if (l->n_lines > 0 && i < l->n_lines - 1)
		c->rows.v[id].is_inlined = true;
	else
		c->rows.v[id].is_called = true;
	return id;
}

static int find_rows(struct counting *c)
{
	const struct profile *p = c->p;
	size_t n = 0;
	for (size_t i = 0; i < p->n_locations; i++)
		n += p->location[i].n_lines + 1;
	c->row_of = calloc(n + 1, sizeof(*c->row_of));
	c->first = calloc(p->n_locations + 1, sizeof(*c->first));
	if (!c->row_of || !c->first)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < p->n_locations; i++) {
		const struct profile_location *l = &p->location[i];
		c->first[i] = n;
		for (size_t k = 0; k == 0 || k < l->n_lines; k++) {
			c->row_of[n] = row_of_line(c, l, k);
			if (c->row_of[n++] == 0)
				return -ENOMEM;
		}
	}
	c->first[p->n_locations] = n;
	return 0;
}

static int add_samples(struct counting *c, size_t value_index)
{
	const struct profile *p = c->p;
	CLEANUP_FREE size_t *seen = calloc(c->rows.n + 1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->sample[i];
		int64_t value = s->value[value_index];
		c->top->total = add(c->top->total, magnitude(value));
		for (size_t k = 0; k < s->n_locations; k++) {
			size_t l = (size_t)(s->location[k] - p->location);
			for (size_t j = c->first[l]; j < c->first[l + 1]; j++) {
				uint32_t id = c->row_of[j];
				struct top_row *row = &c->rows.v[id];
				if (k == 0 && j == c->first[l])
					row->flat = add(row->flat, value);
				if (seen[id] != i + 1)
					row->cum = add(row->cum, value);
				seen[id] = i + 1;
			}
		}
	}
	return 0;
}

/* Drops row 0, which stands for no name, and rows without a value. */
static void keep_rows(struct counting *c)
{
	struct top *t = c->top;
	for (size_t i = 1; i < c->rows.n; i++)
		if (c->rows.v[i].flat != 0 || c->rows.v[i].cum != 0)
			c->rows.v[t->n_rows++] = c->rows.v[i];
	t->row = c->rows.v;
	c->rows.v = NULL;
}

static int count(struct top *t, const struct profile *p, size_t value_index)
{
	struct counting c = { .p = p, .top = t };
	int r = find_rows(&c);
	if (r == 0)
		r = add_samples(&c, value_index);
	if (r == 0)
		keep_rows(&c);
	free(c.row_of);
	free(c.first);
	VEC_FREE(&c.rows);
	return r;
}

int top_of_profile(const struct profile *p, const char *sample_type, struct top **ret_top,
		   struct err *e)
{
	size_t value_index = 0;
	int r = choose_sample_type(p, sample_type, &value_index, e);
	if (r < 0)
		return r;
	struct top *t = calloc(1, sizeof(*t));
	if (t)
		t->priv = calloc(1, sizeof(*t->priv));
	if (!t || !t->priv || strtab_init(&t->priv->names, NULL) < 0 ||
	    count(t, p, value_index) < 0) {
		top_free(t);
		return err_errno(e, ENOMEM, "cannot add up the profile");
	}
	t->type = p->sample_type[value_index].type;
	t->unit = p->sample_type[value_index].unit;
	t->period_type = p->period_type.type;
	t->period_unit = p->period_type.unit;
	t->binary = p->n_mappings > 0 ? p->mapping[0].filename : "";
	t->period = p->period;
	t->time_ns = p->time_nanos;
	t->duration_ns = p->duration_nanos;
	t->n_samples = p->n_samples;
	top_sort(t, TOP_BY_FLAT);
	*ret_top = t;
	return 0;
}

int top_of_file(const char *path, const char *sample_type, struct top **ret_top, struct err *e)
{
	struct profile *p = NULL;
	int r = profile_read_file(path, &p, e);
	if (r < 0)
		return r;
	struct top *t = NULL;
	r = top_of_profile(p, sample_type, &t, e);
	if (r < 0) {
		err_prefix(e, "'%s'", path);
		profile_free(p);
		return r;
	}
	t->priv->profile = p;
	*ret_top = t;
	return 0;
}
