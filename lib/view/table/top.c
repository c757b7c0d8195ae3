/*
 * The rows of all locations are in one array (rows.c), so a sample is a walk over small numbers.  A
 * stamp per row says whether this sample has already been counted there.
 *
 * A value v of n samples is a sum of n terms of about v/n.  If the samples were drawn again, its
 * variance would be n * (v/n)^2.  Sums saturate, since a damaged file may hold any values.
 */

#include "view/table/top.h"

#include "base/cleanup.h"
#include "base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sort_item { struct top_row row; const char *name; };

static int by_name(const struct sort_item *a, const struct sort_item *b)
{
	int order = strcmp(a->name, b->name);
	return order ? order : (a->row.row > b->row.row) - (a->row.row < b->row.row);
}

static int by_flat(const void *va, const void *vb)
{
	const struct sort_item *a = va, *b = vb;
	int64_t fa = model_magnitude(a->row.flat), fb = model_magnitude(b->row.flat);
	return fa != fb ? (fa < fb) - (fa > fb) : by_name(a, b);
}

static int by_cum(const void *va, const void *vb)
{
	const struct sort_item *a = va, *b = vb;
	int64_t ca = model_magnitude(a->row.cum), cb = model_magnitude(b->row.cum);
	return ca != cb ? (ca < cb) - (ca > cb) : by_name(a, b);
}

static int by_name_only(const void *a, const void *b)
{
	return by_name(a, b);
}

static const struct {
	const char *name;
	int (*compare)(const void *a, const void *b);
} orders[] = {
	[TOP_BY_FLAT] = { "flat", by_flat },
	[TOP_BY_CUM] = { "cum", by_cum },
	[TOP_BY_NAME] = { "name", by_name_only },
};

const char *top_order_name(size_t i)
{
	return i < TOP_N_ORDERS ? orders[i].name : NULL;
}

void top_sort(struct top *t, enum top_order order)
{
	CLEANUP_FREE struct sort_item *item = calloc((size_t)t->n_rows + 1, sizeof(*item));
	if (!item)
		return;  /* unsorted is better than nothing */
	for (uint32_t i = 0; i < t->n_rows; i++)
		item[i] = (struct sort_item){ t->row[i], top_name(t, i)->name };
	qsort(item, t->n_rows, sizeof(*item), orders[order].compare);
	for (uint32_t i = 0; i < t->n_rows; i++)
		t->row[i] = item[i].row;
}

void top_free(struct top *t)
{
	if (t)
		free(t->row);
	free(t);
}

static void add_samples(struct top *t, const struct model *m, const struct filter *f,
			const struct rows *r, uint32_t type, uint32_t *seen)
{
	uint32_t count_type = model_count_type(m);
	t->has_var = count_type != MODEL_NONE;
	for (uint32_t i = 0; i < m->n_samples; i++) {
		int64_t value = model_value(m, i, type);
		int64_t n = t->has_var ? model_magnitude(model_value(m, i, count_type)) : 0;
		double var = n > 0 ? (double)value * (double)value / (double)n : 0;
		if (value == 0 || (f && f->sample_idle && f->sample_idle[i]))
			continue;
		t->total = model_add(t->total, model_magnitude(value));
		t->total_var += var;
		struct rows_walk w = rows_begin(r, m, f, i);
		while (rows_next(&w)) {
			struct top_row *row = &t->row[w.row];
			if (w.is_flat) {
				row->flat = model_add(row->flat, value);
				row->flat_var += var;
				t->shown = model_add(t->shown, model_magnitude(value));
			}
			if (seen[w.row] != i + 1) {
				row->cum = model_add(row->cum, value);
				row->cum_var += var;
			}
			seen[w.row] = i + 1;
		}
	}
}

int top_new(const struct model *m, const struct filter *f, const struct rows *r, uint32_t type,
	    struct top **ret, struct err *e)
{
	CLEANUP_FREE uint32_t *seen = calloc((size_t)r->n_rows + 1, sizeof(*seen));
	struct top *t = calloc(1, sizeof(*t));
	if (t)
		t->row = calloc((size_t)r->n_rows + 1, sizeof(*t->row));
	if (!t || !t->row || !seen) {
		top_free(t);
		return err_errno(e, ENOMEM, "cannot add up the profile");
	}
	t->rows = r;
	add_samples(t, m, f, r, type, seen);
	for (uint32_t i = 0; i < r->n_rows; i++) {
		t->row[i].row = i;
		if (t->row[i].flat != 0 || t->row[i].cum != 0)
			t->row[t->n_rows++] = t->row[i];
	}
	top_sort(t, TOP_BY_FLAT);
	*ret = t;
	return 0;
}
